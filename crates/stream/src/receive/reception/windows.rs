//! The windows and credits of the connections of a reception.

use polypath_core::time::Duration;

use super::{PACKET_ON_WIRE, Reception, ReceptionReport};
use crate::socket::ConnectionSocket;

impl<F: FnMut(&ReceptionReport)> Reception<F> {
    /// Gives the credits that are due, with the number of packets received.
    pub(super) fn give_credits(&mut self) {
        let (now, received) = (self.clock.now(), self.machine.received());
        self.credits.set_rate(self.machine.wanted_rate(now));
        let connections = &mut self.connections;
        self.credits.give(now, received, &mut |given| {
            if let Some(known) = connections.get_mut(&given.connection) {
                known.credit = given.packets;
                known.report(received);
            }
        });
    }

    /// The shortest round-trip time of the connections.
    pub(super) fn measured_rtt(&self) -> Option<Duration> {
        let sockets = self
            .connections
            .values()
            .filter_map(|of| of.socket.as_ref());
        sockets.filter_map(ConnectionSocket::rtt).min()
    }

    pub(super) fn set_window(&mut self, connection: u32, packets: u32) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        known.window = packets;
        // Before the welcome nothing would be carried.
        if known.socket.is_some() {
            self.credits.set_window(connection, packets);
            self.renew_window(connection);
        }
    }

    pub(super) fn renew_windows(&self) {
        for connection in self.connections.keys() {
            self.renew_window(*connection);
        }
    }

    /// Sets the kernel's window of a connection.
    pub(super) fn renew_window(&self, connection: u32) {
        if let Some(window) = self.credits.kernel_window(connection)
            && let Some(socket) = self
                .connections
                .get(&connection)
                .and_then(|of| of.socket.as_ref())
            && let Err(error) = socket.set_window(window_bytes(window))
        {
            // The connection has ended; its task reports that.
            tracing::debug!(connection, %error, "the window was not set");
        }
    }
}

/// The window of the kernel for this number of packets.
pub(super) fn window_bytes(packets: u32) -> u32 {
    let size = u32::try_from(PACKET_ON_WIRE).unwrap_or(u32::MAX);
    size.saturating_mul(packets)
}
