//! E. Steinbach, Y. Liang and B. Girod, "A Simulation Study of Packet Path Diversity for TCP File Transfer and Media
//! Transport on the Internet".

use crate::figure::Figure;

/// Its figures and tables.
pub const FIGURES: &[Figure] = &[];
