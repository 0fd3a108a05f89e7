//! What the links did to the copies of packets, a window of packets after the other.
//!
//! A window holds the packets of a span of time, about a round trip, by their sequence numbers. A link lost a copy if it did
//! not arrive by the time that some later ones of the same link had, or when too long has passed since the window ended:
//! a link that is silent lost all.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::signature::LinkWindow;
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::packet::Ecn;
use crate::time::{Duration, Time};

/// Sequence numbers that a window spans at most: of a greater gap nothing is known but that it is one, such as after a
/// restart of the sender.
const MAX_PACKETS: u64 = 1 << 16;
/// Windows that wait at most; of more the oldest is settled as it is.
pub(crate) const MAX_WINDOWS: usize = 64;
/// In each window the least delay of a link rises by this share of what it is below the mean, so that it follows
/// clocks that drift apart, and the greatest falls by this share of what it is above, so that a single spike does not
/// dwarf all queues after it: with windows of 0.1 s, to a half in 71 s.
const FORGETS: i64 = 1024;

/// How copies are told to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CopiesConfig {
    /// The time whose packets are a window: about a round trip.
    pub window: Duration,
    /// How many later copies of the same link have to arrive before one is lost.
    pub later: u32,
    /// After this time from the end of a window its copies are lost without them.
    pub timeout: Duration,
}

impl Default for CopiesConfig {
    /// The paper's round trip of 0.1 s, three later ones as TCP has it (RFC 5681, 3.2), and two round trips.
    fn default() -> Self {
        Self {
            window: Duration::from_millis(100),
            later: 3,
            timeout: Duration::from_millis(200),
        }
    }
}

/// Why copies cannot be told to be lost like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` must be more than 0")]
pub struct CopiesError(&'static str);

impl CopiesConfig {
    /// Whether copies can be told to be lost like this.
    ///
    /// # Errors
    /// Where a window would hold nothing, or everything would be lost at once.
    pub fn check(&self) -> Result<(), CopiesError> {
        let nothing = [
            ("window", self.window == Duration::ZERO),
            ("later", self.later == 0),
            ("timeout", self.timeout == Duration::ZERO),
        ];
        let first = nothing.iter().find(|(_, is_nothing)| *is_nothing);
        first.map_or(Ok(()), |(name, _)| Err(CopiesError(name)))
    }
}

/// The copies of the newest packets.
#[derive(Clone, Debug)]
pub struct Copies {
    config: CopiesConfig,
    links: Vec<Link>,
    windows: VecDeque<Window>,
    /// One past the highest sequence number seen.
    end: u64,
}

/// A link's delays, in nanoseconds; clocks of both ends need not agree.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    least: Option<i64>,
    /// The greatest above the least.
    greatest: i64,
}

#[derive(Clone, Debug)]
struct Window {
    first: u64,
    /// One past its last packet, once it has ended, and when that was.
    ended: Option<(u64, Time)>,
    begun: Time,
    links: Vec<Arrived>,
}

/// What came of a window on one link.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    copies: u32,
    marked: u32,
    /// The delay of the first, in nanoseconds.
    first_delay: i64,
    /// The sum of what their delays are above that: the delays themselves add up to anything where clocks are days apart.
    above_first: i64,
    /// Copies of packets after the window.
    later: u32,
}

impl Copies {
    /// No copies yet, on so many links.
    #[must_use]
    pub fn new(config: CopiesConfig, links: u8) -> Self {
        Self {
            config,
            links: vec![Link::default(); usize::from(links)],
            windows: VecDeque::new(),
            end: 0,
        }
    }

    /// Takes a copy of a packet, which its sender sent at `sent` by its own clock.
    pub fn on_copy(&mut self, now: Time, path: PathId, sequence: u64, sent: Time, ecn: Ecn) {
        let link = path.index();
        if link >= self.links.len() {
            return;
        }
        self.end_window(now);
        self.begin_window(now, sequence);
        self.end = self.end.max(sequence.saturating_add(1));
        let delay = now.0.wrapping_sub(sent.0).cast_signed();
        if self.windows.front().is_some_and(|w| sequence >= w.first) {
            self.links[link].take(delay);
        }
        for window in &mut self.windows {
            let arrived = &mut window.links[link];
            if window.ended.is_some_and(|(end, _)| sequence >= end) {
                arrived.later = arrived.later.saturating_add(1);
            } else if sequence >= window.first {
                arrived.take(delay, ecn);
            }
        }
    }

    /// The next window of which it is known what each link lost, link by link, in place of what `links` held; says when
    /// its first copy came.
    pub fn take(&mut self, now: Time, links: &mut Vec<LinkWindow>) -> Option<Time> {
        self.end_window(now);
        let is_full = self.windows.len() > MAX_WINDOWS;
        let window = self.windows.front()?;
        let (end, at) = window.ended?;
        let begun = window.begun;
        let is_over = now >= at + self.config.timeout || is_full;
        if !is_over && window.links.iter().any(|l| l.later < self.config.later) {
            return None;
        }
        let sent = u32::try_from(end - window.first).unwrap_or(u32::MAX);
        links.clear();
        let known = window.links.iter().zip(&mut self.links);
        links.extend(known.map(|(arrived, link)| link.window(sent, arrived)));
        self.windows.pop_front();
        Some(begun)
    }

    /// How many windows wait; one more than 64 at most.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.windows.len()
    }

    /// When the present window ends, or the oldest is settled.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let oldest = self.windows.front()?;
        let settled = oldest.ended.map(|(_, at)| Deadline {
            at: at + self.config.timeout,
            why: "copies are lost",
        });
        let open = self.windows.back().filter(|window| window.ended.is_none());
        let ends = open.map(|window| Deadline {
            at: window.begun + self.config.window,
            why: "a window of packets ends",
        });
        Deadline::earlier(settled, ends)
    }

    fn end_window(&mut self, now: Time) {
        let end = self.end;
        if let Some(window) = self.windows.back_mut()
            && window.ended.is_none()
            && now >= window.begun + self.config.window
        {
            window.ended = Some((end, now));
        }
    }

    /// Begins a window with a packet that is in none yet.
    fn begin_window(&mut self, now: Time, sequence: u64) {
        let gap = sequence.checked_sub(self.end);
        let is_open = self.windows.back().is_some_and(|w| w.ended.is_none());
        let first = match gap {
            // A packet of before is in its window, or too old for any.
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
            ended: None,
            begun: now,
            links: vec![Arrived::default(); self.links.len()],
        });
    }
}

impl Arrived {
    fn take(&mut self, delay: i64, ecn: Ecn) {
        if self.copies == 0 {
            self.first_delay = delay;
        }
        self.copies += 1;
        self.marked += u32::from(ecn == Ecn::Ce);
        let above = delay.saturating_sub(self.first_delay);
        self.above_first = self.above_first.saturating_add(above);
    }

    /// The mean of their delays in nanoseconds, if any arrived.
    fn mean_delay(&self) -> Option<i64> {
        let above = self.above_first.checked_div(i64::from(self.copies))?;
        Some(self.first_delay.saturating_add(above))
    }
}

impl Link {
    fn take(&mut self, delay: i64) {
        let least = self.least.map_or(delay, |least| least.min(delay));
        self.least = Some(least);
        self.greatest = self.greatest.max(delay.saturating_sub(least));
    }

    /// What it did to a window of so many packets.
    fn window(&mut self, sent: u32, arrived: &Arrived) -> LinkWindow {
        let mean = arrived.mean_delay().filter(|_| self.greatest > 0);
        LinkWindow {
            sent,
            lost: sent.saturating_sub(arrived.copies),
            marked: arrived.marked,
            queueing: mean.and_then(|mean| self.queueing(mean)),
        }
    }

    /// The share that a window's mean delay has of the greatest; forgets a little of both extremes.
    fn queueing(&mut self, mean: i64) -> Option<f64> {
        let least = self.least.as_mut()?;
        let above = mean.saturating_sub(*least).max(0);
        let share = above as f64 / self.greatest.max(above) as f64;
        *least = least.saturating_add(above / FORGETS);
        self.greatest -= self.greatest.saturating_sub(above).max(0) / FORGETS;
        Some(share)
    }
}

#[cfg(test)]
mod tests;
