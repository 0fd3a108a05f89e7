//! Metrics for Prometheus: the node's counters as a page of its text format, over HTTP.
//!
//! The page has some twenty families and is written here; a library that collects, stores and serves them would keep
//! the same numbers a second time. Names and units follow Prometheus's conventions: seconds, bytes, ratios, `_total`
//! for what only grows.

mod http;
mod page;

pub(crate) use http::serve;
