//! The measurements of one run of a media stream.

use std::collections::BTreeMap;

use polypath_core::frame::FrameKind;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Media;
use serde::{Deserialize, Serialize};

use crate::world::Side;

/// The outcome of a media stream under one policy in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaOutcome {
    /// The packets that the source sent.
    pub sent: u64,
    /// The packets that were delivered to the sink, late ones included.
    pub delivered: u64,
    /// For each deadline of the scenario the packets that were not delivered within it.
    pub late: Vec<u64>,
    /// The quantiles of the one-way delay of delivered packets; `None` without any.
    pub delay: Option<DelayQuantiles>,
    /// The longest time without a delivery: between two deliveries, from the start of the stream
    /// until the first delivered packet was sent, or from the last delivery to the end of the
    /// stream.
    pub longest_gap: Duration,
    /// The packets that were delivered after one with a higher number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// The payload of all sent packets, in bytes.
    pub payload: u64,
    /// The packets that both endpoints sent.
    pub wire: WireUse,
}

/// Quantiles of one-way delays, by the nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayQuantiles {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The 99.9th percentile.
    pub p999: Duration,
}

/// A kind of packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireKind {
    /// A frame of the overlay.
    Frame(FrameKind),
    /// Packets without frames: handshakes, and those of other protocols.
    Other,
}

/// The delivery of a packet to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The number of the packet, from 0.
    pub number: u64,
    /// The time.
    pub at: Time,
    /// The time since the packet was sent.
    pub delay: Duration,
}

/// Packets of one kind on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireCount {
    /// Their number.
    pub frames: u64,
    /// Their bytes on the wire, with all headers.
    pub bytes: u64,
}

/// The packets that each side sent, by their kind, and their bytes by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireUse {
    /// Those of the server, towards the client.
    #[serde(with = "kinds")]
    pub forward: BTreeMap<WireKind, WireCount>,
    /// Those of the client, towards the server.
    #[serde(with = "kinds")]
    pub backward: BTreeMap<WireKind, WireCount>,
    /// The bytes on each path, in the order of the scenario.
    pub paths: Vec<PathBytes>,
}

/// The bytes on a path, with all headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathBytes {
    /// Those that the server sent, towards the client.
    pub forward: u64,
    /// Those that the client sent, towards the server.
    pub backward: u64,
}

impl PathBytes {
    /// The bytes of both directions.
    #[must_use]
    pub const fn both(self) -> u64 {
        self.forward + self.backward
    }
}

/// The counts by kind as a list of pairs, since a key of JSON is a string.
mod kinds {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{WireCount, WireKind};

    pub(super) fn serialize<S: Serializer>(
        counts: &BTreeMap<WireKind, WireCount>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(counts)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<WireKind, WireCount>, D::Error> {
        let pairs = Vec::<(WireKind, WireCount)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

impl WireUse {
    /// No packets on `paths` paths.
    #[must_use]
    pub fn of_paths(paths: usize) -> Self {
        Self {
            paths: vec![PathBytes::default(); paths],
            ..Self::default()
        }
    }

    /// The packets that a side sent.
    #[must_use]
    pub const fn of(&self, sender: Side) -> &BTreeMap<WireKind, WireCount> {
        match sender {
            Side::Server => &self.forward,
            Side::Client => &self.backward,
        }
    }

    /// Counts bytes that `sender` sent on the path at this position in the scenario.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn add_to_path(&mut self, sender: Side, path: usize, bytes: u64) {
        let of_path = &mut self.paths[path];
        *match sender {
            Side::Server => &mut of_path.forward,
            Side::Client => &mut of_path.backward,
        } += bytes;
    }

    /// Counts a packet of `len` bytes that `sender` sent, by its kind.
    pub fn add(&mut self, sender: Side, kind: WireKind, len: u32) {
        let packet = WireCount {
            frames: 1,
            bytes: len.into(),
        };
        self.add_all(sender, kind, packet);
    }

    /// Counts packets of one kind that `sender` sent.
    pub fn add_all(&mut self, sender: Side, kind: WireKind, packets: WireCount) {
        if packets.frames == 0 {
            return;
        }
        let kinds = match sender {
            Side::Server => &mut self.forward,
            Side::Client => &mut self.backward,
        };
        let count = kinds.entry(kind).or_default();
        count.frames += packets.frames;
        count.bytes += packets.bytes;
    }

    /// The bytes of all packets of both sides.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = self.forward.values().chain(self.backward.values());
        all.map(|count| count.bytes).sum()
    }
}

impl MediaOutcome {
    /// The outcome of a stream that began at `start`, from its deliveries in order, each packet's
    /// first.
    #[must_use]
    pub fn new(media: &Media, start: Time, deliveries: &[Delivery], wire: WireUse) -> Self {
        let sent = media.packets();
        let delivered = deliveries.len() as u64;
        let late = |deadline: &Duration| {
            let in_time = deliveries.iter().filter(|of| of.delay <= *deadline);
            sent.saturating_sub(in_time.count() as u64)
        };
        Self {
            sent,
            delivered,
            late: media.deadlines.iter().map(late).collect(),
            delay: quantiles(deliveries),
            longest_gap: longest_gap(start, start + media.duration, deliveries),
            reordered: reordered(deliveries),
            payload: sent * media.packet.0,
            wire,
        }
    }
}

fn quantiles(deliveries: &[Delivery]) -> Option<DelayQuantiles> {
    let mut delays: Vec<Duration> = deliveries.iter().map(|of| of.delay).collect();
    delays.sort_unstable();
    // The nearest rank: the least delay that at least this many of a thousand do not exceed.
    let at = |permille: usize| {
        let rank = (delays.len() * permille).div_ceil(1000);
        delays.get(rank.saturating_sub(1)).copied()
    };
    Some(DelayQuantiles {
        p50: at(500)?,
        p99: at(990)?,
        p999: at(999)?,
    })
}

fn longest_gap(start: Time, end: Time, deliveries: &[Delivery]) -> Duration {
    let Some((first, others)) = deliveries.split_first() else {
        return end.since(start);
    };
    let mut longest = (first.at - first.delay).since(start);
    let mut last = first.at;
    for delivery in others {
        longest = longest.max(delivery.at.since(last));
        last = delivery.at;
    }
    longest.max(end.since(last))
}

fn reordered(deliveries: &[Delivery]) -> u64 {
    let mut next = 0;
    let mut reordered = 0;
    for delivery in deliveries {
        reordered += u64::from(delivery.number < next);
        next = next.max(delivery.number + 1);
    }
    reordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliveries(of: &[(u64, u64, u64)]) -> Vec<Delivery> {
        let ms = Duration::from_millis;
        let delivery = |&(number, at, delay): &(u64, u64, u64)| Delivery {
            number,
            at: Time::ZERO + ms(at),
            delay: ms(delay),
        };
        of.iter().map(delivery).collect()
    }

    #[test]
    fn late_packets_include_lost_ones() {
        let media = Media {
            rate: polypath_core::units::Rate(8_000),
            packet: polypath_core::units::Bytes(1),
            duration: Duration::from_millis(5),
            burst: Duration::ZERO,
            deadlines: [10, 20].map(Duration::from_millis).into(),
            policies: Vec::new(),
            runs: 1,
            warm_up: Duration::ZERO,
            start_spread: Duration::ZERO,
        };
        let seen = deliveries(&[(0, 10, 10), (2, 13, 11), (1, 31, 30)]);
        let outcome = MediaOutcome::new(&media, Time::ZERO, &seen, WireUse::default());
        assert_eq!(
            (outcome.sent, outcome.delivered, outcome.payload),
            (5, 3, 5)
        );
        assert_eq!(outcome.late, [4, 3]);
        assert_eq!(outcome.reordered, 1);
        assert_eq!(outcome.longest_gap, Duration::from_millis(18));
    }

    #[test]
    fn a_stream_that_stops_arriving_has_a_gap_until_its_end() {
        let ms = |ms| Time::ZERO + Duration::from_millis(ms);
        let gap = |of: &[Delivery]| longest_gap(ms(5), ms(100), of);
        assert_eq!(gap(&[]), Duration::from_millis(95));
        assert_eq!(gap(&deliveries(&[(0, 10, 5)])), Duration::from_millis(90));
        let late = deliveries(&[(4, 120, 90)]);
        assert_eq!(gap(&late), Duration::from_millis(25), "the packets before");
    }

    #[test]
    fn quantiles_are_delays_that_occur() {
        let thousand: Vec<_> = (1..=1000).map(|n| (n, n, n)).collect();
        let found = quantiles(&deliveries(&thousand)).unwrap();
        let ms = [found.p50, found.p99, found.p999].map(|delay| delay.as_nanos() / 1_000_000);
        assert_eq!(ms, [500, 990, 999]);
        let one = quantiles(&deliveries(&[(0, 7, 7)])).unwrap();
        assert_eq!(
            (one.p50, one.p999),
            (Duration::from_millis(7), Duration::from_millis(7))
        );
        assert_eq!(quantiles(&[]), None);
    }

    #[test]
    fn reordered_packets_are_those_that_a_later_one_overtook() {
        let order = |numbers: &[u64]| {
            let of: Vec<_> = numbers.iter().map(|number| (*number, 1, 1)).collect();
            reordered(&deliveries(&of))
        };
        assert_eq!(order(&[0, 1, 3, 4]), 0);
        assert_eq!(order(&[0, 2, 1, 3]), 1);
        assert_eq!(order(&[3, 0, 1, 2]), 3);
    }
}
