//! What the log says of who is heard on a path, and who is not.

use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_core::time::Time;

use super::{Path, Paths};
use crate::node::silence_detector::Change;

/// So many datagrams for another path in a row are no accident.
const CROSSED: u32 = 3;

/// What was heard on a path, as far as it is not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathLog {
    /// Whether its relay has been heard; nothing where it goes by none.
    relay_heard: Option<bool>,
    /// Datagrams for another path since one was authentic.
    misplaced_in_a_row: u32,
    /// Whether the log has that the paths are crossed.
    is_crossed: bool,
}

impl PathLog {
    /// Nothing has been heard yet.
    pub(super) fn new(by_relay: bool) -> Self {
        Self {
            relay_heard: by_relay.then_some(false),
            misplaced_in_a_row: 0,
            is_crossed: false,
        }
    }

    /// Whether the path goes by a relay.
    pub(super) fn is_by_relay(self) -> bool {
        self.relay_heard.is_some()
    }
}

impl Paths {
    /// Notes an authentic datagram of the relay by which a path goes.
    pub(in crate::node) fn hear_relay(&mut self, path: PathId) {
        if let Some(path) = self.all.get_mut(path.index())
            && path.log.relay_heard.replace(true) == Some(false)
        {
            let relay = path.stats.remote.map(tracing::field::display);
            tracing::info!(path = path.stats.name, relay, "the relay answers");
        }
    }

    /// Notes a datagram that came on `path` and is for another, as it says itself.
    pub(in crate::node) fn note_misplaced(&mut self, path: PathId) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.note_misplaced();
        }
    }

    /// Logs which paths have brought nothing of the peer yet, but for those of which the log has that they wait for
    /// something at this end.
    pub(in crate::node) fn log_silence(&self) {
        let silent = |path: &&Path| {
            let is_there = path.stats.interface_status.missing.is_none();
            path.stats.authentic == 0 && !path.log.is_crossed && is_there
        };
        for path in self.all.iter().filter(silent) {
            path.log_silence();
        }
    }
}

impl Path {
    /// Notes an authentic datagram of the peer from `source`.
    pub(super) fn hear(&mut self, source: SocketAddr) {
        let before = self.remote.get();
        let moved = self.remote.update(source);
        if moved {
            self.stats.remote = Some(source);
        }
        // Another port alone is a router's doing on the same way.
        if moved && before.is_some_and(|before| before.ip() != source.ip()) {
            self.note_move();
        }
        if self.stats.authentic == 0 {
            tracing::info!(path = self.stats.name, remote = %source, "the peer answers");
        } else if moved {
            tracing::info!(path = self.stats.name, remote = %source, "the peer has moved");
        }
        self.stats.authentic += 1;
        self.log.misplaced_in_a_row = 0;
    }

    /// Counts a datagram for another path, and logs the first that come in a row: one alone somebody may have made up.
    fn note_misplaced(&mut self) {
        self.stats.misplaced += 1;
        self.log.misplaced_in_a_row += 1;
        if self.log.misplaced_in_a_row == CROSSED && !self.log.is_crossed {
            self.log.is_crossed = true;
            tracing::warn!(
                path = self.stats.name,
                "what comes here is for another path: have both nodes' files their `[[path]]` tables in the same order?"
            );
        }
    }

    fn log_silence(&self) {
        let (path, received) = (&self.stats.name, self.stats.received.packets);
        if received > 0 && self.log.relay_heard != Some(true) {
            let from = if self.log.relay_heard.is_some() {
                "relay"
            } else {
                "peer"
            };
            tracing::warn!(
                path,
                remote = self.remote.get().map(tracing::field::display),
                received,
                "something comes here, and none of it opens as the {from}'s: compare the keys in both files (`polypath \
                 key --public`) and the order of their `[[path]]` tables; or this node's clock is behind \
                 that of its last run; or somebody else sends"
            );
            return;
        }
        if let (Some(heard), Some(relay)) = (self.log.relay_heard, self.remote.get()) {
            if heard {
                tracing::warn!(path, %relay, "the relay answers, and the peer has not come there yet");
            } else {
                tracing::warn!(
                    path,
                    %relay,
                    received,
                    "no answer from the relay yet: does it run, does it know this node's key, and does a firewall \
                     let UDP through?"
                );
            }
            return;
        }
        if let Some(remote) = self.remote.get() {
            tracing::warn!(
                path,
                %remote,
                received,
                "no answer from the peer yet: does it run, and does a firewall let UDP through?"
            );
        } else {
            tracing::warn!(
                path,
                received,
                "the peer has not come yet: it must give this end's address as its `remote`"
            );
        }
    }
}

/// Logs what has changed about one of `paths` at `at`.
pub(super) fn log_change(paths: &[Path], change: Change, at: Time) {
    let name = |path: PathId| paths.get(path.index()).map(|path| &path.stats.name);
    let seconds = |last: Time| at.since(last).as_nanos() / 1_000_000_000;
    match change {
        Change::Silent { path, last } => tracing::warn!(
            path = name(path),
            seconds = seconds(last),
            "nothing of the peer comes here any more, while other paths bring its datagrams: is the \
             uplink down at one end, or has the peer another policy?"
        ),
        Change::Back { path, last } => tracing::info!(
            path = name(path),
            seconds = seconds(last),
            "the peer is heard here again"
        ),
    }
}
