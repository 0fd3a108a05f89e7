//! The policy `in-time` of this project, over the scenario files that its documentation names.

pub(crate) mod downloads;
pub(crate) mod files;
pub(crate) mod silences;
pub(crate) mod streams;
