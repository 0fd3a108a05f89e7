//! Random early detection (Floyd and Jacobson 1993; RFC 2309), as ns-2 2.35 has it (`red.cc`).
//!
//! *Mean queue.* With every arrival, ave = (1 - w) ave + w q, where q is the queue without the
//! packet in transmission. After an idle time ave decays as if as many mean packets as the line
//! carries in that time had found the queue empty.
//!
//! *Probability.* It rises from 0 at `min_th` to `max_p` at `max_th`, and on to 1 at twice `max_th`
//! if `gentle`. The count of packets since the last drop or mark makes the drops uniform: p / (1 -
//! count p), and with `wait` 0 until count p is 1 and then p / (2 - count p). Where bytes are
//! counted, count is their number in mean packets, rounded down, and the probability is
//! proportional to the size of the packet.
//!
//! *Exceptions.* A packet that finds at most one packet (or byte) waiting is not dropped early, nor
//! is the first that finds ave above `min_th`.
//!
//! *Marks.* Below `max_th` an ECN-capable packet is marked instead of dropped if `ecn` is set;
//! above it is dropped. In ns-2 this bound is on the probability (`mark_p_` .1), which is the same
//! for the default `max_p`. The limit counts the packet in transmission; in ns-2 (`limit_`) it does
//! not.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use polypath_core::math::{exp, floor, pow};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};

use super::backlog::Backlog;
use super::discipline::{Arrival, ArrivalQueue, Verdict};
use super::limit::QueueLimit;
use crate::config::LinkConfig;
use crate::config_error::{ConfigError, packet_size, positive, probability};
use crate::drop_reason::DropReason;

/// The minimum round-trip time of the default weight, in seconds.
const MIN_RTT: f64 = 0.1;
/// The minimum default of `min_th`, in packets.
const MIN_THRESHOLD: f64 = 5.0;
/// The queueing delay of the default `min_th`, in seconds (`targetdelay_`).
const TARGET_DELAY: f64 = 0.005;

/// Random early detection, with the names and defaults of ns-2 2.35.
///
/// With a limit in packets the queue is counted in packets of any size (`bytes_` and
/// `queue_in_bytes_` false), with a limit in bytes in bytes (both true, ns-2's default).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct RedConfig {
    /// The limit of the queue; a limit in bytes counts the mean queue in bytes.
    pub limit: QueueLimit,
    /// The mean queue above which packets are dropped, in packets (with a limit in bytes, of the
    /// mean size); by default 5 or what the line carries in 2.5 ms, whichever is more (`thresh_`
    /// 0).
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub min_th: Option<f64>,
    /// The mean queue at which the probability is `max_p`, in packets; by default 3 `min_th`
    /// (`maxthresh_` 0).
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub max_th: Option<f64>,
    /// The probability of a drop at `max_th` (1 / `linterm_`).
    #[cfg_attr(
        feature = "serde",
        serde(default = "default_max_p"),
        schemars(range(min = 0.0, max = 1.0))
    )]
    pub max_p: f64,
    /// The weight of the current queue in the mean; by default that of a time constant of ten
    /// round-trip times (`q_weight_` -1).
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none"),
        schemars(range(min = 0.0, max = 1.0))
    )]
    pub weight: Option<f64>,
    /// Whether the probability rises from `max_p` to 1 between `max_th` and twice `max_th`;
    /// otherwise it is 1 from `max_th` on.
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub gentle: bool,
    /// Whether 1/p packets pass after a drop before the next is possible (`wait_`; 1993: no).
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub wait: bool,
    /// Whether ECN-capable packets are marked instead of dropped, below `max_th` (`setbit_`).
    #[cfg_attr(feature = "serde", serde(default))]
    pub ecn: bool,
    /// The mean size of a packet, which determines default thresholds, the default weight and the
    /// decay in idle times; by default 500 B as in ns-2, whatever `tcp.segment` is.
    #[cfg_attr(feature = "serde", serde(default = "default_mean_packet"))]
    pub mean_packet: Bytes,
}

#[cfg(feature = "serde")]
const fn yes() -> bool {
    true
}

const fn default_max_p() -> f64 {
    0.1
}

const fn default_mean_packet() -> Bytes {
    Bytes(500)
}

impl RedConfig {
    /// The defaults of ns-2 2.35 with this limit.
    #[must_use]
    pub const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            min_th: None,
            max_th: None,
            max_p: default_max_p(),
            weight: None,
            gentle: true,
            wait: true,
            ecn: false,
            mean_packet: default_mean_packet(),
        }
    }

    pub(super) fn problems(&self, rate: Option<Rate>) -> Vec<ConfigError> {
        let mut problems = Vec::new();
        problems.extend(positive("queue.min_th", self.min_th));
        problems.extend(positive("queue.max_th", self.max_th));
        let shares = [
            ("queue.max_p", Some(self.max_p)),
            ("queue.weight", self.weight),
        ];
        for (key, share) in shares {
            let excess = share.and_then(|share| probability(key, share));
            problems.extend(positive(key, share).or(excess));
        }
        problems.extend(packet_size("queue.mean_packet", self.mean_packet));
        if self.mean_packet != Bytes(0) {
            problems.extend(self.threshold_problems(rate));
        }
        problems
    }

    /// The lower threshold must be below the upper one and below the limit, or no packet is dropped
    /// before the queue is full. A recorded rate is absent: then the default threshold is the
    /// smallest possible one.
    fn threshold_problems(&self, rate: Option<Rate>) -> Vec<ConfigError> {
        let rate = rate.unwrap_or_default();
        let default = || default_min_th(rate, self.mean_packet);
        let (min, by) = match self.min_th {
            Some(min) => (min, ""),
            None => (default(), " by default"),
        };
        let mut problems = Vec::new();
        if let Some(max) = self.max_th.filter(|max| *max <= min) {
            problems.push(ConfigError::Inconsistent {
                keys: vec!["queue.max_th".into(), "queue.min_th".into()],
                message: format!("{max} is not above `min_th`, {min}{by}"),
                remedy: "3 `min_th` is usual",
            });
        }
        let capacity = match self.limit {
            QueueLimit::Packets(packets) => f64::from(packets),
            QueueLimit::Bytes(bytes) => bytes.0 as f64 / self.mean_packet.0 as f64,
            QueueLimit::Unlimited => f64::INFINITY,
        };
        if min > capacity {
            let limit = self.limit;
            problems.push(ConfigError::Inconsistent {
                keys: vec!["queue.min_th".into(), "queue.limit".into()],
                message: format!(
                    "the queue, {limit}, is full before `min_th`, {min}{by}, is reached"
                ),
                remedy: "lower `min_th` (packets of the mean size), or raise `limit`",
            });
        }
        problems
    }
}

/// The default `min_th` in packets: what waits for half of the target delay of 5 ms, but at least 5
/// packets.
fn default_min_th(rate: Rate, mean_packet: Bytes) -> f64 {
    let packets_per_second = rate.as_f64() / (8.0 * mean_packet.0 as f64);
    MIN_THRESHOLD.max(TARGET_DELAY * packets_per_second / 2.0)
}

/// A queue under random early detection.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    limit: QueueLimit,
    curve: Curve,
    average: Average,
    spacing: Spacing,
    ecn: bool,
    /// Whether the previous packet found a mean queue above the lower threshold.
    above: bool,
    backlog: Backlog,
    stream: Stream,
}

/// The probability of a drop as a function of the mean queue.
#[derive(Clone, Copy, Debug)]
struct Curve {
    min: f64,
    max: f64,
    max_p: f64,
    gentle: bool,
}

/// The mean queue in packets or bytes.
#[derive(Clone, Copy, Debug)]
struct Average {
    value: f64,
    weight: f64,
    /// The rate of the line in mean packets per second.
    packets_per_second: f64,
}

/// The packets since the last drop or mark.
#[derive(Clone, Copy, Debug)]
struct Spacing {
    packets: u32,
    bytes: u64,
    /// The mean packet in bytes, where bytes are counted.
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

    /// The queue without the packet in transmission, in the unit of the thresholds.
    fn waiting(&self) -> f64 {
        let waiting = self.backlog.waiting();
        match self.spacing.unit {
            Some(_) => waiting.bytes as f64,
            None => waiting.packets as f64,
        }
    }

    /// Whether to drop or mark a packet of `size` bytes that finds a mean queue above the lower
    /// threshold.
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
            return Verdict::Accept;
        }
        if !core::mem::replace(&mut self.above, true) {
            self.spacing.restart();
            self.spacing.count(arrival.size);
            return Verdict::Accept;
        }
        if !self.picks(arrival.size) {
            return Verdict::Accept;
        }
        let marks = self.ecn && arrival.ecn_capable && self.average.value < self.curve.max;
        if marks {
            return Verdict::Mark;
        }
        Verdict::Drop(DropReason::Early)
    }
}

impl ArrivalQueue for Red {
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.backlog.remove_sent(arrival.at);
        let waiting = self.waiting();
        let idle_since = self.backlog.is_empty().then(|| self.backlog.last_finish());
        self.average.update(waiting, idle_since, arrival.at);
        self.spacing.count(arrival.size);
        let verdict = self.early(arrival, waiting);
        match (self.limit).drop_reason(self.backlog.occupancy(), arrival.size) {
            Some(reason) if !matches!(verdict, Verdict::Drop(_)) => {
                self.spacing.restart();
                Verdict::Drop(reason)
            }
            _ => verdict,
        }
    }

    fn enqueue(&mut self, finish: Time, size: u32) {
        self.backlog.push(finish, size);
    }

    fn len(&self, now: Time, _busy: bool) -> usize {
        self.backlog.len(now)
    }

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.backlog.turns_after(now)
    }
}

impl Average {
    /// Updates the mean with a packet that finds `waiting`, and the line idle since a point in time
    /// if it was idle.
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

    /// The probability `p`, with drops made uniform over the packets since the last one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_threshold_grows_with_the_packet_rate() {
        let at = |mbits, mean| default_min_th(Rate::from_mbits(mbits), Bytes(mean));
        let found = [at(0, 500), at(8, 500), at(40, 500), at(40, 1000)];
        for (found, wanted) in found.into_iter().zip([5.0, 5.0, 25.0, 12.5]) {
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
    }
}
