//! TCP flows: a source with one connection or one after another, and its sink.

mod bulk;
mod files;
mod sessions;
mod sink;
mod source;
#[cfg(test)]
mod stopping;

pub use bulk::Bulk;
pub use sessions::{SessionConfig, Sessions};
pub(super) use sink::Sink;
pub use source::TcpSource;
