//! The simulations behind the figures: pure functions of their parameters, one folder per paper, and
//! `own` for the policy of this project.
//!
//! The digest of this folder, of the scenario files and of the crates it uses ([`SOURCES`]) labels
//! every stored result. A change here runs all jobs again; a change in `figures/` runs none.

pub(crate) mod delay_centric;
pub(crate) mod diversity;
pub(crate) mod multitcp;
pub(crate) mod own;
pub(crate) mod ppd;
pub(crate) mod psp;

/// The digest of the sources of all jobs and of the crates they use.
pub const SOURCES: &str = env!("JOB_SOURCES");

/// The digest of these and of the sources of the lab, for measurements there.
pub const LAB_SOURCES: &str = env!("LAB_SOURCES");
