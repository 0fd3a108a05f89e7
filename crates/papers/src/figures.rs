//! The figures and tables of the papers, with the measurements that judge claims: one folder per
//! paper.

pub(crate) mod delay_centric;
pub(crate) mod diversity;
mod estimates;
pub(crate) mod multitcp;
mod pictures;
pub(crate) mod ppd;
pub(crate) mod psp;
