//! What a single path rests on.

use std::net::{IpAddr, UdpSocket};

use nix::net::if_::if_nametoindex;

use crate::config::PathConfig;
use crate::interfaces::network::Network;
use crate::interfaces::uplink::AssignedUplink;
use crate::stats::{InterfaceStatus, Missing};
use crate::udp::{self, NOWHERE, PathSocket, UdpError};

/// A path, and what it rests on.
#[derive(Debug)]
pub(super) struct PathBinding {
    config: PathConfig,
    /// The number of the interface that its socket is bound to.
    bound: Option<u32>,
    /// The address that it sends from, where that was found at run time.
    source: Option<IpAddr>,
    /// The MTU of its interface in bytes, as its socket has it; none where that has to be told.
    mtu: Option<u32>,
    interface_status: InterfaceStatus,
    /// Why its socket could not be had at the last look, if it could not.
    failure: Option<String>,
}

/// What becomes of it.
#[derive(Debug)]
pub(super) struct BindingUpdate {
    pub(super) name: String,
    pub(super) interface_status: InterfaceStatus,
    /// The socket that takes the place of the one that it has.
    pub(super) socket: Option<PathSocket>,
    /// The MTU of its interface in bytes, where it is another than before.
    pub(super) mtu: Option<u32>,
    /// Whether nothing else changes.
    is_mtu_alone: bool,
    bound: Option<u32>,
    source: Option<IpAddr>,
}

/// Where a path is to go by.
#[derive(Clone, Copy, Debug)]
pub(super) enum BindTarget<'a> {
    /// What the file says.
    Configured,
    /// This uplink.
    Uplink(&'a AssignedUplink),
    /// None has been found.
    Waiting,
}

impl BindingUpdate {
    /// What the path rests on, where that changes or is of another socket.
    pub(super) fn new_status(&self) -> Option<InterfaceStatus> {
        (!self.is_mtu_alone).then(|| self.interface_status.clone())
    }
}

impl PathBinding {
    /// A path that the file describes like this, whose socket is still to be opened.
    pub(super) fn new(config: PathConfig) -> Self {
        Self {
            config,
            bound: None,
            source: None,
            mtu: None,
            interface_status: InterfaceStatus::default(),
            failure: None,
        }
    }

    /// Notes what it starts with.
    pub(super) fn start(&mut self, socket: &PathSocket, interface_status: InterfaceStatus) {
        (self.bound, self.interface_status) = (socket.device(), interface_status);
        self.mtu = Some(socket.mtu());
    }

    pub(super) fn config(&self) -> &PathConfig {
        &self.config
    }

    pub(super) fn interface_status(&self) -> &InterfaceStatus {
        &self.interface_status
    }

    /// Whether its socket is bound to an interface that is not there.
    pub(super) fn is_adrift(&self) -> bool {
        matches!(self.interface_status.missing, Some(Missing::Interface(_)))
            || self.bound == Some(NOWHERE)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The file says `config` from now on, and the socket has followed it.
    pub(super) fn adopt(&mut self, config: &PathConfig) {
        if config.local() != self.config.local() || config.interface != self.config.interface {
            let index = |name: &String| if_nametoindex(name.as_str()).ok();
            self.bound = config.interface.as_ref().and_then(index);
            self.mtu = None;
        }
        self.config = config.clone();
    }

    /// What becomes of it where there is `network`, if anything does.
    pub(super) fn update(
        &mut self,
        network: &Network,
        seat: BindTarget<'_>,
    ) -> Option<BindingUpdate> {
        // Whatever kept it from its socket at the last look may be over, or what it was to have.
        let told = self.failure.take();
        let update = self.decide(network, seat);
        if let Some(why) = self
            .failure
            .as_ref()
            .filter(|why| told.as_ref() != Some(why))
        {
            tracing::warn!("{why}; it is tried again");
        }
        update
    }

    fn decide(&mut self, network: &Network, seat: BindTarget<'_>) -> Option<BindingUpdate> {
        let (config, source) = match seat {
            BindTarget::Configured => (self.config.clone(), None),
            BindTarget::Uplink(held) => (by(&self.config, held), Some(held.source)),
            BindTarget::Waiting => return self.wait(),
        };
        let mut update = self.stay(interface_status(&config, network));
        let device = match &config.interface {
            Some(name) => network.link(name).map(|link| link.index),
            None => lost(&config, &update.interface_status).then_some(NOWHERE),
        };
        // A socket that was bound to an interface waits for another one of that name.
        let is_known = device.is_some() || config.interface.is_none();
        if is_known && (device != self.bound || source != self.source) {
            match open(&config) {
                Ok(opened) => {
                    (update.bound, update.source) = (opened.device().or(device), source);
                    update.socket = Some(opened);
                    // It has just read it.
                    self.mtu = update.socket.as_ref().map(PathSocket::mtu);
                }
                // It has gone since; another look follows.
                Err(UdpError::NoInterface { .. }) => return None,
                Err(error) => {
                    self.failure = Some(error.to_string());
                    update.interface_status.clone_from(&self.interface_status);
                }
            }
        }
        let mtu = network.mtu(config.interface.as_deref(), config.local().ip());
        update.mtu = mtu.filter(|mtu| Some(*mtu) != self.mtu);
        self.unless_nothing(update)
    }

    /// What becomes of it where no uplink is free.
    fn wait(&mut self) -> Option<BindingUpdate> {
        let missing = Some(Missing::Uplink);
        let interface = None;
        let mut update = self.stay(InterfaceStatus { interface, missing });
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
        self.unless_nothing(update)
    }

    fn unless_nothing(&self, update: BindingUpdate) -> Option<BindingUpdate> {
        let is_mtu_alone =
            update.socket.is_none() && update.interface_status == self.interface_status;
        (!is_mtu_alone || update.mtu.is_some()).then_some(BindingUpdate {
            is_mtu_alone,
            ..update
        })
    }

    /// With the socket that it has.
    fn stay(&self, interface_status: InterfaceStatus) -> BindingUpdate {
        BindingUpdate {
            name: self.config.name.clone(),
            interface_status,
            socket: None,
            mtu: None,
            is_mtu_alone: false,
            bound: self.bound,
            source: self.source,
        }
    }

    pub(super) fn take(&mut self, update: BindingUpdate) {
        (self.bound, self.source) = (update.bound, update.source);
        self.interface_status = update.interface_status;
        self.mtu = update.mtu.or(self.mtu);
    }

    /// Logs what has become of it.
    pub(super) fn tell(&self, update: &BindingUpdate, network: &Network) {
        let (path, interface) = (&update.name, update.interface_status.interface.as_deref());
        let bound_anew = (self.bound, self.source) != (update.bound, update.source);
        match (
            &self.interface_status.missing,
            &update.interface_status.missing,
        ) {
            (before, Some(missing)) if before.as_ref() != Some(missing) => {
                let there_are = network.names();
                tracing::warn!(path, %missing, there_are, "{WAITS}");
            }
            (_, None) if update.source.is_some() && bound_anew => {
                let source = update.source.map(tracing::field::display);
                tracing::info!(path, interface, source, "the path goes by this uplink");
            }
            (Some(missing), None) => {
                tracing::info!(path, %missing, "there now; the path is used once the peer answers");
            }
            (None, None) if bound_anew => {
                tracing::info!(
                    path,
                    interface,
                    "another interface of that name; the path is bound to it"
                );
            }
            _ => {}
        }
    }
}

/// What is said of a path that waits.
pub(crate) const WAITS: &str = "not there; the path carries nothing until it is (see `ip address`)";

/// What a path rests on where there is `network`.
fn interface_status(config: &PathConfig, network: &Network) -> InterfaceStatus {
    let ip = config.local().ip();
    let named = config.interface.as_ref();
    let gone = named.filter(|name| network.link(name).is_none());
    let missing = match gone {
        Some(name) => Some(Missing::Interface(name.clone())),
        None if is_here(ip, network) => None,
        None => Some(Missing::Address(ip)),
    };
    let interface = config.interface.clone();
    InterfaceStatus { interface, missing }
}

/// Whether what a path sends would go astray for want of its address.
fn lost(config: &PathConfig, interface_status: &InterfaceStatus) -> bool {
    udp::strays(config) && matches!(interface_status.missing, Some(Missing::Address(_)))
}

/// Whether a socket can be bound to `ip`: an interface has it, or a route says that it is here (as all of 127.0.0.0/8).
fn is_here(ip: IpAddr, network: &Network) -> bool {
    network.has(ip) || UdpSocket::bind((ip, 0)).is_ok()
}

/// A path of the file that goes by an uplink that was found for it.
fn by(config: &PathConfig, held: &AssignedUplink) -> PathConfig {
    PathConfig {
        local: Some((held.source, 0).into()),
        interface: Some(held.name.clone()),
        ..config.clone()
    }
}

/// The socket of a path, whether or not its address is there.
fn open(config: &PathConfig) -> Result<PathSocket, UdpError> {
    match PathSocket::open(config) {
        Err(UdpError::NoAddress { .. }) => PathSocket::open_early(config),
        opened => opened,
    }
}

#[cfg(test)]
mod tests;
