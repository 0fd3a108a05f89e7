//! What is known of one path.

use alloc::collections::VecDeque;

use crate::estimate::{Macd, Srtt};
use crate::frame::Epoch;
use crate::time::{Duration, Time};

/// Heartbeats that wait for an answer at most; of more, the oldest is forgotten.
const MAX_OUTSTANDING: usize = 1024;

/// The round-trip time of a path, smoothed in each of the ways that the rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimates {
    pub(super) srtt: Srtt,
    pub(super) macd: Macd,
}

/// A path with its heartbeats.
#[derive(Clone, Debug)]
pub(super) struct Monitored {
    /// Nothing as long as nothing was answered, and once the path is silent.
    estimates: Option<Estimates>,
    /// When the first of what was sent since the last answer was sent.
    unanswered: Option<Time>,
    /// Whether it answered nothing for the time-out.
    silent: bool,
    last_data: Option<Time>,
    /// When the next heartbeat is due.
    pub(super) next: Time,
    /// Numbers of each epoch start above those of earlier ones, so that a late answer to an earlier
    /// policy matches none.
    next_id: u64,
    outstanding: VecDeque<(u64, Time)>,
}

impl Monitored {
    /// A path of which nothing is known.
    pub(super) fn new(epoch: Epoch) -> Self {
        Self {
            estimates: None,
            unanswered: None,
            silent: false,
            last_data: None,
            next: Time::MAX,
            next_id: u64::from(epoch.0) << 32,
            outstanding: VecDeque::new(),
        }
    }

    /// Forgets what was measured, and what waits for an answer; heartbeats keep their times.
    pub(super) fn forget(&mut self) {
        *self = Self {
            next: self.next,
            next_id: self.next_id,
            ..Self::new(Epoch::default())
        };
    }

    pub(super) fn estimates(&self) -> Option<&Estimates> {
        self.estimates.as_ref()
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether it carried data within `span` before `now`.
    pub(super) fn carries_data(&self, now: Time, span: Duration) -> bool {
        self.last_data
            .is_some_and(|sent| now.since(sent) < span || sent > now)
    }

    /// Notes a data packet; if data is acknowledged, an answer is expected.
    pub(super) fn send_data(&mut self, now: Time, acknowledges: bool) {
        self.last_data = Some(now);
        if acknowledges {
            self.unanswered.get_or_insert(now);
        }
    }

    /// The number of a heartbeat that is sent now.
    pub(super) fn send_heartbeat(&mut self, now: Time) -> u64 {
        self.unanswered.get_or_insert(now);
        if self.outstanding.len() == MAX_OUTSTANDING {
            self.outstanding.pop_front();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.outstanding.push_back((id, now));
        id
    }

    /// Takes an answer that came after `rtt`.
    pub(super) fn answer(&mut self, rtt: Duration) {
        self.unanswered = None;
        self.silent = false;
        match &mut self.estimates {
            Some(known) => {
                known.srtt.update(rtt);
                known.macd.update(rtt);
            }
            None => {
                self.estimates = Some(Estimates {
                    srtt: Srtt::new(rtt),
                    macd: Macd::new(rtt),
                });
            }
        }
    }

    /// Takes the answer to a heartbeat; false if none of this number waits for one.
    pub(super) fn reply(&mut self, now: Time, id: u64) -> bool {
        let Ok(position) = self.outstanding.binary_search_by_key(&id, |(id, _)| *id) else {
            return false;
        };
        let Some((_, sent)) = self.outstanding.remove(position) else {
            return false;
        };
        self.answer(now.since(sent));
        true
    }

    /// When it falls silent, unless something is answered before.
    pub(super) fn falls_silent(&self, timeout: Duration) -> Option<Time> {
        let since = self.unanswered.filter(|_| !self.silent)?;
        Some(since + timeout)
    }

    /// Forgets what was measured if nothing was answered for the time-out.
    pub(super) fn expire(&mut self, now: Time, timeout: Duration) {
        if self.falls_silent(timeout).is_some_and(|at| at <= now) {
            self.silent = true;
            self.estimates = None;
        }
    }
}
