//! Files that always contain the newest version of a document: the statistics and the state of a
//! node.

mod file;
mod writer;

pub(crate) use file::SnapshotFile;
pub(crate) use writer::{Messages, SnapshotWriter, WriteState};
