//! A. Feng, W. Feng and G. Belford, "Packet Spacing: An Enabling Mechanism for Delivering
//! Multimedia Content in Computational Grids".

pub(crate) mod arrivals;
pub(crate) mod in_lab;
pub(crate) mod merge;
pub(crate) mod steady;
pub(crate) mod trace;
pub(crate) mod wan;
