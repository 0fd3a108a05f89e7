//! The failed connections of which the sender may not know.

use alloc::collections::VecDeque;

use super::windows::MAX_CONNECTIONS;

/// The connections that have failed for the receiver, and perhaps not for the sender: a connection
/// may end without a sign to the other end, which then keeps what it carried from the others.
///
/// A failed connection is named on those that are there, which may fail in the same way, and before
/// the hello of each that is opened later, until one of these is welcome. At most
/// [`MAX_CONNECTIONS`] are kept, the newest. A connection whose hello was not sent is not among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    failures: VecDeque<Failure>,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    connection: u32,
    /// The last connection that was opened before it failed.
    last_opened: u32,
}

impl Failures {
    /// The connections that each new one names.
    pub(super) fn connections(&self) -> impl Iterator<Item = u32> {
        self.failures.iter().map(|failure| failure.connection)
    }

    pub(super) fn add(&mut self, connection: u32, last_opened: u32) {
        if self.failures.len() == MAX_CONNECTIONS as usize {
            self.failures.pop_front();
        }
        self.failures.push_back(Failure {
            connection,
            last_opened,
        });
    }

    /// The sender has read the hello of `connection`, and with it the names before it.
    pub(super) fn on_welcome(&mut self, connection: u32) {
        // Those that failed earlier come first, since the numbers of connections only grow.
        let is_named = |failure: &Failure| failure.last_opened < connection;
        let named = self.failures.partition_point(is_named);
        self.failures.drain(..named);
    }
}
