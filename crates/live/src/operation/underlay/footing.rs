//! What a single path rests on.

use nix::net::if_::if_nametoindex;

use crate::config::PathConfig;
use crate::network::Network;
use crate::stats::{Missing, Standing};
use crate::udp::{PathSocket, UdpError};

/// A path, and what it rests on.
#[derive(Debug)]
pub(super) struct Footing {
    config: PathConfig,
    /// The number of the interface that its socket is bound to.
    bound: Option<u32>,
    standing: Standing,
    /// Why its socket could not be bound anew, if it could not.
    failure: Option<String>,
}

/// What becomes of it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) standing: Standing,
    /// The socket that takes the place of the one that it has.
    pub(super) socket: Option<PathSocket>,
    bound: Option<u32>,
}

impl Footing {
    pub(super) fn new(config: PathConfig, bound: Option<u32>, standing: Standing) -> Self {
        Self {
            config,
            bound,
            standing,
            failure: None,
        }
    }

    pub(super) fn is_adrift(&self) -> bool {
        matches!(self.standing.missing, Some(Missing::Interface(_)))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The file says `config` from now on, and the socket has followed it.
    pub(super) fn adopt(&mut self, config: &PathConfig) {
        if config.local != self.config.local || config.interface != self.config.interface {
            let index = |name: &String| if_nametoindex(name.as_str()).ok();
            self.bound = config.interface.as_ref().and_then(index);
        }
        self.config = config.clone();
    }

    /// What becomes of it where there is `network`, if anything does.
    pub(super) fn step(&mut self, network: &Network) -> Option<Step> {
        let mut standing = standing(&self.config, network);
        let link = self.config.interface.as_ref();
        let link = link
            .and_then(|name| network.link(name))
            .map(|link| link.index);
        let mut bound = self.bound;
        let mut socket = None;
        if link.is_some() && link != self.bound {
            match open(&self.config) {
                Ok(opened) => {
                    self.failure = None;
                    bound = opened.device().or(link);
                    socket = Some(opened);
                }
                // It has gone since; another look follows.
                Err(UdpError::NoInterface { .. }) => return None,
                Err(error) => {
                    self.fail(error.to_string());
                    standing.missing.clone_from(&self.standing.missing);
                }
            }
        }
        (socket.is_some() || standing != self.standing).then(|| Step {
            name: self.config.name.clone(),
            standing,
            socket,
            bound,
        })
    }

    pub(super) fn take(&mut self, step: Step) {
        self.bound = step.bound;
        self.standing = step.standing;
    }

    /// Logs what has become of it.
    pub(super) fn tell(&self, step: &Step, network: &Network) {
        let (path, interface) = (&step.name, step.standing.interface.as_deref());
        match (&self.standing.missing, &step.standing.missing) {
            (before, Some(missing)) if before.as_ref() != Some(missing) => {
                let there_are = network.names();
                tracing::warn!(path, %missing, there_are, "{WAITS}");
            }
            (Some(missing), None) => {
                tracing::info!(path, %missing, "what was missing is there; the path is used once the peer answers");
            }
            (None, None) if self.bound != step.bound => {
                tracing::info!(
                    path,
                    interface,
                    "the interface is another of that name; the path is bound to it"
                );
            }
            _ => {}
        }
    }

    fn fail(&mut self, why: String) {
        if self.failure.as_ref() != Some(&why) {
            tracing::warn!("{why}; it is tried again");
            self.failure = Some(why);
        }
    }
}

/// What is said of a path that waits.
pub(crate) const WAITS: &str = "not there; the path carries nothing until it is (see `ip address`)";

/// What a path of the file rests on where there is `network`.
fn standing(config: &PathConfig, network: &Network) -> Standing {
    let ip = config.local.ip();
    let named = config.interface.as_ref();
    let gone = named.filter(|name| network.link(name).is_none());
    let missing = match gone {
        Some(name) => Some(Missing::Interface(name.clone())),
        None if ip.is_unspecified() || network.has(ip) => None,
        None => Some(Missing::Address(ip)),
    };
    let interface = config.interface.clone();
    Standing { interface, missing }
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
