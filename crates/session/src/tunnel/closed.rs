//! The paths on which no session sends, because a quota is used up ([`polypath_core::metering`]).

use bytes::Bytes;
use polypath_core::endpoint::Endpoint;
use polypath_core::frame::PathId;
use polypath_core::policy::PathSet;

use super::Output;
use crate::session;

/// The closed paths.
#[derive(Clone, Copy)]
pub(super) struct ClosedPaths {
    own: PathSet,
    by_peer: PathSet,
}

impl ClosedPaths {
    /// The closed paths of `endpoint`.
    pub(super) fn of(endpoint: &Endpoint<Bytes>) -> Self {
        let (own, by_peer) = endpoint.closed_paths();
        Self { own, by_peer }
    }

    /// The closed paths other than `path`.
    pub(super) const fn without(self, path: PathId) -> Self {
        let path = PathSet::only(path);
        Self {
            own: self.own.without(path),
            by_peer: self.by_peer.without(path),
        }
    }

    /// Whether they forbid an output of the session with the peer. A peer that starts a handshake on
    /// a path that it has closed has opened it: it gets its response.
    pub(super) const fn forbid(self, output: &session::Output) -> bool {
        match output {
            session::Output::Send { path, .. } => self.own.or(self.by_peer).contains(*path),
            session::Output::Reply { path, .. } => self.own.contains(*path),
            _ => false,
        }
    }

    /// Passes on the outputs of sessions with relays that they do not forbid.
    pub(super) fn permitted(self, out: &mut impl FnMut(Output)) -> impl FnMut(Output) {
        move |output| {
            let is_forbidden = match &output {
                Output::Datagram { path, .. } => self.own.or(self.by_peer).contains(*path),
                _ => false,
            };
            if !is_forbidden {
                out(output);
            }
        }
    }
}
