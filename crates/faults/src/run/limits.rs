//! Checks of the limits of the paths of a node.

use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::metering::ClosedPaths;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_session::tunnel::{Output, Tunnel};

use super::Run;
use crate::datagram::End;
use crate::schedule::LimitedPath;
use crate::violation::Violation;

/// The most that a path may be ahead of its ceiling when it gets a packet, as documented.
const BURST: Duration = Duration::from_millis(100);

/// The paths of `before` a wake of a node on which it must not have sent: of those that the peer
/// has closed, the ones that are closed still, and on which it sends to the peer and not to a
/// relay.
pub(super) fn still_closed(tunnel: &Tunnel, before: ClosedPaths) -> ClosedPaths {
    let still = tunnel.endpoint().closed_paths().by_peer;
    let by_peer = before.by_peer.and(still).into_iter();
    ClosedPaths {
        by_peer: by_peer
            .filter(|path| tunnel.relay(*path).is_none())
            .collect(),
        ..before
    }
}

/// Checks that nothing is sent on `closed` paths but, on those that the node has closed itself, the
/// notices that say so. A handshake of the peer is answered on a path that it has closed, since it
/// has opened the path.
pub(super) fn check_closed(
    end: End,
    closed: ClosedPaths,
    outputs: &[Output],
) -> Result<(), Violation> {
    let mut notice = None;
    for output in outputs {
        let forbidden = match *output {
            Output::Datagram { path, .. } => {
                let is_notice = notice == Some(path) && closed.own.contains(path);
                closed.all().contains(path) && !is_notice
            }
            Output::Reply { path, .. } => closed.own.contains(path),
            _ => false,
        };
        match *output {
            Output::Datagram { path, .. } | Output::Reply { path, .. } if forbidden => {
                return Err(Violation::SentOnClosedPath { end, path });
            }
            Output::Event(Event::FrameOut {
                path,
                kind: FrameKind::PathClosed,
                ..
            }) => notice = Some(path),
            _ => notice = None,
        }
    }
    Ok(())
}

/// The path of a node with a ceiling, and how far it is ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceiling {
    end: End,
    path: PathId,
    rate: Rate,
    /// The time at which what was sent has left at this rate.
    free: Time,
}

impl Ceiling {
    /// That of a node which starts, if one of its paths has a ceiling.
    pub(super) fn of(end: End, limited: Option<LimitedPath>) -> Option<Self> {
        let limited = limited.filter(|limited| limited.end == end)?;
        limited.ceiling.map(|rate| Self {
            end,
            path: limited.path,
            rate,
            free: Time::ZERO,
        })
    }

    /// Checks that a node which is woken at `now` sends no packets while the path is ahead of its
    /// ceiling; a `change` of its settings may send all that wait. Returns whether it is ahead.
    pub(super) fn check(
        &mut self,
        now: Time,
        change: bool,
        outputs: &[Output],
    ) -> Result<bool, Violation> {
        let is_ahead = self.free > now + BURST;
        for output in outputs {
            if let Output::Event(Event::FrameOut { path, kind, len }) = *output
                && path == self.path
            {
                if kind.carries_packet() && self.free > now + BURST && !change {
                    let end = self.end;
                    return Err(Violation::ExceededCeiling { end, path });
                }
                let time = self.rate.transmission_time(Bytes(len.into()));
                self.free = self.free.max(now) + time;
            }
        }
        Ok(is_ahead)
    }
}

impl Run<'_> {
    /// Checks the outputs of a node that was just woken, by a `change` of its settings or else,
    /// against the ceiling of its path.
    pub(super) fn check_ceiling(
        &mut self,
        end: End,
        change: bool,
        outputs: &[Output],
    ) -> Result<(), Violation> {
        let slot = self.slot(end);
        if let (Some(node), Some(ceiling)) = (&slot.node, &mut slot.ceiling) {
            let is_ahead = ceiling.check(node.last_wake(), change, outputs)?;
            self.coverage.paths.ahead += u64::from(is_ahead);
        }
        Ok(())
    }
}
