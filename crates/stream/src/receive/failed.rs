//! The connections that failed, and of which the server may not know.

/// The maximum number of them.
const MAX: usize = 256;

/// The connections that the receiver names to the server as failed, since a connection may end
/// without a sign to the other end ([`wire`](polypath_core::connections::wire)).
#[derive(Debug, Default)]
pub(super) struct FailedConnections(Vec<u32>);

impl FailedConnections {
    /// Adds one. After the first 256 none is added: those carried the stream, and the later ones are
    /// attempts to replace them.
    pub(super) fn add(&mut self, connection: u32) {
        if self.0.len() < MAX {
            self.0.push(connection);
        }
    }

    /// Those that a new connection names before its hello.
    pub(super) fn names(&self) -> Vec<u32> {
        self.0.clone()
    }

    /// Removes those that a connection has named that is now open.
    pub(super) fn remove(&mut self, named: &[u32]) {
        self.0.retain(|failed| !named.contains(failed));
    }
}
