//! The figures and tables of the papers, with the measurements that judge claims: one folder per
//! paper, and `own` for the policy of this project.

pub(crate) mod delay_centric;
pub(crate) mod diversity;
mod estimates;
pub(crate) mod multitcp;
pub(crate) mod own;
mod pictures;
pub(crate) mod ppd;
pub(crate) mod psp;
