//! The measurements of one path.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::estimate::{Growth, Macd, Srtt};
use crate::frame::Epoch;
use crate::time::{Duration, Time};

/// The maximum number of unanswered heartbeats; beyond it the oldest is discarded.
const MAX_OUTSTANDING: usize = 1024;

/// The distance of the first numbers of two epochs: of 2^24 numbers that frames distinguish, those of
/// four epochs in turn are a quarter apart.
const EPOCH_NUMBERS: u64 = (1 << 32) + (1 << 22);

/// The round-trip time of a path, smoothed by each method that the rules use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimates {
    pub(super) srtt: Srtt,
    pub(super) macd: Macd,
    /// The growth, if the rule regards it; boxed, since most do not.
    pub(super) growth: Option<Box<Growth>>,
}

/// A path with its heartbeats and estimates.
#[derive(Clone, Debug)]
pub(super) struct MonitoredPath {
    /// `None` before the first answer and while the path is silent.
    estimates: Option<Estimates>,
    /// The send time of the first packet or heartbeat since the last answer; `Time::MAX` for none.
    unanswered: Time,
    /// Whether nothing was answered for the timeout.
    silent: bool,
    /// The send time of the last packet; `Time::MAX` for none.
    last_data: Time,
    /// The time of the next heartbeat; `Time::MAX` before the first packet.
    pub(super) next_heartbeat: Time,
    /// The numbers of an epoch start above those of earlier ones, also in the bits that frames
    /// carry, so that a late answer to an earlier policy matches none.
    next_id: u64,
    outstanding: VecDeque<(u64, Time)>,
}

impl MonitoredPath {
    /// A path without measurements.
    pub(super) fn new(epoch: Epoch) -> Self {
        Self {
            estimates: None,
            unanswered: Time::MAX,
            silent: false,
            last_data: Time::MAX,
            next_heartbeat: Time::MAX,
            next_id: u64::from(epoch.0) * EPOCH_NUMBERS,
            outstanding: VecDeque::new(),
        }
    }

    /// Discards the estimates and the unanswered heartbeats, and keeps the heartbeat schedule.
    pub(super) fn discard_measurements(&mut self) {
        *self = Self {
            next_heartbeat: self.next_heartbeat,
            next_id: self.next_id,
            ..Self::new(Epoch::default())
        };
    }

    /// Discards the measurements, and ends the heartbeats.
    pub(super) fn pause(&mut self) {
        self.discard_measurements();
        self.next_heartbeat = Time::MAX;
    }

    pub(super) fn estimates(&self) -> Option<&Estimates> {
        self.estimates.as_ref()
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether the path carried data within `span` before `now`.
    pub(super) fn carries_data(&self, now: Time, span: Duration) -> bool {
        let sent = self.last_data;
        sent != Time::MAX && (now.since(sent) < span || sent > now)
    }

    /// Records a data packet, which expects an answer if data is acknowledged.
    pub(super) fn send_data(&mut self, now: Time, acknowledges: bool) {
        self.last_data = now;
        if acknowledges {
            self.unanswered = self.unanswered.min(now);
        }
    }

    /// Records a heartbeat sent at `now` and returns its number.
    pub(super) fn send_heartbeat(&mut self, now: Time) -> u64 {
        self.unanswered = self.unanswered.min(now);
        if self.outstanding.len() == MAX_OUTSTANDING {
            self.outstanding.pop_front();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.outstanding.push_back((id, now));
        id
    }

    /// Updates the estimates with an answer that arrived after `rtt`; with `window`, also the growth.
    pub(super) fn handle_answer(&mut self, now: Time, rtt: Duration, window: Option<Duration>) {
        self.unanswered = Time::MAX;
        self.silent = false;
        match &mut self.estimates {
            Some(known) => {
                known.srtt.update(rtt);
                known.macd.update(rtt);
                if let (Some(growth), Some(window)) = (&mut known.growth, window) {
                    growth.update(now, rtt, window);
                }
            }
            None => {
                self.estimates = Some(Estimates {
                    srtt: Srtt::new(rtt),
                    macd: Macd::new(rtt),
                    growth: window.map(|_| Box::new(Growth::new(now, rtt))),
                });
            }
        }
    }

    /// Whether a heartbeat has no answer yet, since less than `timeout`.
    pub(super) fn awaits_reply(&self, now: Time, timeout: Duration) -> bool {
        let last = self.outstanding.back();
        last.is_some_and(|(_, sent)| now < *sent + timeout)
    }

    /// Handles the answer to a heartbeat; returns false if no unanswered heartbeat has this number.
    pub(super) fn handle_reply(&mut self, now: Time, id: u64, window: Option<Duration>) -> bool {
        let Ok(position) = self.outstanding.binary_search_by_key(&id, |(id, _)| *id) else {
            return false;
        };
        let Some((_, sent)) = self.outstanding.remove(position) else {
            return false;
        };
        self.handle_answer(now, now.since(sent), window);
        true
    }

    /// The time at which the path becomes silent without an answer before.
    pub(super) fn silence_deadline(&self, timeout: Duration) -> Option<Time> {
        let awaits = self.unanswered != Time::MAX && !self.silent;
        awaits.then(|| self.unanswered + timeout)
    }

    /// Marks the path silent and discards its estimates if nothing was answered for `timeout`.
    pub(super) fn handle_timeout(&mut self, now: Time, timeout: Duration) {
        if self.silence_deadline(timeout).is_some_and(|at| at <= now) {
            self.silent = true;
            self.estimates = None;
        }
    }
}
