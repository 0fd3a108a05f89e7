//! The failed connections of which the sender may not know.

use alloc::vec::Vec;

use super::windows::MAX_CONNECTIONS;

/// The connections that have failed for the receiver, and perhaps not for the sender: a connection
/// may end without a sign to the other end, which then keeps what it carried from the others.
///
/// A failed connection is named on those that are there, which may fail in the same way, and before
/// the hello of each that is opened later, until one of these is welcome. At most
/// [`MAX_CONNECTIONS`] are kept, the newest: where more have failed, the server was not reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    failed: Vec<u32>,
    /// Of each, the last connection that was opened before it failed.
    last_opened: Vec<u32>,
}

impl Failures {
    /// The connections that each new one names.
    pub(super) fn connections(&self) -> &[u32] {
        &self.failed
    }

    pub(super) fn add(&mut self, connection: u32, last_opened: u32) {
        if self.failed.len() == MAX_CONNECTIONS as usize {
            self.failed.remove(0);
            self.last_opened.remove(0);
        }
        self.failed.push(connection);
        self.last_opened.push(last_opened);
    }

    /// The sender has read the hello of `connection`, and with it the names before it.
    pub(super) fn on_welcome(&mut self, connection: u32) {
        // Those that failed earlier come first, since the numbers of connections only grow.
        let named = self.last_opened.partition_point(|last| *last < connection);
        self.failed.drain(..named);
        self.last_opened.drain(..named);
    }
}
