//! Random early detection (Floyd and Jacobson 1993; RFC 2309), as ns-2 2.35 has it (`red.cc`).
//!
//! *Mean queue.* With every arrival, ave = (1 - w) ave + w q, where q is what waits, without the packet in
//! transmission. After an idle time ave decays as if as many mean packets as the line carries in that time
//! had found the queue empty.
//!
//! *Probability.* From 0 at `min_th` to `max_p` at `max_th`, and on to 1 at twice `max_th` if `gentle`. It is
//! made uniform with the count of packets since the last drop or mark: p / (1 - count p), with `wait` 0 until
//! count p is 1 and then p / (2 - count p). Where bytes are counted, count is their number in mean packets, rounded
//! down, and a packet of another size is dropped with a probability in proportion.
//!
//! *What is spared.* A packet that finds at most one packet (or byte) waiting, and the first that finds ave above
//! `min_th`.
//!
//! *Marks.* Below `max_th` a packet that is to be dropped is marked, if that is wanted and it can be; above
//! it is dropped. In ns-2 this bound is on the probability (`mark_p_` .1), which is the same for the default
//! `max_p`. The limit counts the packet in transmission; in ns-2 (`limit_`) it does not.

use alloc::format;

use polypath_core::math::{exp, floor, pow};
use polypath_core::red::default_min_th;
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Time;

use super::backlog::Backlog;
use super::{Arrival, Queue, QueueLimit, RedConfig, Verdict};
use crate::config::LinkConfig;
use crate::link::DropReason;

/// The least round-trip time for which a weight is made where none is given, in seconds.
const MIN_RTT: f64 = 0.1;

#[derive(Clone, Debug)]
pub(crate) struct Red {
    limit: QueueLimit,
    curve: Curve,
    average: Average,
    spacing: Spacing,
    ecn: bool,
    /// Whether the packet before found a mean queue above the lower threshold.
    above: bool,
    backlog: Backlog,
    stream: Stream,
}

/// The probability of a drop by the mean queue.
#[derive(Clone, Copy, Debug)]
struct Curve {
    min: f64,
    max: f64,
    max_p: f64,
    gentle: bool,
}

/// The mean of what waits, in packets or bytes.
#[derive(Clone, Copy, Debug)]
struct Average {
    value: f64,
    weight: f64,
    /// Mean packets a second that the line carries.
    packets_per_second: f64,
}

/// What passed since the last drop or mark.
#[derive(Clone, Copy, Debug)]
struct Spacing {
    packets: u32,
    bytes: u64,
    /// The mean packet, where bytes are counted.
    unit: Option<u32>,
    wait: bool,
}

impl Red {
    pub(crate) fn new(red: &RedConfig, link: &LinkConfig, seed: Seed, name: &str) -> Self {
        let mean_packet = red.mean_packet.0 as f64;
        let packets_per_second = link.rate.mean().as_f64() / (8.0 * mean_packet);
        let counts_bytes = matches!(red.limit, QueueLimit::Bytes(_));
        let scale = if counts_bytes { mean_packet } else { 1.0 };
        let min = (red.min_th).unwrap_or_else(|| default_min_th(link.rate.mean(), red.mean_packet));
        let weight = red.weight.unwrap_or_else(|| {
            let rtt = 3.0 * (link.delay.as_secs_f64() + 1.0 / packets_per_second);
            1.0 - exp(-1.0 / (10.0 * rtt.max(MIN_RTT) * packets_per_second))
        });
        Self {
            limit: red.limit,
            curve: Curve {
                min: min * scale,
                max: red.max_th.unwrap_or(3.0 * min) * scale,
                max_p: red.max_p,
                gentle: red.gentle,
            },
            average: Average {
                value: 0.0,
                weight,
                packets_per_second,
            },
            spacing: Spacing {
                packets: 0,
                bytes: 0,
                unit: counts_bytes.then(|| u32::try_from(red.mean_packet.0).unwrap_or(u32::MAX)),
                wait: red.wait,
            },
            ecn: red.ecn,
            above: false,
            backlog: Backlog::default(),
            stream: seed.stream(&format!("link/{name}/red")),
        }
    }

    /// Packets that hold a place after `now`.
    pub(crate) fn len(&self, now: Time) -> usize {
        self.backlog.len(now)
    }

    /// What waits, in the unit of the thresholds.
    fn waiting(&self) -> f64 {
        match self.spacing.unit {
            Some(_) => self.backlog.bytes_waiting() as f64,
            None => self.backlog.packets_waiting() as f64,
        }
    }

    /// Whether a packet of `size` bytes that finds a mean queue above the lower threshold is to go.
    fn picks(&mut self, size: u32) -> bool {
        let uniform = self
            .spacing
            .probability(self.curve.at(self.average.value), size);
        let picked = self.stream.uniform() < uniform;
        if picked {
            self.spacing.restart();
        }
        picked
    }

    fn early(&mut self, arrival: &Arrival, waiting: f64) -> Verdict {
        if self.average.value < self.curve.min || waiting <= 1.0 {
            self.above = false;
            return Verdict::Take;
        }
        if !core::mem::replace(&mut self.above, true) {
            self.spacing.restart();
            self.spacing.count(arrival.size);
            return Verdict::Take;
        }
        if !self.picks(arrival.size) {
            return Verdict::Take;
        }
        let marks = self.ecn && arrival.ecn_capable && self.average.value < self.curve.max;
        if marks {
            return Verdict::Mark;
        }
        Verdict::Drop(DropReason::Early)
    }
}

impl Queue for Red {
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.backlog.expire(arrival.at);
        let waiting = self.waiting();
        let idle_since = (self.backlog.packets() == 0).then(|| self.backlog.last_finish());
        self.average.update(waiting, idle_since, arrival.at);
        self.spacing.count(arrival.size);
        let verdict = self.early(arrival, waiting);
        let (packets, bytes) = (self.backlog.packets(), self.backlog.bytes());
        match self.limit.refuses(packets, bytes, arrival.size) {
            Some(reason) if !matches!(verdict, Verdict::Drop(_)) => {
                self.spacing.restart();
                Verdict::Drop(reason)
            }
            _ => verdict,
        }
    }

    fn take(&mut self, finish: Time, size: u32) {
        self.backlog.push(finish, size);
    }

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.backlog.turns_after(now)
    }
}

impl Average {
    /// Takes in that a packet found `waiting`, and the line idle since a point in time or not at all.
    fn update(&mut self, waiting: f64, idle_since: Option<Time>, now: Time) {
        if let Some(since) = idle_since {
            let idle = now.since(since).as_secs_f64();
            let missed = floor(idle * self.packets_per_second);
            self.value *= pow(1.0 - self.weight, missed);
        }
        self.value += self.weight * (waiting - self.value);
    }
}

impl Curve {
    fn at(&self, average: f64) -> f64 {
        let p = if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle {
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        } else {
            1.0
        };
        p.min(1.0)
    }
}

impl Spacing {
    fn count(&mut self, size: u32) {
        self.packets = self.packets.saturating_add(1);
        self.bytes += u64::from(size);
    }

    fn restart(&mut self) {
        self.packets = 0;
        self.bytes = 0;
    }

    /// The probability `p`, made uniform over the packets since the last drop.
    fn probability(&self, p: f64, size: u32) -> f64 {
        let count = match self.unit {
            Some(unit) => (self.bytes / u64::from(unit)) as f64,
            None => f64::from(self.packets),
        };
        let passed = count * p;
        let uniform = match (self.wait, passed) {
            (true, ..1.0) => 0.0,
            (true, ..2.0) => p / (2.0 - passed),
            (false, ..1.0) => p / (1.0 - passed),
            _ => 1.0,
        };
        match self.unit {
            Some(unit) if uniform < 1.0 => uniform * f64::from(size) / f64::from(unit),
            _ => uniform,
        }
    }
}
