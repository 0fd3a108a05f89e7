//! The sockets of a node's paths when it starts.

use crate::config::PathConfig;
use crate::operation::WAITS;
use crate::stats::{Missing, Standing};
use crate::udp::{self, PathSocket, UdpError};

/// A path's socket, and what it rests on.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) socket: PathSocket,
    pub(super) standing: Standing,
}

/// The sockets of all paths; those whose interface is not there yet wait for it, and where others have their
/// addresses, those whose address no interface has.
pub(super) fn open(paths: &[PathConfig]) -> Result<Vec<Opened>, UdpError> {
    let opened: Vec<_> = paths.iter().map(PathSocket::open).collect();
    let waits = |opened: &Result<_, _>| matches!(opened, Ok(_) | Err(UdpError::NoInterface { .. }));
    let may_wait = opened.iter().any(waits);
    let sockets = opened.into_iter().zip(paths);
    let sockets = sockets.map(|(opened, path)| {
        let (socket, missing) = match opened {
            Err(UdpError::NoAddress { .. }) if may_wait => {
                let missing = Missing::Address(path.local.ip());
                (PathSocket::open_early(path)?, Some(missing))
            }
            Err(UdpError::NoInterface { interface, .. }) => (
                PathSocket::nowhere(path)?,
                Some(Missing::Interface(interface)),
            ),
            opened => (opened?, None),
        };
        if let Some(missing) = &missing {
            let (path, there_are) = (&path.name, udp::interfaces());
            tracing::warn!(path, %missing, there_are, "{WAITS}");
        }
        let interface = path.interface.clone();
        let standing = Standing { interface, missing };
        Ok(Opened { socket, standing })
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(local: &str, interface: Option<&str>) -> PathConfig {
        PathConfig {
            name: "test".to_owned(),
            local: local.parse().unwrap(),
            remote: None,
            relay: None,
            interface: interface.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_not_there_yet_is_waited_for() {
        let there = path("127.0.0.1:0", None);
        let early = path("192.0.2.1:0", None);
        let unplugged = path("192.0.2.2:0", Some("no-such-if"));
        let opened = open(&[there, early.clone(), unplugged.clone()]).unwrap();
        let missing: Vec<_> = opened.iter().map(|o| o.standing.missing.clone()).collect();
        let interface = Missing::Interface("no-such-if".to_owned());
        let address = Missing::Address("192.0.2.1".parse().unwrap());
        assert_eq!(missing, [None, Some(address), Some(interface)]);
        assert_eq!(opened[2].standing.interface.as_deref(), Some("no-such-if"));
        assert_eq!(open(&[unplugged]).unwrap().len(), 1, "alone, too");
        let error = open(&[early]).unwrap_err().to_string();
        assert!(error.contains("ip address"), "{error}");
    }
}
