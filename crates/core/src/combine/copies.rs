//! Losses, marks and delays of packet copies per link, in consecutive windows of packets.
//!
//! A window is the range of sequence numbers of a span of time, about a round trip. A copy is lost
//! if it has not arrived when some later copies on the same link have, or when a timeout after the
//! end of the window has passed. A silent link has lost everything.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::signature::LinkWindow;
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::packet::Ecn;
use crate::time::{Duration, Time};

/// The maximum number of sequence numbers in a window. A larger gap, such as after a restart of the
/// sender, resets all windows.
const MAX_PACKETS: u64 = 1 << 16;
/// The maximum number of buffered windows; beyond it the oldest is evaluated as it is.
pub(crate) const MAX_WINDOWS: usize = 64;
/// The time constant, in windows, with which the minimum and maximum delay of a link decay towards
/// the mean. The minimum then follows clock drift, and the effect of a delay spike halves within 71
/// s at windows of 0.1 s.
const DECAY_WINDOWS: i64 = 1024;

/// Loss detection of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CopiesConfig {
    /// The duration of a window: about a round trip.
    pub window: Duration,
    /// The number of later copies on the same link after which a missing copy is lost.
    pub later: u32,
    /// The time after the end of a window at which its missing copies are lost.
    pub timeout: Duration,
}

impl Default for CopiesConfig {
    /// The paper's round trip of 0.1 s, three later copies as in TCP (RFC 5681, 3.2), and two round
    /// trips.
    fn default() -> Self {
        Self {
            window: Duration::from_millis(100),
            later: 3,
            timeout: Duration::from_millis(200),
        }
    }
}

/// An invalid [`CopiesConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` must be more than 0")]
pub struct CopiesError(&'static str);

impl CopiesConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a field is zero.
    pub fn check(&self) -> Result<(), CopiesError> {
        let fields = [
            ("window", self.window == Duration::ZERO),
            ("later", self.later == 0),
            ("timeout", self.timeout == Duration::ZERO),
        ];
        let first = fields.iter().find(|(_, is_zero)| *is_zero);
        first.map_or(Ok(()), |(name, _)| Err(CopiesError(name)))
    }
}

/// Tracks the copies of the newest packets.
#[derive(Clone, Debug)]
pub struct Copies {
    config: CopiesConfig,
    links: Vec<Link>,
    windows: VecDeque<Window>,
    /// One past the highest sequence number seen.
    end: u64,
}

/// The delays of a link in nanoseconds; the clocks of sender and receiver may differ.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    min: Option<i64>,
    /// The maximum minus the minimum.
    range: i64,
}

/// The end of a window.
#[derive(Clone, Copy, Debug)]
struct WindowEnd {
    /// One past the last sequence number of the window.
    sequence: u64,
    at: Time,
}

#[derive(Clone, Debug)]
struct Window {
    first: u64,
    start: Time,
    end: Option<WindowEnd>,
    links: Vec<Arrivals>,
    /// The number of packets that were delivered.
    delivered: u32,
    /// Those of them that had a mark.
    delivered_marks: u32,
}

/// An evaluated window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenWindow {
    /// The arrival time of its first copy.
    pub start: Time,
    /// The number of packets of which no copy was delivered: their receivers miss them.
    pub undelivered: u32,
    /// Whether the copies exceed the delivered packets by a quarter at least. Otherwise only one link
    /// delivers, or the sender uses another policy, and copies mask nothing.
    pub has_copies: bool,
}

/// The copies of a window that arrived on one link.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    copies: u32,
    marked: u32,
    /// The delay of the first copy, in nanoseconds.
    first_delay: i64,
    /// The sum of the differences from `first_delay`; the sum of the delays would overflow if the
    /// clocks are days apart.
    above_first: i64,
    /// The number of copies of packets after the window.
    later: u32,
}

impl Copies {
    /// Creates a tracker for `links` links.
    #[must_use]
    pub fn new(config: CopiesConfig, links: u8) -> Self {
        Self {
            config,
            links: vec![Link::default(); usize::from(links)],
            windows: VecDeque::new(),
            end: 0,
        }
    }

    /// Records a copy that its sender sent at `sent` by its own clock.
    pub fn on_copy(&mut self, now: Time, path: PathId, sequence: u64, sent: Time, ecn: Ecn) {
        let link = path.index();
        if link >= self.links.len() {
            return;
        }
        self.end_window(now);
        self.open_window(now, sequence);
        self.end = self.end.max(sequence.saturating_add(1));
        let delay = now.0.wrapping_sub(sent.0).cast_signed();
        if self.windows.front().is_some_and(|w| sequence >= w.first) {
            self.links[link].record(delay);
        }
        for window in &mut self.windows {
            let arrivals = &mut window.links[link];
            if window.end.is_some_and(|end| sequence >= end.sequence) {
                arrivals.later = arrivals.later.saturating_add(1);
            } else if sequence >= window.first {
                arrivals.record(delay, ecn);
            }
        }
    }

    /// Records that this packet was delivered. One with a mark, of its sender's network or of the
    /// link whose copy came first, is seen by its receiver, which reacts to it: copies mask none of
    /// it.
    pub fn on_delivered(&mut self, sequence: u64, is_marked: bool) {
        let is_in = |window: &&mut Window| {
            window.first <= sequence && window.end.is_none_or(|end| sequence < end.sequence)
        };
        if let Some(window) = self.windows.iter_mut().find(is_in) {
            window.delivered = window.delivered.saturating_add(1);
            window.delivered_marks += u32::from(is_marked);
        }
    }

    /// Whether frames have arrived on at least two links. Until then the sender may use a policy
    /// without copies.
    #[must_use]
    pub fn have_arrived_on_two_links(&self) -> bool {
        let carriers = self.links.iter().filter(|link| link.min.is_some());
        carriers.take(2).count() == 2
    }

    /// Takes the next completely evaluated window: replaces `links` by one entry per link.
    pub fn take(&mut self, now: Time, links: &mut Vec<LinkWindow>) -> Option<TakenWindow> {
        self.end_window(now);
        let is_full = self.windows.len() > MAX_WINDOWS;
        let window = self.windows.front()?;
        let end = window.end?;
        let is_over = now >= end.at + self.config.timeout || is_full;
        if !is_over && window.links.iter().any(|l| l.later < self.config.later) {
            return None;
        }
        let sent = u32::try_from(end.sequence - window.first).unwrap_or(u32::MAX);
        links.clear();
        let arrivals = window.links.iter().zip(&mut self.links);
        let marks = window.delivered_marks;
        links.extend(arrivals.map(|(arrivals, link)| link.window(sent, arrivals, marks)));
        let copies: u64 = window.links.iter().map(|link| u64::from(link.copies)).sum();
        let taken = TakenWindow {
            start: window.start,
            undelivered: sent.saturating_sub(window.delivered),
            has_copies: 4 * copies >= 5 * u64::from(window.delivered),
        };
        self.windows.pop_front();
        Some(taken)
    }

    /// The number of buffered windows; at most 65.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.windows.len()
    }

    /// The time at which the current window ends or the oldest one times out.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let oldest = self.windows.front()?;
        let timeout = oldest.end.map(|end| Deadline {
            at: end.at + self.config.timeout,
            why: "copies are lost",
        });
        let open = self.windows.back().filter(|window| window.end.is_none());
        let ends = open.map(|window| Deadline {
            at: window.start + self.config.window,
            why: "a window of packets ends",
        });
        Deadline::earlier(timeout, ends)
    }

    fn end_window(&mut self, now: Time) {
        let end = self.end;
        if let Some(window) = self.windows.back_mut()
            && window.end.is_none()
            && now >= window.start + self.config.window
        {
            window.end = Some(WindowEnd {
                sequence: end,
                at: now,
            });
        }
    }

    /// Opens a window for a packet that belongs to none yet.
    fn open_window(&mut self, now: Time, sequence: u64) {
        let gap = sequence.checked_sub(self.end);
        let is_open = self.windows.back().is_some_and(|w| w.end.is_none());
        let first = match gap {
            // An older packet is in its window, or too old for any.
            None => return,
            Some(gap) if gap >= MAX_PACKETS || self.end == 0 => {
                self.windows.clear();
                // A sender that was restarted may have another clock.
                self.links.fill(Link::default());
                sequence
            }
            Some(_) if is_open => return,
            Some(_) => self.end,
        };
        self.windows.push_back(Window {
            first,
            end: None,
            start: now,
            links: vec![Arrivals::default(); self.links.len()],
            delivered: 0,
            delivered_marks: 0,
        });
    }
}

impl Arrivals {
    fn record(&mut self, delay: i64, ecn: Ecn) {
        if self.copies == 0 {
            self.first_delay = delay;
        }
        self.copies += 1;
        self.marked += u32::from(ecn == Ecn::Ce);
        let above = delay.saturating_sub(self.first_delay);
        self.above_first = self.above_first.saturating_add(above);
    }

    /// The mean delay in nanoseconds, if any copy arrived.
    fn mean_delay(&self) -> Option<i64> {
        let above = self.above_first.checked_div(i64::from(self.copies))?;
        Some(self.first_delay.saturating_add(above))
    }
}

impl Link {
    fn record(&mut self, delay: i64) {
        let min = self.min.map_or(delay, |min| min.min(delay));
        self.min = Some(min);
        self.range = self.range.max(delay.saturating_sub(min));
    }

    /// The losses, marks and queueing of a window of `sent` packets, of which `delivered_marks` were
    /// delivered with a mark.
    fn window(&mut self, sent: u32, arrivals: &Arrivals, delivered_marks: u32) -> LinkWindow {
        let mean = arrivals.mean_delay().filter(|_| self.range > 0);
        LinkWindow {
            sent,
            lost: sent.saturating_sub(arrivals.copies),
            marked: arrivals.marked.saturating_sub(delivered_marks),
            queueing: mean.and_then(|mean| self.queueing(mean)),
        }
    }

    /// The queueing delay of a window as a share of the maximum; lets minimum and maximum decay.
    fn queueing(&mut self, mean: i64) -> Option<f64> {
        let min = self.min.as_mut()?;
        let above = mean.saturating_sub(*min).max(0);
        let share = above as f64 / self.range.max(above) as f64;
        *min = min.saturating_add(above / DECAY_WINDOWS);
        self.range -= self.range.saturating_sub(above).max(0) / DECAY_WINDOWS;
        Some(share)
    }
}

#[cfg(test)]
mod tests;
