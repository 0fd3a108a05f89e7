//! The lab, with this package's own program as its nodes.
//!
//! Each test needs namespaces, TUN devices, `ip`, `ss`, `lighttpd` and `curl`, and is skipped with
//! the reason where one of them is missing.

#[path = "common/demo.rs"]
mod demo;

mod lab {
    pub(crate) mod cleanliness;
    pub(crate) mod overlay;
    pub(crate) mod program;
    pub(crate) mod scenarios;
    pub(crate) mod transfers;
}
