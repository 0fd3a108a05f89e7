//! The simulations behind the figures: pure functions of their parameters, one folder per paper.
//!
//! The digest of this folder and of the crates it uses ([`SOURCES`]) labels every stored result. A
//! change here runs all jobs again; a change in `figures/` runs none.

pub(crate) mod delay_centric;
pub(crate) mod diversity;
pub(crate) mod multitcp;
pub(crate) mod ppd;
pub(crate) mod psp;

/// The digest of the sources of all jobs and of the crates they use.
pub const SOURCES: &str = env!("JOB_SOURCES");
