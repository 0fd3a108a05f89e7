//! Documents that a file always has the newest of: statistics, and the state of a node.

mod file;
mod writer;

pub(crate) use file::SnapshotFile;
pub(crate) use writer::{Messages, SnapshotWriter};
