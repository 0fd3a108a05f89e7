//! The lab, with the program under test as its nodes.
//!
//! The tests need namespaces, TUN devices, `ip`, `ss`, `lighttpd`, `curl` and `ping`; they are
//! skipped, with the reason, if one of them is missing.

#[path = "common/demo.rs"]
mod demo;

mod lab {
    pub(crate) mod cleanliness;
    pub(crate) mod metered;
    pub(crate) mod overlay;
    pub(crate) mod program;
    pub(crate) mod scenarios;
    pub(crate) mod transfers;
}
