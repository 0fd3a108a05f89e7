//! Senders of spaced packets that share a bottleneck with each other, with TCP, and with a stream that
//! takes half of it.

pub(crate) mod in_lab;

use std::fmt::Write;
use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_scenario::Network;
use polypath_scenario::network::traffic::spaced::Control;
use polypath_sim::{FlowCounters, FlowOutcome, NetworkOutcome};
use serde::{Deserialize, Serialize};

use crate::jobs::psp::merge::{Span, name_of};

/// The rate of the bottleneck in Mbit/s, and the size of a packet in bytes: 2000 packets per second.
pub(crate) const CAPACITY: f64 = 20.0;
const PACKET: u32 = 1250;
/// The rate of the link of a flow, in Mbit/s.
const ACCESS: u64 = 1000;
/// The one-way delay of the bottleneck in ms.
const SHARED_DELAY: u32 = 5;
/// The run time of a packet in seconds of one core.
const SECONDS_OF_PACKET: f64 = 2.5e-7;

/// A run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sharing {
    pub(crate) control: Control,
    /// The senders of spaced packets: the first starts at once, the next ten seconds later, and so on
    /// in turn, with initial spacings that differ by a factor of 100.
    pub(crate) senders: u32,
    /// The round-trip times without queueing, of the senders in turn, in ms.
    pub(crate) round_trips: Vec<u32>,
    /// The variant of as many endless TCP transfers over the same round-trip times.
    pub(crate) tcp: Option<&'static str>,
    /// The buffer of the bottleneck in packets.
    pub(crate) buffer: u32,
    /// The second from which on a stream takes half of the capacity.
    pub(crate) halved_at: Option<u32>,
    pub(crate) span: Span,
    pub(crate) seed: u64,
}

/// The result after the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shares {
    /// The rates of the senders that arrived, in Mbit/s.
    pub(crate) media: Vec<f64>,
    /// The goodput of the TCP transfers in Mbit/s.
    pub(crate) tcp: Vec<f64>,
    /// The share of the senders' packets that did not arrive.
    pub(crate) lost: f64,
    /// The mean time of the senders' packets in queues, in ms.
    pub(crate) queueing: f64,
}

impl Sharing {
    fn network(&self) -> Result<Network, JobError> {
        Ok(Network::parse(&self.text(), "sharing.toml", &[])?)
    }

    fn text(&self) -> String {
        let Span { seconds, warm_up } = self.span;
        let variant = self.tcp.unwrap_or("sack");
        let mut text = format!(
            "schema = 1\nname = \"sharing\"\n\
             [run]\nduration = \"{seconds} s\"\nwarm_up = \"{warm_up} s\"\nbatches = 2\n\
             [tcp]\nvariant = \"{variant}\"\nsegment = \"{PACKET} B\"\nreceiver_window = 10000\n\
             overhead = \"1 ms\"\n\
             [[link]]\nname = \"shared\"\nfrom = \"gate\"\nto = \"sink\"\nrate = \"{CAPACITY} Mbit/s\"\n\
             delay = \"{SHARED_DELAY} ms\"\nqueue = \"{} packets\"\n",
            self.buffer
        );
        for number in 0..self.senders {
            self.add_media(&mut text, number);
        }
        if self.tcp.is_some() {
            for number in 0..self.senders {
                self.add_flow(
                    &mut text,
                    "tcp",
                    number,
                    "start_spread = \"1 s\"",
                    "kind = \"ftp\"",
                );
            }
        }
        if let Some(at) = self.halved_at {
            let interval = f64::from(PACKET) * 8.0 / (CAPACITY / 2.0);
            self.add_flow(
                &mut text,
                "other",
                0,
                &format!("start = \"{at} s\""),
                &format!("kind = \"cbr\", packet = \"{PACKET} B\", interval = \"{interval} us\", jitter = 0.1"),
            );
        }
        text
    }

    fn add_media(&self, text: &mut String, number: u32) {
        let is_late = number % 2 == 1;
        let (start, spacing) = if is_late { (10, 30_000) } else { (0, 300) };
        let times = format!("start = \"{start} s\"\nstart_spread = \"1 s\"");
        let control = name_of(self.control);
        let traffic = format!(
            "kind = \"spaced\", packet = \"{PACKET} B\", control = {control}, spacing = \"{spacing} us\", \
             feedback = {{ rtt = \"smoothed\" }}"
        );
        self.add_flow(text, "media", number, &times, &traffic);
    }

    /// Adds a flow with a node and a link of its own.
    fn add_flow(&self, text: &mut String, kind: &str, number: u32, times: &str, traffic: &str) {
        let delay = self.access_delay(number);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "[[link]]\nname = \"access-{kind}{number}\"\nfrom = \"{kind}{number}\"\nto = \"gate\"\n\
             rate = \"{ACCESS} Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"10000 packets\"\n\
             [[flow]]\nname = \"{kind}{number}\"\nfrom = \"{kind}{number}\"\nto = \"sink\"\n{times}\n\
             traffic = {{ {traffic} }}\n"
        );
    }

    fn round_trip(&self, number: u32) -> u32 {
        self.round_trips[number as usize % self.round_trips.len()]
    }

    fn access_delay(&self, number: u32) -> u32 {
        (self.round_trip(number) / 2).saturating_sub(SHARED_DELAY)
    }

    fn shares(&self, outcome: &NetworkOutcome) -> Shares {
        let seconds = outcome.measured().as_secs_f64();
        let named = |kind: &'static str| {
            outcome
                .flows
                .iter()
                .filter(move |flow| flow.name.starts_with(kind))
        };
        let rate = |flow: &FlowOutcome| {
            let bytes: u64 = flow.spans.iter().map(|span| span.goodput).sum();
            bytes as f64 * 8.0 / seconds / 1e6
        };
        let (mut sent, mut arrived) = (0, 0);
        let mut queueing = Vec::new();
        for (number, flow) in (0..).zip(named("media")) {
            let totals: FlowCounters = flow.spans.iter().copied().sum();
            sent += totals.sender.sent;
            arrived += totals.delays.count;
            let base = f64::from(self.round_trip(number)) / 2.0;
            queueing.extend(totals.delays.mean().map(|mean| mean * 1e3 - base));
        }
        Shares {
            media: named("media").map(rate).collect(),
            tcp: named("tcp").map(rate).collect(),
            lost: (1.0 - arrived as f64 / sent.max(1) as f64).max(0.0),
            queueing: queueing.iter().sum::<f64>() / queueing.len().max(1) as f64,
        }
    }
}

impl Job for Sharing {
    type Output = Shares;

    const KIND: &'static str = "own.spacing";

    fn cost(&self) -> f64 {
        let packets = CAPACITY * 1e6 / 8.0 / f64::from(PACKET) * f64::from(self.span.seconds);
        packets * SECONDS_OF_PACKET
    }

    fn run(&self, parts: &AtomicU64) -> Result<Shares, JobError> {
        let network = self.network()?;
        let outcome = run_counted(&network, self.seed, parts, &mut ())?;
        Ok(self.shares(&outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_run_has_its_flows_and_their_round_trips() {
        let sharing = Sharing {
            control: Control::Cubic,
            senders: 3,
            round_trips: vec![20, 80],
            tcp: Some("bbr"),
            buffer: 20,
            halved_at: Some(2),
            span: Span {
                seconds: 20,
                warm_up: 12,
            },
            seed: 1,
        };
        assert_eq!(sharing.network().unwrap().flows.len(), 7);
        let shares = sharing.run(&AtomicU64::new(0)).unwrap();
        assert_eq!((shares.media.len(), shares.tcp.len()), (3, 3));
        let sum: f64 = shares.media.iter().chain(&shares.tcp).sum();
        assert!(
            sum > 5.0 && sum < 13.0,
            "about half of the capacity is left: {shares:?}"
        );
        assert!((0.0..20.0).contains(&shares.queueing), "{shares:?}");
    }
}
