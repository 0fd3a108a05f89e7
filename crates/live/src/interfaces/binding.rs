//! The binding of a path to an interface and a source address.

use std::net::{IpAddr, UdpSocket};

use nix::net::if_::if_nametoindex;

use super::log;
use super::network::Network;
use super::uplink::AssignedUplink;
use crate::config::PathConfig;
use crate::stats::{InterfaceStatus, Missing};
use crate::udp::{self, NO_INTERFACE, PathSocket, UdpError};

/// The current binding of a path.
#[derive(Debug)]
pub(super) struct PathBinding {
    config: PathConfig,
    /// The index of the interface that the socket is bound to.
    bound: Option<u32>,
    /// The source address, if it was found at run time.
    source: Option<IpAddr>,
    /// The MTU of the interface in bytes that the socket knows; `None` if it must be sent to it.
    mtu: Option<u32>,
    status: InterfaceStatus,
    /// The error of the last update, if it could not open a socket.
    failure: Option<String>,
}

/// An update of the binding of a path.
#[derive(Debug)]
pub(super) struct BindingUpdate {
    pub(super) name: String,
    pub(super) status: InterfaceStatus,
    /// The socket that replaces the current one.
    pub(super) socket: Option<PathSocket>,
    /// The MTU of the interface in bytes, if it changes.
    pub(super) mtu: Option<u32>,
    /// Whether nothing but the MTU changes.
    is_mtu_only: bool,
    bound: Option<u32>,
    source: Option<IpAddr>,
}

/// The target of a binding.
#[derive(Clone, Copy, Debug)]
pub(super) enum BindTarget<'a> {
    /// The interface and address of its configuration.
    Configured,
    /// This uplink.
    Uplink(&'a AssignedUplink),
    /// Nothing: no uplink is free.
    None,
}

impl BindingUpdate {
    /// The interface status, if it changes or belongs to another socket.
    pub(super) fn changed_status(&self) -> Option<InterfaceStatus> {
        (!self.is_mtu_only).then(|| self.status.clone())
    }
}

impl PathBinding {
    /// The binding of a path whose socket is not open yet.
    pub(super) fn new(config: PathConfig) -> Self {
        Self {
            config,
            bound: None,
            source: None,
            mtu: None,
            status: InterfaceStatus::default(),
            failure: None,
        }
    }

    /// Records the socket that the path starts with.
    pub(super) fn start(&mut self, socket: &PathSocket, status: InterfaceStatus) {
        (self.bound, self.status) = (socket.device(), status);
        self.mtu = Some(socket.mtu());
    }

    pub(super) fn config(&self) -> &PathConfig {
        &self.config
    }

    pub(super) fn status(&self) -> &InterfaceStatus {
        &self.status
    }

    /// Whether the socket is bound to an interface that no longer exists.
    pub(super) fn is_unbound(&self) -> bool {
        matches!(self.status.missing, Some(Missing::Interface(_)))
            || self.bound == Some(NO_INTERFACE)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Adopts a configuration that the socket already follows.
    pub(super) fn adopt(&mut self, config: &PathConfig) {
        if config.local() != self.config.local() || config.interface != self.config.interface {
            let index = |name: &String| if_nametoindex(name.as_str()).ok();
            self.bound = config.interface.as_ref().and_then(index);
            self.mtu = None;
        }
        self.config = config.clone();
    }

    /// The update that `network` and `target` require, if any.
    pub(super) fn update(
        &mut self,
        network: &Network,
        target: BindTarget<'_>,
    ) -> Option<BindingUpdate> {
        let logged = self.failure.take();
        let update = self.decide(network, target);
        if let Some(why) = self
            .failure
            .as_ref()
            .filter(|why| logged.as_ref() != Some(why))
        {
            log::socket_failed(why);
        }
        update
    }

    fn decide(&mut self, network: &Network, target: BindTarget<'_>) -> Option<BindingUpdate> {
        let (config, source) = match target {
            BindTarget::Configured => (self.config.clone(), None),
            BindTarget::Uplink(uplink) => (bound_to(&self.config, uplink), Some(uplink.source)),
            BindTarget::None => return self.unbind(),
        };
        let mut update = self.unchanged(status(&config, network));
        let device = match &config.interface {
            Some(name) => network.link(name).map(|link| link.index),
            None => lacks_address(&config, &update.status).then_some(NO_INTERFACE),
        };
        // A socket that was bound to an interface waits for another one of that name.
        let is_known = device.is_some() || config.interface.is_none();
        if is_known && (device != self.bound || source != self.source) {
            match open(&config) {
                Ok(opened) => {
                    (update.bound, update.source) = (opened.device().or(device), source);
                    update.socket = Some(opened);
                    // A new socket reads the MTU when it opens.
                    self.mtu = update.socket.as_ref().map(PathSocket::mtu);
                }
                // The interface has gone since the reading; another update follows.
                Err(UdpError::NoInterface { .. }) => return None,
                Err(error) => {
                    self.failure = Some(error.to_string());
                    update.status.clone_from(&self.status);
                }
            }
        }
        let mtu = network.mtu(config.interface.as_deref(), config.local().ip());
        update.mtu = mtu.filter(|mtu| Some(*mtu) != self.mtu);
        self.if_changed(update)
    }

    /// The update of a path that has no uplink.
    fn unbind(&mut self) -> Option<BindingUpdate> {
        let missing = Some(Missing::Uplink);
        let interface = None;
        let mut update = self.unchanged(InterfaceStatus { interface, missing });
        if self.source.is_some() {
            match PathSocket::nowhere(&self.config) {
                Ok(socket) => {
                    self.mtu = Some(socket.mtu());
                    update.socket = Some(socket);
                    (update.bound, update.source) = (None, None);
                }
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        self.if_changed(update)
    }

    fn if_changed(&self, update: BindingUpdate) -> Option<BindingUpdate> {
        let is_mtu_only = update.socket.is_none() && update.status == self.status;
        (!is_mtu_only || update.mtu.is_some()).then_some(BindingUpdate {
            is_mtu_only,
            ..update
        })
    }

    /// An update that keeps the current socket.
    fn unchanged(&self, status: InterfaceStatus) -> BindingUpdate {
        BindingUpdate {
            name: self.config.name.clone(),
            status,
            socket: None,
            mtu: None,
            is_mtu_only: false,
            bound: self.bound,
            source: self.source,
        }
    }

    pub(super) fn apply(&mut self, update: BindingUpdate) {
        (self.bound, self.source) = (update.bound, update.source);
        self.status = update.status;
        self.mtu = update.mtu.or(self.mtu);
    }

    /// Logs an update that is about to be applied.
    pub(super) fn log(&self, update: &BindingUpdate, network: &Network) {
        let (path, interface) = (&update.name, update.status.interface.as_deref());
        let is_rebound = (self.bound, self.source) != (update.bound, update.source);
        match (&self.status.missing, &update.status.missing) {
            (before, Some(missing)) if before.as_ref() != Some(missing) => {
                log::missing(path, missing, &network.names());
            }
            (_, None) if update.source.is_some() && is_rebound => {
                log::bound_to_uplink(path, interface, update.source);
            }
            (Some(missing), None) => log::present_again(path, missing),
            (None, None) if is_rebound => log::rebound(path, interface),
            _ => {}
        }
    }
}

/// The interface status of a path in `network`.
fn status(config: &PathConfig, network: &Network) -> InterfaceStatus {
    let ip = config.local().ip();
    let named = config.interface.as_ref();
    let absent = named.filter(|name| network.link(name).is_none());
    let missing = match absent {
        Some(name) => Some(Missing::Interface(name.clone())),
        None if is_local(ip, network) => None,
        None => Some(Missing::Address(ip)),
    };
    let interface = config.interface.clone();
    InterfaceStatus { interface, missing }
}

/// Whether the path's datagrams would leave by another interface because its address is missing.
fn lacks_address(config: &PathConfig, status: &InterfaceStatus) -> bool {
    udp::may_use_other_uplink(config) && matches!(status.missing, Some(Missing::Address(_)))
}

/// Whether a socket can be bound to `ip`: an interface has it, or it is local by a route (as all of
/// 127.0.0.0/8).
fn is_local(ip: IpAddr, network: &Network) -> bool {
    network.has(ip) || UdpSocket::bind((ip, 0)).is_ok()
}

/// The configuration of a path bound to an uplink that was found for it.
fn bound_to(config: &PathConfig, uplink: &AssignedUplink) -> PathConfig {
    PathConfig {
        local: Some((uplink.source, 0).into()),
        interface: Some(uplink.name.clone()),
        ..config.clone()
    }
}

/// Opens the socket of a path, whether or not its address exists.
fn open(config: &PathConfig) -> Result<PathSocket, UdpError> {
    match PathSocket::open(config) {
        Err(UdpError::NoAddress { .. }) => PathSocket::open_early(config),
        opened => opened,
    }
}

#[cfg(test)]
mod tests;
