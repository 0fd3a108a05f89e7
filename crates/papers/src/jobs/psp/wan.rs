//! The modelled wide-area network: a processor that each arrival interrupts, and bursts of other
//! traffic.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError};
use polypath_core::rng::{Seed, Stream};
use serde::{Deserialize, Serialize};

/// An Ethernet packet in bits.
pub(crate) const BITS: f64 = 12_000.0;
/// The sender's line (OC-12): 62 Mb/s with a loss of 90 % are 620 Mb/s sent.
pub(crate) const LINE: f64 = 622.0;
/// The forwarding rate of the bottleneck without interrupts, in Mb/s.
pub(crate) const BOTTLENECK: f64 = 70.0;
/// The buffer of the bottleneck in packets, including the one in transmission.
pub(crate) const BUFFER: usize = 50;
/// The rate of a burst of other traffic, that of a DS-3 line, in Mb/s.
pub(crate) const BURST: f64 = 45.0;
/// The mean length of a burst in seconds.
pub(crate) const ON: f64 = 0.1;
/// A sender of a fixed spacing through the bottleneck.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Wan {
    /// From the end of a packet to the start of the next, in microseconds.
    pub(crate) spacing: u32,
    /// The processor time of an arrival, in microseconds.
    pub(crate) interrupt: f64,
    /// The share of time in which there is a burst of other traffic.
    pub(crate) busy: f64,
    pub(crate) seconds: u32,
    pub(crate) seed: u64,
}

/// The result, in Mb/s.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WanRates {
    pub(crate) sent: f64,
    pub(crate) delivered: f64,
}

impl WanRates {
    pub(crate) fn loss(self) -> f64 {
        1.0 - self.delivered / self.sent
    }
}

impl Job for Wan {
    type Output = WanRates;

    const KIND: &'static str = "psp.wan";

    fn cost(&self) -> f64 {
        let packets = LINE * 1e6 / BITS / (1.0 + f64::from(self.spacing) * LINE / BITS);
        1e-7 * f64::from(self.seconds) * packets
    }

    fn run(&self, parts: &AtomicU64) -> Result<WanRates, JobError> {
        let carried = self.carry();
        parts.fetch_add(PARTS, Ordering::Relaxed);
        Ok(carried)
    }
}

impl Wan {
    fn carry(&self) -> WanRates {
        let end = f64::from(self.seconds);
        let interval = (BITS / LINE + f64::from(self.spacing)) * 1e-6;
        let mut bursts = Bursts::new(self.busy, self.seed);
        let mut node = Node::new(self.interrupt * 1e-6);
        let mut sent = 0_u64;
        let mut other = bursts.next();
        loop {
            // Not a sum of intervals, whose errors would add up.
            let own = sent as f64 * interval;
            if own.min(other) >= end {
                break;
            }
            if own <= other {
                sent += 1;
                node.take(own, true);
            } else {
                node.take(other, false);
                other = bursts.next();
            }
        }
        node.advance(end);
        let mbits = |packets: u64| packets as f64 * BITS / end / 1e6;
        WanRates {
            sent: mbits(sent),
            delivered: mbits(node.delivered),
        }
    }
}

/// The bottleneck. Interrupts precede packets, which are forwarded in the order of arrival.
#[derive(Debug)]
struct Node {
    interrupt: f64,
    /// The time up to which work is simulated.
    now: f64,
    /// Pending interrupt work in seconds.
    interrupts: f64,
    /// Remaining work on the first packet in seconds.
    rest: f64,
    /// For each packet, whether it is the sender's.
    queue: VecDeque<bool>,
    delivered: u64,
}

/// The bottleneck's work on a packet in seconds.
const SERVICE: f64 = BITS / BOTTLENECK * 1e-6;

impl Node {
    fn new(interrupt: f64) -> Self {
        Self {
            interrupt,
            now: 0.0,
            interrupts: 0.0,
            rest: 0.0,
            queue: VecDeque::new(),
            delivered: 0,
        }
    }

    /// Simulates work up to `to`.
    fn advance(&mut self, to: f64) {
        let mut left = to - self.now;
        self.now = to;
        let handled = self.interrupts.min(left);
        self.interrupts -= handled;
        left -= handled;
        while let Some(&own) = self.queue.front() {
            if self.rest > left {
                self.rest -= left;
                return;
            }
            left -= self.rest;
            self.rest = SERVICE;
            self.queue.pop_front();
            self.delivered += u64::from(own);
        }
    }

    /// Enqueues a packet, or drops it if the buffer is full. It causes an interrupt in either case.
    fn take(&mut self, at: f64, own: bool) {
        self.advance(at);
        self.interrupts += self.interrupt;
        if self.queue.is_empty() {
            self.rest = SERVICE;
        }
        if self.queue.len() < BUFFER {
            self.queue.push_back(own);
        }
    }
}

/// Other traffic: bursts of packets with exponential on and off times.
struct Bursts {
    off: f64,
    stream: Stream,
    at: f64,
    until: f64,
}

impl Bursts {
    fn new(busy: f64, seed: u64) -> Self {
        Self {
            off: ON * (1.0 - busy) / busy,
            stream: Seed(seed).stream("wan/bursts"),
            at: 0.0,
            until: 0.0,
        }
    }

    /// The time of the next packet.
    fn next(&mut self) -> f64 {
        self.at += BITS / BURST * 1e-6;
        while self.at >= self.until {
            self.at = self.until + self.stream.exponential(self.off);
            self.until = self.at + self.stream.exponential(ON);
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(spacing: u32, interrupt: f64) -> WanRates {
        let wan = Wan {
            spacing,
            interrupt,
            busy: 1e-6,
            seconds: 5,
            seed: 1,
        };
        wan.carry()
    }

    /// An overloaded processor forwards in the time that interrupts leave.
    #[test]
    fn interrupts_take_their_share_of_the_bottleneck() {
        for spacing in [0, 50, 100] {
            let run = carried(spacing, 5.0);
            let interrupts = run.sent * 1e6 / BITS * 5.0e-6;
            let expected = BOTTLENECK * (1.0 - interrupts);
            assert!(
                (run.delivered / expected - 1.0).abs() < 0.01,
                "{run:?} {expected}"
            );
            let without = carried(spacing, 0.0).delivered;
            assert!((without / BOTTLENECK - 1.0).abs() < 0.01, "{without}");
        }
        assert!(
            carried(1000, 5.0).loss().abs() < 1e-3,
            "nothing is lost of little"
        );
    }
}
