//! Paths that change under way: another socket takes the place of the one that a path has.
//!
//! The peer learns of another address by the first datagram from there, and what it sent before goes to the old one.
//! So the old socket is read for a while more, and each of the last few where one change follows the other.

use std::io;

use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};
use polypath_session::address::PeerAddress;

use super::{Path, Paths};
use crate::clock::Clock;
use crate::config::{PathConfig, Watch};
use crate::control::change::{PathChange, Rebinding, Remote};
use crate::stats::{InterfaceStatus, Missing, Volume};
use crate::udp::batch::Outgoing;
use crate::udp::flood::Flood;
use crate::udp::{PathSocket, Received, UdpError};

/// For so long the old socket is read: as long as keys that were renewed open what is under way.
const GRACE: Duration = Duration::from_secs(10);
/// So many of a path are kept: each costs a call whenever the path is read.
const MOST_RETIRED: usize = 4;
/// So many datagrams that went to them are taken before one that came to the path's own: whoever goes on flooding an
/// address that was given up is not to keep the new one from being read.
const IN_A_ROW: u32 = 64;

/// The sockets that a path had before.
#[derive(Debug, Default)]
pub(super) struct RetiredSockets {
    /// The oldest first.
    all: Vec<Retired>,
    /// How many of theirs were taken since the last of the path's own.
    in_a_row: u32,
}

/// A socket that only receives.
#[derive(Debug)]
pub(super) struct Retired {
    socket: PathSocket,
    until: Time,
}

impl Paths {
    /// Puts `change` into force at `now`.
    pub(in crate::node) fn change(&mut self, change: PathChange, now: Time) {
        // What the socket before it could, it can; the buffers are as long as that needs.
        if let Some(socket) = change.socket.as_ref().filter(|_| self.gro_enabled) {
            _ = socket.set_gro(true);
        }
        if let Some(path) = self.all.get_mut(change.path.index()) {
            path.flush();
            path.change(change, now);
        }
    }

    /// Binds the sockets of these paths to other interfaces; where that cannot be, all are bound as before.
    pub(in crate::node) fn rebind(&mut self, changes: &[PathChange]) -> Result<(), UdpError> {
        for (index, change) in changes.iter().enumerate() {
            if let Err(error) = self.rebind_path(change, |both| &both.new) {
                for change in &changes[..index] {
                    if let Err(error) = self.rebind_path(change, |both| &both.old) {
                        tracing::error!("{error}");
                    }
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn rebind_path(
        &mut self,
        change: &PathChange,
        which: impl Fn(&Rebinding) -> &PathConfig,
    ) -> Result<(), UdpError> {
        match (&change.interface, self.all.get_mut(change.path.index())) {
            (Some(both), Some(path)) => path.socket.rebind(which(both)),
            _ => Ok(()),
        }
    }

    /// Whether silence is told follows from these from now on.
    pub(in crate::node) fn listen_for(&mut self, policy: PolicyConfig, watch: Watch) {
        self.silence_detector.adjust(policy, watch);
    }

    /// Notes what a path rests on.
    pub(in crate::node) fn stand(&mut self, path: PathId, interface_status: InterfaceStatus) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.stats.interface_status = interface_status;
        }
    }

    /// What each path has sent and received.
    pub(in crate::node) fn volumes(&self) -> impl Iterator<Item = (Volume, Volume)> {
        self.all
            .iter()
            .map(|path| (path.stats.sent, path.stats.received))
    }
}

impl Path {
    fn change(&mut self, change: PathChange, now: Time) {
        self.stats.name = change.name;
        let is_addressed = matches!(change.remote, Some(Remote::At(_)));
        if is_addressed || change.socket.is_some() || change.interface.is_some() {
            self.note_move();
        }
        if let Some(socket) = change.socket {
            self.stats.local = socket.bound();
            self.flood = Flood::default();
            let socket = std::mem::replace(&mut self.socket, socket);
            self.outgoing = Outgoing::default();
            self.apply_dont_fragment_to_new_socket();
            let missing = change
                .interface_status
                .as_ref()
                .map(|interface_status| &interface_status.missing);
            // To an address that is not there nothing is under way, and the next socket is to have it.
            if !matches!(missing, Some(Some(Missing::Address(_)))) {
                self.retire(socket, now + GRACE);
            }
        }
        if let Some(mtu) = change.mtu {
            tracing::info!(
                path = self.stats.name,
                mtu,
                "the MTU of the path's interface"
            );
            self.socket.set_mtu(mtu);
        }
        if let Some(interface_status) = change.interface_status {
            self.stats.interface_status = interface_status;
        }
        match change.remote {
            Some(Remote::At(remote)) => {
                self.remote = PeerAddress::configured(Some(remote));
                self.stats.remote = Some(remote);
            }
            // The peer is where it was until it says otherwise.
            Some(Remote::Learned) => self.remote = PeerAddress::learned(self.remote.get()),
            None => {}
        }
    }

    /// Keeps `socket` until then; of too many the oldest goes.
    fn retire(&mut self, socket: PathSocket, until: Time) {
        // To one that has no address nothing is under way.
        if socket.bound().is_none() {
            return;
        }
        let retired = &mut self.retired.all;
        if retired.len() >= MOST_RETIRED {
            retired.remove(0);
        }
        retired.push(Retired { socket, until });
    }

    /// The next datagram; those that went to the sockets before this come first, but not without end.
    pub(super) fn receive_waiting(
        &mut self,
        buffer: &mut [u8],
        clock: Clock,
    ) -> io::Result<Option<Received>> {
        if self.retired.in_a_row >= IN_A_ROW {
            self.retired.in_a_row = 0;
            let received = self.socket.receive(buffer, clock)?;
            if received.is_some() {
                return Ok(received);
            }
        }
        let before = self.retired.receive(buffer, clock)?;
        if before.is_some() {
            return Ok(before);
        }
        self.socket.receive(buffer, clock)
    }
}

impl RetiredSockets {
    fn receive(&mut self, buffer: &mut [u8], clock: Clock) -> io::Result<Option<Received>> {
        let mut next = 0;
        while let Some(retired) = self.all.get_mut(next) {
            // However much comes there: the others are read again then.
            let is_over = clock.now() >= retired.until;
            let received = retired.socket.receive(buffer, clock)?;
            if is_over {
                self.all.remove(next);
            } else {
                next += 1;
            }
            if received.is_some() {
                self.in_a_row += 1;
                return Ok(received);
            }
        }
        self.in_a_row = 0;
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
