//! A scenario between real programs.

pub mod namespace;
