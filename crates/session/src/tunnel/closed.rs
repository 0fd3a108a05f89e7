//! The paths on which no session sends, because a quota is used up ([`polypath_core::metering`]).

use bytes::Bytes;
use polypath_core::endpoint::Endpoint;
use polypath_core::event::Event;
use polypath_core::frame::PathId;
use polypath_core::metering;
use polypath_core::policy::PathSet;

use super::{Output, Tunnel};
use crate::handshake::CLOSED_PATHS;
use crate::session;

/// The closed paths.
#[derive(Clone, Copy)]
pub(super) struct ClosedPaths(metering::ClosedPaths);

impl ClosedPaths {
    /// The closed paths of `endpoint`.
    pub(super) fn of(endpoint: &Endpoint<Bytes>) -> Self {
        Self(endpoint.closed_paths())
    }

    /// The closed paths other than `path`.
    pub(super) const fn without(self, path: PathId) -> Self {
        Self(self.0.without(path))
    }

    /// Whether they forbid an output of the session with the peer. A peer that starts a handshake
    /// on a path that it has closed has opened it: it gets its response.
    pub(super) const fn forbid(self, output: &session::Output) -> bool {
        match output {
            session::Output::Send { path, .. } => self.0.all().contains(*path),
            session::Output::Reply { path, .. } => self.0.own.contains(*path),
            _ => false,
        }
    }

    /// Passes on the outputs of sessions with relays that they do not forbid. What is sent to the
    /// relay of a path that the peer has closed does not reach the peer: it goes on, so that the
    /// relay and the network know this node when the path opens.
    pub(super) fn permitted(self, out: &mut impl FnMut(Output)) -> impl FnMut(Output) {
        move |output| {
            let is_forbidden = match &output {
                Output::Datagram { path, .. } => self.0.own.contains(*path),
                _ => false,
            };
            if !is_forbidden {
                out(output);
            }
        }
    }
}

impl Tunnel {
    /// Reports that a path has a quota and the peer knows no closed paths, when that begins.
    pub(super) fn check_quotas(&mut self, out: &mut impl FnMut(Output)) {
        let paths = (0..PathSet::CAPACITY).map(PathId);
        let mut usages = paths.filter_map(|path| self.endpoint.path_usage(path));
        let has_quota = usages.any(|usage| usage.quota.is_some());
        let is_old = self.session.is_established() && self.session.features() & CLOSED_PATHS == 0;
        let before = std::mem::replace(&mut self.is_quota_unenforceable, has_quota && is_old);
        if self.is_quota_unenforceable && !before {
            out(Output::Event(Event::QuotaUnenforceable));
        }
    }
}
