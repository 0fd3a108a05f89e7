//! The sockets of a node's paths when it starts.

use crate::config::{NodeConfig, PathConfig, Uplinks};
use crate::interfaces::log;
use crate::interfaces::monitor::InterfaceMonitor;
use crate::node::error::NodeError;
use crate::stats::{InterfaceStatus, Missing};
use crate::udp::{self, PathSocket, UdpError};

/// The sockets and interface statuses of all paths, and the monitor of their interfaces.
#[derive(Debug)]
pub(in crate::node) struct OpenedPaths {
    pub(in crate::node) sockets: Vec<PathSocket>,
    pub(in crate::node) interface_statuses: Vec<InterfaceStatus>,
    pub(in crate::node) monitor: Option<InterfaceMonitor>,
}

/// Opens the sockets of all paths, in the network namespace of the calling thread.
pub(in crate::node) fn open(config: &NodeConfig) -> Result<OpenedPaths, NodeError> {
    let monitor = InterfaceMonitor::new(config);
    match config.uplinks {
        Uplinks::Auto => {
            let mut monitor = monitor.map_err(NodeError::Network)?;
            let found = monitor.find_uplinks().map_err(NodeError::Network)?;
            let opened = found.into_iter().zip(&config.paths);
            let opened = opened.map(|(initial, path)| {
                let socket = initial.socket.map_or_else(|| PathSocket::nowhere(path), Ok);
                Ok((socket?, initial.status))
            });
            let opened: Vec<_> = opened.collect::<Result<_, UdpError>>()?;
            let (sockets, interface_statuses) = opened.into_iter().unzip();
            Ok(OpenedPaths {
                sockets,
                interface_statuses,
                monitor: Some(monitor),
            })
        }
        Uplinks::Listed => {
            let (sockets, interface_statuses): (Vec<_>, Vec<_>) =
                listed(&config.paths)?.into_iter().unzip();
            if let Err(error) = &monitor {
                log::monitor_unavailable(error);
            }
            let mut monitor = monitor.ok();
            if let Some(monitor) = &mut monitor {
                monitor.start(sockets.iter().zip(&interface_statuses));
            }
            Ok(OpenedPaths {
                sockets,
                interface_statuses,
                monitor,
            })
        }
    }
}

/// Opens the sockets of listed paths.
///
/// A path whose interface is missing waits for it; so does one whose address is missing, unless all
/// are, which is more likely a mistake in the file.
fn listed(paths: &[PathConfig]) -> Result<Vec<(PathSocket, InterfaceStatus)>, UdpError> {
    let opened: Vec<_> = paths.iter().map(PathSocket::open).collect();
    let is_plausible =
        |opened: &Result<_, _>| matches!(opened, Ok(_) | Err(UdpError::NoInterface { .. }));
    let may_wait = opened.iter().any(is_plausible);
    let sockets = opened.into_iter().zip(paths);
    let sockets = sockets.map(|(opened, path)| {
        let (socket, missing) = match opened {
            Err(UdpError::NoAddress { .. }) if may_wait => {
                let missing = Missing::Address(path.local().ip());
                (PathSocket::open_early(path)?, Some(missing))
            }
            Err(UdpError::NoInterface { interface, .. }) => (
                PathSocket::nowhere(path)?,
                Some(Missing::Interface(interface)),
            ),
            opened => (opened?, None),
        };
        if let Some(missing) = &missing {
            log::missing(&path.name, missing, &udp::interfaces());
        }
        let interface = path.interface.clone();
        let interface_status = InterfaceStatus { interface, missing };
        Ok((socket, interface_status))
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_interface_or_address_is_waited_for() {
        let there = PathConfig::at("127.0.0.1:0", None);
        let early = PathConfig::at("192.0.2.1:0", None);
        let unplugged = PathConfig::at("192.0.2.2:0", Some("no-such-if"));
        let opened = listed(&[there, early.clone(), unplugged.clone()]).unwrap();
        let missing: Vec<_> = opened
            .iter()
            .map(|(_, interface_status)| interface_status.missing.clone())
            .collect();
        let interface = Missing::Interface("no-such-if".to_owned());
        let address = Missing::Address("192.0.2.1".parse().unwrap());
        assert_eq!(missing, [None, Some(address), Some(interface)]);
        assert_eq!(opened[2].1.interface.as_deref(), Some("no-such-if"));
        assert_eq!(
            listed(&[unplugged]).unwrap().len(),
            1,
            "an interface is waited for by a single path, too"
        );
        let error = listed(&[early]).unwrap_err().to_string();
        assert!(error.contains("ip address"), "{error}");
    }
}
