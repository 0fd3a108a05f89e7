//! How long a flow stands still when the path that carries it goes silent: over two nodes, and over kernel MPTCP.
//!
//! *What runs.* Three candidates at once, each in two namespaces of its own, joined by two emulated links of one rate
//! and one round trip: two nodes with the policy `single-path`, and by default all else that decides, which carry datagrams; and MPTCP
//! (RFC 8684) of the running kernel, which carries the same messages as a stream, with the default of
//! `net.mptcp.stale_loss_cnt` and with 1, the least. Each carries a [flow](crate::flow) from the server's side to the
//! client's.
//!
//! *A silence* loses whatever enters or would leave a link, in both directions, and nobody is told. It begins and
//! ends for all at the same instants. For each it is the link that carried most of its flow over the last
//! [`CARRIED`]; how much that was, stands beside each result, since MPTCP may use both. Lengths and pauses are drawn
//! from a seed. The next silence waits until all have settled: each node deems each path live or returning; each
//! subflow of MPTCP has no retransmission timer that backed off, and none is stale.
//!
//! *Time.* The links' thread has a real-time priority, and so have, below it, the ends of the flows and the nodes, where
//! the system allows it: what other processes want of the machine shows as little in one candidate as in another.
//!
//! *What is told.* The outage is by how much longer than the flow's interval nothing arrived, at the longest between
//! the beginning of a silence and that of the next. The latency is normal again when the last message has arrived
//! that came [`LATE`] later than the flow's median. Datagrams that a silence took are lost, whereas MPTCP sends them
//! again: the first are counted, the second show in the latency.

mod candidate;
mod error;
mod measurement;
mod mptcp;
mod node_pair;
mod schedule;
mod table;

use std::time::Duration as StdDuration;

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_scenario::Scenario;
use serde::Serialize;

use crate::emulation::{Emulation, EmulationResult};
use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::preflight;
use candidate::{Candidate, CandidateKind};
pub use error::FailoverError;
pub use measurement::{Distribution, Measurement, Sample};
use schedule::Schedule;
pub use table::render;

/// Before a silence, the link that carries the flow is looked for over this time: 25 messages, so that a heartbeat that is
/// padded to find a path's MTU weighs little.
pub const CARRIED: Duration = Duration::from_millis(500);
/// A message that comes so much later than the median counts as late.
pub const LATE: Duration = Duration::from_millis(50);
/// The rate of each link.
const RATE: &str = "100 Mbit/s";
/// How long all may take to settle after a silence, and how often they are asked.
const PATIENCE: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(50);

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many silences.
    pub silences: u32,
    /// The root of what is drawn.
    pub seed: Seed,
    /// The round-trip time of both links.
    pub rtt: Duration,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Silences that are over.
    pub done: u32,
    /// Of how many.
    pub of: u32,
    /// How long the others take.
    pub left: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The root of what was drawn.
    pub seed: u64,
    /// How many silences there were.
    pub silences: u32,
    /// The round-trip time of both links, in milliseconds.
    pub rtt_ms: f64,
    /// How long the silences lasted in the mean, and from the first to the end of the last, in seconds.
    pub mean_silence_s: f64,
    /// From the beginning of the first to the end of the last.
    pub span_s: f64,
    /// Whether the emulated links, the nodes and the ends of the flows had a real-time priority.
    pub realtime: bool,
    /// The 99th percentile of how much later than due they gave packets, in milliseconds.
    pub late_ms: f64,
    /// Those that were compared.
    pub candidates: Vec<Measurement>,
}

/// A silence: from when until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilencePeriod {
    from: Time,
    until: Time,
}

/// Silences paths, and measures; fails where the lab or MPTCP is not to be had, where a candidate does not settle, and
/// with [`FailoverError::Interrupted`] where the process is told to stop. Nothing is left behind.
pub fn run(
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, FailoverError> {
    preflight().map_err(crate::LabError::from)?;
    mptcp::preflight()?;
    let interrupt = Interrupt::watch()?;
    let clock = Clock::starting_now();
    let scenario = scenario(options.rtt)?;
    let (mut networks, mut endpoints) = (Vec::new(), Vec::new());
    for _ in CandidateKind::ALL {
        let (network, both) = Network::open(&scenario, options.seed)?;
        endpoints.push((both, network.silence()));
        networks.push(network);
    }
    let mut emulation = Emulation::start(networks, clock)?;
    let mut candidates = Vec::new();
    for (kind, (endpoints, silence)) in CandidateKind::ALL.into_iter().zip(endpoints) {
        candidates.push(Candidate::start(kind, endpoints, silence, clock)?);
    }
    let mut stage = FailoverRun {
        emulation: &mut emulation,
        candidates: &mut candidates,
        interrupt: &interrupt,
        clock,
    };
    let periods = stage.silence_all(options, &mut progress)?;
    let totals = emulation.snapshot()?;
    let measured: Result<Vec<Measurement>, FailoverError> = candidates
        .into_iter()
        .zip(totals)
        .map(|(candidate, totals)| Ok(candidate.finish()?.measure(&periods, &totals)))
        .collect();
    Ok(outcome(options, &periods, measured?, &emulation.finish()?))
}

/// What a run is made of, while it lasts.
struct FailoverRun<'a> {
    emulation: &'a mut Emulation,
    candidates: &'a mut [Candidate],
    interrupt: &'a Interrupt,
    clock: Clock,
}

impl FailoverRun<'_> {
    fn silence_all(
        &mut self,
        options: &Options,
        progress: &mut impl FnMut(Progress),
    ) -> Result<Vec<SilencePeriod>, FailoverError> {
        let mut periods: Vec<SilencePeriod> = Vec::new();
        let start = self.clock.now();
        for (done, (pause, length)) in (1..=options.silences).zip(Schedule::new(options.seed)) {
            self.settle()?;
            self.sleep(pause)?;
            self.choose()?;
            periods.push(self.silence(length)?);
            let each = self.clock.now().since(start).scale(1, u64::from(done));
            progress(Progress {
                done,
                of: options.silences,
                left: each * u64::from(options.silences - done),
            });
        }
        // What the last silence did belongs to its results, too.
        self.settle()?;
        Ok(periods)
    }

    fn sleep(&self, span: Duration) -> Result<(), FailoverError> {
        Ok(self
            .interrupt
            .sleep_until(self.clock, self.clock.now() + span)?)
    }

    /// Waits until a silence of either path would find another that can be used.
    fn settle(&mut self) -> Result<(), FailoverError> {
        let deadline = self.clock.now() + PATIENCE;
        loop {
            self.emulation.check()?;
            let mut unsettled = Vec::new();
            for candidate in self.candidates.iter_mut() {
                if let Some(reason) = candidate.unsettled()? {
                    unsettled.push((candidate.kind(), reason));
                }
            }
            let Some((kind, reason)) = unsettled.first() else {
                return Ok(());
            };
            if self.clock.now() > deadline {
                let (who, reason) = (kind.name(), reason.clone());
                return Err(FailoverError::Unsettled { who, reason });
            }
            self.sleep(INTERVAL)?;
        }
    }

    /// Finds the link that carries each flow.
    fn choose(&mut self) -> Result<(), FailoverError> {
        let before = self.emulation.snapshot()?;
        self.sleep(CARRIED)?;
        let after = self.emulation.snapshot()?;
        for (candidate, totals) in self.candidates.iter_mut().zip(before.iter().zip(&after)) {
            candidate.choose(totals.0, totals.1);
        }
        Ok(())
    }

    fn silence(&mut self, length: Duration) -> Result<SilencePeriod, FailoverError> {
        let from = self.clock.now();
        self.candidates.iter().for_each(Candidate::fall_silent);
        let slept = self.sleep(length);
        self.candidates.iter().for_each(Candidate::speak);
        slept?;
        let until = self.clock.now();
        Ok(SilencePeriod { from, until })
    }
}

fn scenario(rtt: Duration) -> Result<Scenario, FailoverError> {
    let link = format!(
        "link = [{{ rate = \"{RATE}\", delay = \"{} ns\", queue = \"1000 packets\" }}]\n",
        rtt.scale(1, 2).as_nanos()
    );
    let text = format!(
        "schema = 1\nname = \"failover\"\nschemes = [\"tcp\"]\ntransfer = {{ size = \"1 kB\", count = 1 }}\n\
         [[path]]\nname = \"one\"\n{link}[[path]]\nname = \"two\"\n{link}"
    );
    Scenario::parse(&text, "failover", &[]).map_err(|e| FailoverError::Rtt(e.to_string()))
}

fn outcome(
    options: &Options,
    periods: &[SilencePeriod],
    candidates: Vec<Measurement>,
    emulated: &EmulationResult,
) -> Outcome {
    let lengths = periods.iter().map(|s| s.until.since(s.from).as_secs_f64());
    let ends = periods.first().zip(periods.last());
    Outcome {
        seed: options.seed.0,
        silences: options.silences,
        rtt_ms: options.rtt.as_secs_f64() * 1e3,
        mean_silence_s: lengths.sum::<f64>() / periods.len().max(1) as f64,
        span_s: ends.map_or(0.0, |(first, last)| {
            last.until.since(first.from).as_secs_f64()
        }),
        realtime: emulated.realtime,
        late_ms: emulated.lateness.packets.quantile(0.99).as_secs_f64() * 1e3,
        candidates,
    }
}

/// How long whoever waits for bytes or for room waits before looking whether all is over.
const READ_TIMEOUT: StdDuration = StdDuration::from_millis(100);
