//! The full numbers of truncated fields.

use alloc::vec::Vec;

use super::{EPOCH_BITS, MICROSECOND, WireError};
use crate::estimate::Minimum;
use crate::frame::{Body, Epoch, Frame, PathId, Purpose};
use crate::spacing::{Feedback, Message};
use crate::time::Time;
use crate::truncated::{BEHIND, BITS, expand, expand_up_to};

/// The purposes of a heartbeat, each with numbers of its own.
const PURPOSES: usize = 3;
/// The number of epochs below the newest that are expanded as such.
const EPOCHS_BEHIND: u32 = (1 << (EPOCH_BITS - 1)) - 1;

/// A frame of the peer is not sent more than this after it arrives, by the clocks whose difference
/// the fastest frame of the last seconds shows, in microseconds: a path may become faster by as
/// much.
const FASTER: i64 = 4_000_000;

/// The numbers of a connection, by which the truncated ones of received frames are expanded.
///
/// What the peer counts is expanded from a little below the newest that arrived ([`BEHIND`]); what
/// it repeats, by a reply or a report, up to the newest that was sent to it. The first number of a
/// peer has no other near it and is taken as it is. Numbers of data, and epochs, may therefore
/// differ by a constant from those of a peer that has counted before this end started; they are
/// compared with each other only. So they may after 2^24 numbers were lost in a row: then those
/// that follow are expanded too low, but not below the ones before, and at most [`BEHIND`] more are
/// dropped.
///
/// A send time is found if a frame is up to 12 s later, or 4 s faster, than the fastest of the last
/// 5 s. An epoch is found if it follows within 128 switches. Numbers of pairs, heartbeats, switch
/// requests and closed paths stay truncated: they are only compared for equality, or repeated.
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
    epoch: Option<Epoch>,
    data: Option<u64>,
    reports: Option<u64>,
    /// The minimum of arrival time minus send time, of two clocks, in microseconds.
    delay: Minimum,
}

impl Numbers {
    /// Takes note of a frame that is sent.
    #[inline]
    pub fn on_sent<P>(&mut self, frame: &Frame<P>) {
        if !matches!(frame.body, Body::Switch { .. }) {
            self.own.epoch = frame.epoch;
        }
        match &frame.body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } | Body::Fragment { .. } => {
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

    /// Expands the numbers of a frame that arrived at `now`, as [`decode`](super::decode) returns
    /// it.
    ///
    /// # Errors
    /// [`WireError::Number`] if it replies to nothing that was sent, or a number has more bits than
    /// its field. Then the frame is to be dropped, and no number is noted.
    #[inline]
    pub fn expand<P>(&mut self, now: Time, frame: &mut Frame<P>) -> Result<(), WireError> {
        let unknown = WireError::Number(frame.sequence);
        let epoch = self.epoch(frame).ok_or(unknown)?;
        let sequence = self.sequence(frame).ok_or(unknown)?;
        if let Body::Report(report) = &mut frame.body {
            let end = self.own.data.saturating_add(1);
            report.base = expand_up_to(report.base, end).ok_or(unknown)?;
        }
        if let Body::Spacing(message) = &mut frame.body
            && let Message::Feedback(feedback) = &mut **message
        {
            self.expand_feedback(now, feedback).ok_or(unknown)?;
        }
        frame.sent = self.send_time(now, frame.sent);
        self.peer.note(&frame.body, epoch, sequence);
        frame.epoch = epoch;
        frame.sequence = sequence;
        Ok(())
    }

    /// Replaces the numbers and the time of a feedback, which the peer knows from truncated ones, by
    /// those of this end that have the same lowest bits.
    fn expand_feedback(&self, now: Time, feedback: &mut Feedback) -> Option<()> {
        let end = self.own.data.saturating_add(1);
        feedback.end = expand_up_to(feedback.end, end)?;
        feedback.lost_end = expand_up_to(feedback.lost_end, end)?;
        let echo = expand_up_to(feedback.echo.0 / MICROSECOND, now.0 / MICROSECOND)?;
        feedback.echo = Time(echo.saturating_mul(MICROSECOND));
        Some(())
    }

    fn epoch<P>(&self, frame: &Frame<P>) -> Option<Epoch> {
        let newest = match frame.body {
            // A request states the epoch that follows that of this end's data.
            Body::Switch { .. } => Some(self.own.epoch),
            _ => self.peer.epoch,
        };
        let Some(Epoch(newest)) = newest else {
            return Some(frame.epoch);
        };
        let lowest = newest.saturating_sub(EPOCHS_BEHIND);
        let epoch = expand(frame.epoch.0.into(), lowest.into(), EPOCH_BITS)?;
        u32::try_from(epoch).ok().map(Epoch)
    }

    fn sequence<P>(&self, frame: &Frame<P>) -> Option<u64> {
        let truncated = frame.sequence;
        match &frame.body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } | Body::Fragment { .. } => {
                following(truncated, self.peer.data)
            }
            Body::Report(_) => following(truncated, self.peer.reports),
            Body::HeartbeatReply(purpose) => {
                let sent = self.own.heartbeats.get(frame.path.index())?;
                expand_up_to(truncated, sent[position(*purpose)]?)
            }
            Body::Pair { .. }
            | Body::Switch { .. }
            | Body::Heartbeat(_)
            | Body::PathClosed { .. }
            | Body::Spacing(_) => Some(truncated),
        }
    }

    /// The send time of a frame that arrives at `now`. The first one is that nearest to `now` which
    /// is not negative, so that delays are exact if both clocks have the same time. A frame that was
    /// sent earlier than the first may be negative nevertheless: it then counts as sent at zero.
    fn send_time(&mut self, now: Time, truncated: Time) -> Time {
        const WINDOW: i64 = 1 << BITS;
        let arrival = (now.0 / MICROSECOND).cast_signed();
        let latest = match self.peer.delay.value() {
            Some(delay) => arrival.saturating_sub(delay).saturating_add(FASTER),
            None => arrival + WINDOW / 2,
        };
        let truncated = (truncated.0 / MICROSECOND).cast_signed();
        let mut sent = latest - latest.saturating_sub(truncated).rem_euclid(WINDOW);
        // The peer has run for longer than this end. At zero, all frames until its clock has wrapped
        // would have been sent at the same time.
        if sent < 0 && self.peer.delay.value().is_none() {
            sent += WINDOW;
        }
        self.peer.delay.add(now, arrival.saturating_sub(sent));
        Time(sent.max(0).unsigned_abs().saturating_mul(MICROSECOND))
    }

    /// Forgets the numbers of the peer, which has restarted and counts from zero.
    pub fn on_peer_restarted(&mut self) {
        self.peer = Peer::default();
    }
}

impl Peer {
    fn note<P>(&mut self, body: &Body<P>, epoch: Epoch, sequence: u64) {
        match body {
            Body::Data(_) | Body::Reported { .. } | Body::Probe { .. } | Body::Fragment { .. } => {
                self.data = self.data.max(Some(sequence));
            }
            Body::Report(_) => self.reports = self.reports.max(Some(sequence)),
            _ => {}
        }
        if !matches!(body, Body::Switch { .. }) {
            self.epoch = self.epoch.max(Some(epoch));
        }
    }
}

/// The number that follows `newest`, or is at most [`BEHIND`] below; without one, the truncated
/// number itself.
fn following(truncated: u64, newest: Option<u64>) -> Option<u64> {
    let lowest = newest.map_or(0, |newest| newest.saturating_sub(BEHIND));
    expand(truncated, lowest, BITS)
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
