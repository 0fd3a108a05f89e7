//! A. Feng, W. Feng and G. Belford, "Packet Spacing: An Enabling Mechanism for Delivering Multimedia Content in
//! Computational Grids".

use crate::figure::Figure;

/// Its figures.
pub const FIGURES: &[Figure] = &[];
