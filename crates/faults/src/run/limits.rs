//! Checks of the limits of the paths of a node.

use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::metering::{BURST, ClosedPaths};
use polypath_core::policy::PathSet;
use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};
use polypath_session::tunnel::{Output, Tunnel};

use super::Run;
use crate::datagram::End;
use crate::schedule::LimitedPath;
use crate::violation::Violation;

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

/// Checks that nothing is sent on `closed` paths but notices that they are closed. A handshake of
/// the peer is answered on a path that it has closed, since it has opened the path.
pub(super) fn check_closed(
    end: End,
    closed: ClosedPaths,
    outputs: &[Output],
) -> Result<(), Violation> {
    let mut notices = PathSet::EMPTY;
    let violation = |path| Err(Violation::SentOnClosedPath { end, path });
    for output in outputs {
        match *output {
            Output::Event(Event::FrameOut {
                path,
                kind: FrameKind::PathClosed,
                ..
            }) => notices = notices.with(path),
            Output::Datagram { path, .. } if notices.contains(path) => {
                notices = notices.without(PathSet::only(path));
            }
            Output::Datagram { path, .. } if closed.all().contains(path) => return violation(path),
            Output::Reply { path, .. } if closed.own.contains(path) => return violation(path),
            _ => {}
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
    /// ceiling. Returns whether it is.
    pub(super) fn check(&mut self, now: Time, outputs: &[Output]) -> Result<bool, Violation> {
        let is_ahead = self.free > now + BURST;
        for output in outputs {
            if let Output::Event(Event::FrameOut { path, kind, len }) = *output
                && path == self.path
            {
                let is_packet =
                    matches!(kind, FrameKind::Data | FrameKind::Copy | FrameKind::Repair);
                if is_ahead && is_packet {
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
    /// Checks the outputs of a node that was just woken against the ceiling of its path.
    pub(super) fn check_ceiling(&mut self, end: End, outputs: &[Output]) -> Result<(), Violation> {
        let slot = self.slot(end);
        if let (Some(node), Some(ceiling)) = (&slot.node, &mut slot.ceiling) {
            let is_ahead = ceiling.check(node.last_wake(), outputs)?;
            self.coverage.paths.ahead += u64::from(is_ahead);
        }
        Ok(())
    }
}
