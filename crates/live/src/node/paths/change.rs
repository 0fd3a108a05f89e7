//! Changes of running paths: another name, peer address, interface or socket.
//!
//! A replaced socket is read for a while ([`super::retired_sockets`]).

use std::mem;

use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::Time;
use polypath_session::address::PeerAddress;

use super::Paths;
use super::path::Path;
use super::retired_sockets::GRACE;
use crate::config::{LivenessSetting, PathConfig};
use crate::control::change::{PathChange, Rebinding, Remote};
use crate::node::path_log;
use crate::stats::{InterfaceStatus, Missing, Traffic};
use crate::udp::UdpError;
use crate::udp::batch::Outgoing;
use crate::udp::flood::FloodGuard;

impl Paths {
    /// Applies `change` at `now`.
    pub(in crate::node) fn change(&mut self, change: PathChange, now: Time) {
        // The kernel has GRO if it had it for the socket before; the receive buffers fit already.
        if let Some(socket) = change.socket.as_ref().filter(|_| self.gro_enabled) {
            _ = socket.set_gro(true);
        }
        if let Some(path) = self.all.get_mut(change.path.index()) {
            path.flush();
            path.change(change, now);
        }
    }

    /// Binds the sockets of these paths to other interfaces; after an error all are bound as
    /// before.
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

    /// Adjusts what is detected and logged to a new policy and new liveness settings.
    pub(in crate::node) fn adjust(&mut self, policy: PolicyConfig, liveness: LivenessSetting) {
        self.silence_detector.adjust(policy, liveness);
        if policy.repair().is_none() {
            self.version_log.is_repair_logged = false;
        }
    }

    /// Sets the interface status of a path.
    pub(in crate::node) fn set_interface_status(
        &mut self,
        path: PathId,
        interface_status: InterfaceStatus,
    ) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.stats.interface_status = interface_status;
        }
    }

    /// Notes which paths carry no more than the state file has, since that cannot be written.
    pub(in crate::node) fn set_unsaved(&mut self, is_unsaved: impl Fn(PathId) -> bool) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            path.is_unsaved = is_unsaved(id);
        }
    }

    /// The paths on which the peer could have answered: not those that carry nothing.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Path> {
        let paths = (0..).map(PathId).zip(&self.all);
        let open = paths.filter(|(id, _)| !self.silence_detector.is_closed(*id));
        open.map(|(_, path)| path)
    }

    /// The traffic of each path, after sending what waits in a batch.
    pub(in crate::node) fn flushed_traffic(&mut self) -> impl Iterator<Item = Traffic> {
        self.flush();
        self.traffic()
    }

    /// The traffic of each path.
    pub(in crate::node) fn traffic(&self) -> impl Iterator<Item = Traffic> {
        self.all.iter().map(|path| Traffic {
            sent: path.stats.sent,
            received: path.stats.received,
        })
    }
}

impl Path {
    fn change(&mut self, change: PathChange, now: Time) {
        self.stats.name = change.name;
        let has_address = matches!(change.remote, Some(Remote::At(_)));
        if has_address || change.socket.is_some() || change.interface.is_some() {
            self.rerouted();
        }
        if let Some(socket) = change.socket {
            self.stats.local = socket.bound();
            self.flood = FloodGuard::default();
            let retired = mem::replace(&mut self.socket, socket);
            self.outgoing = Outgoing::default();
            self.apply_dont_fragment_to_new_socket();
            let missing = change
                .interface_status
                .as_ref()
                .map(|interface_status| &interface_status.missing);
            // Nothing is in flight to an address that is gone, and a later socket needs the
            // address.
            if !matches!(missing, Some(Some(Missing::Address(_)))) {
                self.retired.push(retired, now + GRACE);
            }
        }
        self.copied = change.copied.unwrap_or(self.copied);
        if let Some(mtu) = change.mtu {
            path_log::log_interface_mtu(&self.stats.name, mtu);
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
            // The last address serves until the peer sends from another.
            Some(Remote::Learned) => self.remote = PeerAddress::learned(self.remote.get()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
