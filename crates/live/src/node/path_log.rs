//! The log lines of paths.

use std::io;
use std::net::SocketAddr;

use polypath_core::time::{Duration, Time};
use polypath_session::event::Reject;

use super::paths::silence_detector::SilenceChange;
use crate::stats::PathStats;

/// Misplaced datagrams in a row that are logged: one alone may be forged.
const MISPLACED_IN_A_ROW: u32 = 3;

/// The log of a path, with the events that it has already logged.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathLog {
    /// Whether the path's relay has answered; none without a relay.
    relay_answered: Option<bool>,
    /// Datagrams for another path since the last authentic one.
    misplaced_in_a_row: u32,
    /// Whether it is logged that the paths of the nodes differ in order.
    is_misplaced: bool,
    /// Whether a datagram was rejected that is sealed with keys that this node does not have.
    lacks_keys: bool,
    /// Whether one was rejected for another reason.
    has_other_rejects: bool,
}

impl PathLog {
    /// The log of a path on which nothing has been received.
    pub(super) fn new(has_relay: bool) -> Self {
        Self {
            relay_answered: has_relay.then_some(false),
            misplaced_in_a_row: 0,
            is_misplaced: false,
            lacks_keys: false,
            has_other_rejects: false,
        }
    }

    /// Records the reason for which a datagram was rejected.
    pub(super) fn rejected(&mut self, reason: Reject) {
        let lacks_keys = reason == Reject::UnknownIndex;
        self.lacks_keys |= lacks_keys;
        self.has_other_rejects |= !lacks_keys;
    }

    /// Whether the path goes through a relay.
    pub(super) fn has_relay(self) -> bool {
        self.relay_answered.is_some()
    }

    /// Logs the first authentic datagram of the relay.
    pub(super) fn relay_authenticated(&mut self, path: &PathStats) {
        if self.relay_answered.replace(true) == Some(false) {
            let relay = path.remote.map(tracing::field::display);
            tracing::info!(path = path.name, relay, "the relay answers");
        }
    }

    /// Logs the first authentic datagram of the peer, and a change of its address.
    pub(super) fn authenticated(&mut self, path: &PathStats, source: SocketAddr, has_moved: bool) {
        self.misplaced_in_a_row = 0;
        let name = &path.name;
        if path.authentic == 0 {
            tracing::info!(path = name, remote = %source, "the peer answers");
        } else if has_moved {
            tracing::info!(path = name, remote = %source, "the peer has a new address");
        }
    }

    /// Logs the first run of datagrams for another path.
    pub(super) fn misplaced(&mut self, path: &str) {
        self.misplaced_in_a_row += 1;
        if self.misplaced_in_a_row == MISPLACED_IN_A_ROW && !self.is_misplaced {
            self.is_misplaced = true;
            tracing::warn!(
                path,
                "datagrams for another path arrive here: do the files of both nodes list their `[[path]]` tables in \
                 the same order?"
            );
        }
    }

    /// Logs a path on which the peer has not answered, unless the reason is logged already: the
    /// paths differ in order, or this end lacks an interface or address.
    pub(super) fn unanswered(self, path: &PathStats, remote: Option<SocketAddr>) {
        if path.authentic > 0 || self.is_misplaced || path.interface_status.missing.is_some() {
            return;
        }
        let (name, received) = (&path.name, path.received.packets);
        if received > 0 && remote.is_none() && self.lacks_keys && !self.has_other_rejects {
            tracing::warn!(
                path = name,
                received,
                "datagrams of an earlier session arrive here, and this node does not know the peer's address, \
                 to start a new one: it waits until the peer does, up to 10 s after this node's start. Give the \
                 path a `remote`, or run the node with `--state FILE`, which keeps the address over restarts"
            );
            return;
        }
        if received > 0 && self.relay_answered != Some(true) {
            let from = if self.has_relay() { "relay" } else { "peer" };
            tracing::warn!(
                path = name,
                remote = remote.map(tracing::field::display),
                received,
                "datagrams arrive here, and none is authentic from the {from}: compare the keys in both files (`polypath \
                 key --public`), their `preshared_key_file` and the order of their `[[path]]` tables; or this \
                 node's clock is behind that of its last run; or somebody else sends"
            );
            return;
        }
        match (self.relay_answered, remote) {
            (Some(true), Some(relay)) => {
                tracing::warn!(path = name, %relay, "the relay answers, and the peer is not there yet");
            }
            (Some(false), Some(relay)) => tracing::warn!(
                path = name,
                %relay,
                received,
                "no answer from the relay yet: is it running, does it have this node's key, and does a firewall \
                 let UDP through?"
            ),
            (None, Some(remote)) => tracing::warn!(
                path = name,
                %remote,
                received,
                "no answer from the peer yet: is it running, and does a firewall let UDP through?"
            ),
            (_, None) => tracing::warn!(
                path = name,
                received,
                "no datagram from the peer yet: its file must name this node's address as `remote`"
            ),
        }
    }
}

/// Logs the start or the end of a silence at `at`.
pub(super) fn log_silence(path: Option<&str>, change: SilenceChange, at: Time) {
    let seconds = |last: Time| at.since(last).as_nanos() / 1_000_000_000;
    match change {
        SilenceChange::Silent { last, .. } => tracing::warn!(
            path,
            seconds = seconds(last),
            "no datagrams from the peer arrive here, while they arrive on other paths: is the uplink down at \
             one end, or does the peer use another policy?"
        ),
        SilenceChange::Back { last, .. } => tracing::info!(
            path,
            seconds = seconds(last),
            "datagrams from the peer arrive here again"
        ),
    }
}

/// Logs a path whose heartbeats are no longer answered.
pub(super) fn log_path_silent(path: Option<&str>, silence: Duration, rtt: Duration) {
    tracing::warn!(
        path,
        silence_ms = milliseconds(silence),
        rtt_ms = fine_milliseconds(rtt),
        "heartbeats are no longer answered here; packets take other paths, if any is live"
    );
}

/// Logs a path whose heartbeats were answered again, but not for long enough to use it.
pub(super) fn log_path_silent_again(path: Option<&str>, silence: Duration, rtt: Duration) {
    tracing::info!(
        path,
        silence_ms = milliseconds(silence),
        rtt_ms = fine_milliseconds(rtt),
        "heartbeats were answered here again and no longer are; the path was not used meanwhile"
    );
}

/// Logs a path whose heartbeats are answered again.
pub(super) fn log_path_back(path: Option<&str>, outage: Duration, rtt: Duration) {
    tracing::info!(
        path,
        outage_ms = milliseconds(outage),
        rtt_ms = fine_milliseconds(rtt),
        "heartbeats are answered here again; the path is used"
    );
}

/// Logs that the kernel lacks UDP GRO.
pub(super) fn log_no_gro() {
    tracing::warn!(
        "the kernel has no UDP GRO: it delivers datagrams one by one, and throughput is lower"
    );
}

/// The log of what the version of the peer lacks, which each handshake states again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VersionLog {
    /// Whether it is logged that losses cannot be repaired.
    pub(super) is_repair_logged: bool,
    /// Whether it is logged that nothing adapts the spacing of packets.
    is_spacing_logged: bool,
}

impl VersionLog {
    /// Logs once that losses cannot be repaired.
    pub(super) fn repair_unavailable(&mut self) {
        if std::mem::replace(&mut self.is_repair_logged, true) {
            return;
        }
        tracing::warn!(
            "the peer does not report which packets arrive, so that `in-time` repairs nothing; \
             update polypath at the peer"
        );
    }

    /// Logs once that nothing adapts the spacing of packets.
    pub(super) fn spacing_unavailable(&mut self) {
        if std::mem::replace(&mut self.is_spacing_logged, true) {
            return;
        }
        tracing::warn!(
            "the peer gives no feedback on the spacing of packets, which stays as it is; update \
             polypath at the peer"
        );
    }
}

/// The cause for which a path closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosingCause {
    /// The quota of this node is used up.
    Quota,
    /// The quota of the peer is used up.
    Peer,
    /// The state file cannot be written, and the path has carried what it covers.
    Unsaved,
}

/// Logs that a path carries nothing because of a quota.
pub(super) fn log_path_closed(path: Option<&str>, cause: ClosingCause) {
    let message = match cause {
        ClosingCause::Peer => {
            "the peer's quota for this path is used up: the path is closed until the peer opens it"
        }
        ClosingCause::Quota => {
            "the quota of this path is used up: the path is closed until it is renewed, or raised in the file and \
             the file reloaded"
        }
        ClosingCause::Unsaved => {
            "the state file cannot be written, and the path has carried what it covers of the quota: the path is \
             closed until the file can be written"
        }
    };
    tracing::warn!(path, "{message}");
}

/// Logs that a path that was closed carries packets again.
pub(super) fn log_path_opened(path: Option<&str>) {
    tracing::info!(path, "the path is open again");
}

/// Logs that the peer does not know closed paths.
pub(super) fn log_quota_unenforceable() {
    tracing::warn!(
        "a path has a quota, but the peer does not know quotas: what it sends on the path when it is used up exceeds \
         the quota; update polypath at the peer"
    );
}

/// Logs that GRO and GSO are disabled for a peer that compares arrival times.
pub(super) fn log_gro_disabled() {
    tracing::info!(
        "the peer's policy compares arrival times: datagrams are sent and received one by one from now on; with \
         `offload = false` in `node.tun` they are from the start"
    );
}

/// Logs the new MTU of a path's interface in bytes.
pub(super) fn log_interface_mtu(path: &str, mtu: u32) {
    tracing::info!(path, mtu, "the MTU of the path's interface");
}

/// Logs a path whose interface carries at most `packet_mtu` bytes, less than `tun_mtu` of the TUN
/// device.
pub(super) fn log_narrow_path(path: &str, tun_mtu: u16, packet_mtu: u16, discovers_mtu: bool) {
    if discovers_mtu {
        tracing::info!(
            path,
            mtu = tun_mtu,
            room = packet_mtu,
            "packets that are too long for this path's interface take other paths, or their senders receive \
             an ICMP error"
        );
    } else {
        tracing::warn!(
            path,
            mtu = tun_mtu,
            room = packet_mtu,
            "datagrams will be fragmented: the MTU of the TUN device is above that of the path"
        );
    }
}

/// Logs that path MTU discovery found `mtu_bytes`.
pub(super) fn log_mtu_found(path: &str, mtu_bytes: Option<usize>) {
    tracing::info!(path, mtu_bytes, "the path's MTU is found");
}

/// Logs that packets of the MTU that was found are lost.
pub(super) fn log_mtu_lost(path: &str, mtu_bytes: Option<usize>) {
    tracing::warn!(
        path,
        mtu_bytes,
        "packets of the MTU that was found are no longer delivered; the discovery starts again"
    );
}

/// Logs that the peer does not answer the probes of path MTU discovery.
pub(super) fn log_mtu_unknown(path: &str) {
    tracing::warn!(
        path,
        "the path's MTU cannot be discovered: does the peer run an older version? Long datagrams are fragmented \
         as the network requires"
    );
}

/// Logs that the don't-fragment option of the path's socket cannot be set.
pub(super) fn log_dont_fragment_failed(path: &str, error: &io::Error) {
    tracing::warn!(path, %error, "the don't-fragment option of the socket cannot be set");
}

fn milliseconds(span: Duration) -> u64 {
    span.as_nanos() / 1_000_000
}

/// In milliseconds with one decimal, or two below 1 ms: paths within a building take less.
fn fine_milliseconds(span: Duration) -> f64 {
    let ms = span.as_secs_f64() * 1e3;
    let parts = if ms < 1.0 { 100.0 } else { 10.0 };
    (ms * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_logged_with_fractions_of_milliseconds() {
        for (us, ms) in [
            (0, 0.0),
            (104, 0.1),
            (987, 0.99),
            (41_260, 41.3),
            (250_000, 250.0),
        ] {
            let logged = fine_milliseconds(Duration::from_micros(us));
            assert!((logged - ms).abs() < 1e-9, "{us} us as {logged}");
        }
    }
}
