//! The full numbers of truncated fields.

use alloc::vec::Vec;

use super::{EPOCH_BITS, MICROSECOND, WireError};
use crate::frame::{Body, Epoch, Frame, PathId, Purpose};
use crate::time::Time;
use crate::truncated::{BITS, expand};

/// The purposes of a heartbeat, each with numbers of its own.
const PURPOSES: usize = 3;

/// The numbers of a connection, by which the truncated ones of received frames are expanded (as
/// packet numbers of QUIC: RFC 9000, section 17.1).
///
/// What the peer counts is expanded near the newest that arrived; what it repeats, by a reply or a
/// report, near the newest that was sent to it. The first number of a peer has no other near it and
/// is taken as it is. Numbers of data, and epochs, may therefore differ by a constant from those of a
/// peer that has counted before this end started; they are compared with each other only.
///
/// A number is found if fewer than 2^23 numbers before it were lost in a row: at 100 000 packets per
/// second, those of 84 s. A send time is found if the delay differs by less than 8 s from that of the
/// frame before, an epoch if it follows within 128 switches. Numbers of pairs, heartbeats and switch
/// requests stay truncated: they are only compared for equality, or repeated.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    own: Own,
    peer: Peer,
}

/// The newest numbers that this end has sent.
#[derive(Clone, Debug, Default)]
struct Own {
    epoch: Epoch,
    data: u64,
    /// For each path and purpose.
    heartbeats: Vec<[Option<u64>; PURPOSES]>,
}

/// The newest numbers of the peer.
#[derive(Clone, Debug, Default)]
struct Peer {
    epoch: Option<u64>,
    data: Option<u64>,
    reports: Option<u64>,
    /// The send time of its last frame in microseconds, and the time at which that arrived.
    clock: Option<(u64, Time)>,
}

impl Numbers {
    /// Takes note of a frame that is sent.
    #[inline]
    pub fn on_sent<P>(&mut self, frame: &Frame<P>) {
        if !matches!(frame.body, Body::Switch { .. }) {
            self.own.epoch = frame.epoch;
        }
        match &frame.body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } => {
                self.own.data = self.own.data.max(frame.sequence);
            }
            Body::Heartbeat(purpose) => self.on_heartbeat(frame.path, *purpose, frame.sequence),
            _ => {}
        }
    }

    fn on_heartbeat(&mut self, path: PathId, purpose: Purpose, number: u64) {
        let heartbeats = &mut self.own.heartbeats;
        if heartbeats.len() <= path.index() {
            heartbeats.resize(path.index() + 1, [None; PURPOSES]);
        }
        heartbeats[path.index()][position(purpose)] = Some(number);
    }

    /// Expands the numbers of a frame that arrived at `now`, as [`decode`](super::decode) returns it.
    ///
    /// # Errors
    /// [`WireError::Number`] if it repeats a number that was never sent, or its number would be
    /// negative. Then the frame is to be dropped, and no number is noted.
    #[inline]
    pub fn expand<P>(&mut self, now: Time, frame: &mut Frame<P>) -> Result<(), WireError> {
        let unknown = WireError::Number(frame.sequence);
        let epoch = self.epoch(frame).ok_or(unknown)?;
        let sequence = self.sequence(frame).ok_or(unknown)?;
        if let Body::Report(report) = &mut frame.body {
            report.base = expand(report.base, self.own.data + 1, BITS).ok_or(unknown)?;
        }
        let sent = self.send_time(now, frame.sent).ok_or(unknown)?;
        self.peer.note(&frame.body, epoch, sequence);
        self.peer.clock = Some((sent, now));
        frame.epoch = Epoch(u32::try_from(epoch).map_err(|_| unknown)?);
        frame.sequence = sequence;
        frame.sent = Time(sent.saturating_mul(MICROSECOND));
        Ok(())
    }

    fn epoch<P>(&self, frame: &Frame<P>) -> Option<u64> {
        let truncated = frame.epoch.0.into();
        let expected = match frame.body {
            // A request states the epoch that follows that of this end's data.
            Body::Switch { .. } => Some(self.own.epoch.0.into()),
            _ => self.peer.epoch,
        };
        near(truncated, expected, EPOCH_BITS)
    }

    fn sequence<P>(&self, frame: &Frame<P>) -> Option<u64> {
        let truncated = frame.sequence;
        match &frame.body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } => {
                near(truncated, self.peer.data, BITS)
            }
            Body::Report(_) => near(truncated, self.peer.reports, BITS),
            Body::HeartbeatReply(purpose) => {
                let sent = self.own.heartbeats.get(frame.path.index())?;
                expand(truncated, sent[position(*purpose)]?, BITS)
            }
            Body::Pair { .. } | Body::Switch { .. } | Body::Heartbeat(_) => Some(truncated),
        }
    }

    /// The send time in microseconds: that of the last frame, and what has passed since, is expected.
    fn send_time(&self, now: Time, truncated: Time) -> Option<u64> {
        let passed = |(sent, arrived): (u64, Time)| sent + now.since(arrived).0 / MICROSECOND;
        near(truncated.0 / MICROSECOND, self.peer.clock.map(passed), BITS)
    }

    /// Forgets the numbers of the peer, which has restarted and counts from zero.
    pub fn on_peer_restarted(&mut self) {
        self.peer = Peer::default();
    }
}

impl Peer {
    fn note<P>(&mut self, body: &Body<P>, epoch: u64, sequence: u64) {
        let newest = match body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } => &mut self.data,
            Body::Report(_) => &mut self.reports,
            _ => &mut None,
        };
        *newest = (*newest).max(Some(sequence));
        if !matches!(body, Body::Switch { .. }) {
            self.epoch = self.epoch.max(Some(epoch));
        }
    }
}

/// The number nearest to `expected`; without one, the truncated number itself.
fn near(truncated: u64, expected: Option<u64>, bits: u32) -> Option<u64> {
    expected.map_or(Some(truncated), |expected| {
        expand(truncated, expected, bits)
    })
}

const fn position(purpose: Purpose) -> usize {
    match purpose {
        Purpose::Liveness => 0,
        Purpose::Policy => 1,
        Purpose::Size { .. } => 2,
    }
}

#[cfg(test)]
mod tests;
