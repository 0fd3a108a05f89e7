//! Metrics for Prometheus: the statistics of a node in the text exposition format, over HTTP.
//!
//! Names and units follow Prometheus's conventions: seconds, bytes, ratios, and `_total` for
//! counters.

mod http;
mod page;

pub(crate) use http::serve;
