//! The policies `in-time` and `delay-growth` of this project, over the scenario files that their
//! documentation names, and its controllers of the spacing.

pub(crate) mod downloads;
pub(crate) mod files;
pub(crate) mod senders;
pub(crate) mod silences;
pub(crate) mod spacing;
pub(crate) mod streams;
