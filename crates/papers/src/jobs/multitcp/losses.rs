//! Single losses on simulated connections that only their receiver windows limit.

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_core::rng::Seed;
use polypath_link::Counters;
use polypath_scenario::Network;
use polypath_sim::NetworkOutcome;
use serde::{Deserialize, Serialize};

use super::parameters::SEGMENT;

/// The propagation delay of both ways together, in ms.
const DELAY: u32 = 50;
/// The share of link rate above what the windows fill, so that queues stay empty and packets are
/// spread over a round trip.
const HEADROOM: f64 = 0.1;
/// The rate of the last link in b/s, which causes no delay.
const LAST: f64 = 1e10;
/// The size of an ACK in bytes: the scenario's default.
const ACK: u32 = 40;
/// The time of the losses in seconds.
const AT: f64 = 10.0;

/// Connections that share a window; some of them lose a packet at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Losses {
    pub(crate) connections: u32,
    pub(crate) losing: u32,
    /// The sum of their windows in segments.
    pub(crate) window: u32,
    pub(crate) variant: &'static str,
    /// The seed of the moment within a round trip.
    pub(crate) seed: u64,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reduced {
    /// The difference of the transferred data to a run without losses, in bytes.
    pub(crate) bytes: f64,
    /// The throughput of all connections without losses, in b/s.
    pub(crate) throughput: f64,
}

impl Job for Losses {
    type Output = Reduced;

    const KIND: &'static str = "multitcp.losses";

    fn cost(&self) -> f64 {
        1e-5 * f64::from(self.window) * self.seconds() / 0.05 / 10.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Reduced, JobError> {
        let without = self.outcome(None, parts)?;
        // An outage of a packet's time meets one packet, or none between two flights: the moment
        // moves until it is one.
        for attempt in 0..10 {
            let with = self.outcome(Some(self.moment(attempt)), parts)?;
            if dropped(&with) == u64::from(self.losing) {
                return Ok(reduced(&without, &with));
            }
        }
        Err(JobError::Other(
            "no moment was found at which one packet of each connection is lost".to_owned(),
        ))
    }
}

impl Losses {
    /// The duration: the window recovers half of its size at a segment per round-trip time.
    fn seconds(&self) -> f64 {
        let rounds = f64::from(self.window / self.connections);
        (AT + rounds * f64::from(DELAY) * 1e-3 * 0.75 + 5.0).ceil()
    }

    /// The rate of a connection's link in b/s.
    fn rate(&self) -> f64 {
        let each = f64::from(self.window / self.connections);
        each * f64::from(SEGMENT) * 8.0 / (f64::from(DELAY) * 1e-3) * (1.0 + HEADROOM)
    }

    /// The round-trip time of a segment without queueing, in seconds, computed from the links.
    pub(crate) fn round_trip(&self) -> f64 {
        let bits = |bytes: u32| f64::from(bytes) * 8.0;
        let access = bits(SEGMENT + ACK) / self.rate();
        f64::from(DELAY) * 1e-3 + access + bits(SEGMENT + ACK) / LAST
    }

    /// The start of the outage in seconds.
    fn moment(&self, attempt: u32) -> f64 {
        let drawn = Seed(self.seed).stream("losses/moment").uniform();
        // Not a whole part of a round trip, so that no two attempts are at one place of it.
        (AT + f64::from(attempt) * 0.137) + drawn * f64::from(DELAY) * 1e-3
    }

    fn outcome(&self, moment: Option<f64>, parts: &AtomicU64) -> Result<NetworkOutcome, JobError> {
        let network = Network::parse(&self.text(moment), "losses.toml", &[])?;
        let share = AtomicU64::new(0);
        let outcome = run_counted(&network, self.seed, &share, &mut ())?;
        let done = share.into_inner() / 2;
        if moment.is_none() {
            parts.fetch_add(done, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(outcome)
    }

    fn text(&self, moment: Option<f64>) -> String {
        let each = self.window / self.connections;
        let links = (0..self.connections).map(|number| {
            let lost = moment.filter(|_| number < self.losing);
            self.link_text(number, lost)
        });
        let seconds = self.seconds();
        format!(
            "schema = 1\nname = \"losses\"\n[run]\nduration = \"{seconds} s\"\nwarm_up = \"5 s\"\nbatches = 2\n\
             [tcp]\nvariant = \"{}\"\nsegment = \"{SEGMENT} B\"\nreceiver_window = {each}\nset_up = false\n{}\
             [[link]]\nfrom = \"router\"\nto = \"receiver\"\nrate = \"{LAST} bit/s\"\ndelay = \"{} ms\"\nqueue = \"unlimited\"\n\
             [[flow]]\nname = \"tcp\"\ncount = {}\nfrom = \"sender{{}}\"\nto = \"receiver\"\ntraffic = {{ kind = \"ftp\" }}\n",
            self.variant,
            links.collect::<String>(),
            DELAY / 2 - 1,
            self.connections,
        )
    }

    fn link_text(&self, number: u32, lost: Option<f64>) -> String {
        let rate = self.rate();
        let packet = f64::from(SEGMENT) * 8e9 / rate;
        let outage = lost.map_or_else(String::new, |at| {
            let (from, until) = (at * 1e9, at * 1e9 + packet);
            format!("outage = [{{ from = \"{from:.0} ns\", until = \"{until:.0} ns\" }}]\n")
        });
        // The return route is a link of its own, whose ACKs the outage spares.
        let link = |name: &str, [from, to]: [&str; 2], more: &str| {
            format!(
                "[[link]]\nname = \"{name}{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsimplex = true\n\
                 rate = \"{rate:.0} bit/s\"\ndelay = \"1 ms\"\nqueue = \"unlimited\"\n{more}"
            )
        };
        let sender = format!("sender{number}");
        let there = link("access", [&sender, "router"], &outage);
        there + &link("back", ["router", &sender], "")
    }
}

fn reduced(without: &NetworkOutcome, with: &NetworkOutcome) -> Reduced {
    let measured = without.measured().as_secs_f64();
    Reduced {
        bytes: goodput(without) - goodput(with),
        throughput: goodput(without) * 8.0 / measured,
    }
}

fn goodput(outcome: &NetworkOutcome) -> f64 {
    let spans = outcome.flows.iter().flat_map(|flow| &flow.spans);
    spans.map(|span| span.goodput as f64).sum()
}

fn dropped(outcome: &NetworkOutcome) -> u64 {
    let spans = outcome.links.iter().flat_map(|link| &link.spans);
    spans.map(Counters::packets_dropped).sum()
}
