//! Outages of a flow when the path that carries it goes silent: over two nodes, and over kernel
//! MPTCP.
//!
//! *Setup.* Four candidates run at once, each between two namespaces of its own that two emulated
//! links of equal rate and round-trip time connect: two nodes with the policy `single-path` and two
//! with `in-time`, otherwise with default settings, which carry datagrams; and MPTCP (RFC 8684) of the running kernel,
//! which carries the same messages as a stream, with the default of `net.mptcp.stale_loss_cnt` and
//! with its minimum, 1. Each carries a [flow](crate::flow) from the server side to the client side.
//!
//! *Silence.* A silenced link drops every packet in both directions without any notification.
//! Silences start and end at the same instants for all candidates. Each candidate loses the link
//! that carried most of its flow over the last [`SELECTION_WINDOW`]; results state that share,
//! since MPTCP may use both links. Lengths and pauses are drawn from a seed. The next silence
//! starts once all candidates have settled: each node considers each path live or returning; no
//! MPTCP subflow is stale or has backed off its retransmission timer.
//!
//! *Time.* The links' thread has a real-time priority, and the flow's threads and the nodes a lower
//! one, if the system allows it, so that the load of other processes affects all candidates alike.
//!
//! *Metrics.* The outage is the longest gap between arrivals from the start of a silence to the
//! start of the next, minus the flow's interval. Latency has recovered when the last message has
//! arrived whose latency exceeds the flow's median by more than [`LATE`]. Datagrams that a silence
//! drops are lost with `single-path`, whereas `in-time` and MPTCP send them again: the loss counter
//! shows the former, latency the latter.

mod candidate;
mod error;
mod measurement;
mod parameters;
mod schedule;
mod table;

use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use polypath_scenario::Scenario;
use serde::Serialize;

use crate::LabError;
use crate::emulation::{Emulation, EmulationResult};
use crate::interrupt::Interrupt;
use crate::mptcp;
use crate::network::Network;
use crate::preflight;
use candidate::{Candidate, CandidateKind};
pub use error::FailoverError;
pub use measurement::{Distribution, Measurement, Sample};
pub use parameters::{LATE, SELECTION_WINDOW};
use parameters::{MPTCP_CONGESTION_CONTROL, RATE, SETTLE_POLL, SETTLE_TIMEOUT};
use schedule::{Schedule, SilencePeriod};
pub use table::render;

/// The parameters of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of silences.
    pub silences: u32,
    /// The root seed of pauses and lengths.
    pub seed: Seed,
    /// The round-trip time of both links.
    pub rtt: Duration,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of finished silences.
    pub done: u32,
    /// The total number of silences.
    pub total: u32,
    /// The estimated remaining time.
    pub remaining: Duration,
}

/// The result of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The root seed of pauses and lengths.
    pub seed: u64,
    /// The number of silences.
    pub silences: u32,
    /// The round-trip time of both links, in milliseconds.
    pub rtt_ms: f64,
    /// The mean length of a silence in seconds.
    pub mean_silence_s: f64,
    /// The time from the start of the first silence to the end of the last, in seconds.
    pub span_s: f64,
    /// Whether the emulated links, the nodes and the flows' threads had a real-time priority.
    pub realtime: bool,
    /// The 99th percentile of the lateness of packets that left the links, in milliseconds.
    pub late_ms: f64,
    /// The reason for which the measurement is invalid, if it is.
    pub invalid: Option<String>,
    /// The results of each candidate.
    pub candidates: Vec<Measurement>,
}

/// Runs the measurement.
///
/// Fails if the lab or MPTCP is not available, if a candidate does not settle, and with
/// [`FailoverError::Interrupted`] on a signal to stop. Leaves nothing behind.
pub fn run(
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, FailoverError> {
    preflight().map_err(crate::LabError::from)?;
    mptcp::preflight(MPTCP_CONGESTION_CONTROL).map_err(LabError::from)?;
    let interrupt = Interrupt::watch()?;
    let clock = Clock::starting_now();
    let scenario = scenario(options.rtt)?;
    let (mut networks, mut endpoints) = (Vec::new(), Vec::new());
    for _ in CandidateKind::ALL {
        let (network, pair) = Network::open(&scenario, options.seed)?;
        endpoints.push((pair, network.silence()));
        networks.push(network);
    }
    let mut emulation = Emulation::start(networks, clock)?;
    let mut candidates = Vec::new();
    for (kind, (endpoints, silence)) in CandidateKind::ALL.into_iter().zip(endpoints) {
        let candidate = Candidate::start(kind, endpoints, silence, clock, options.rtt)?;
        candidates.push(candidate);
    }
    let mut run = FailoverRun {
        emulation: &mut emulation,
        candidates: &mut candidates,
        interrupt: &interrupt,
        clock,
    };
    let periods = run.silence_all(options, &mut progress)?;
    let totals = emulation.snapshot()?;
    let measured: Result<Vec<Measurement>, FailoverError> = candidates
        .into_iter()
        .zip(totals)
        .map(|(candidate, totals)| Ok(candidate.finish()?.measure(&periods, &totals)))
        .collect();
    Ok(outcome(options, &periods, measured?, &emulation.finish()?))
}

/// A measurement in progress.
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
        for (done, next) in (1..=options.silences).zip(Schedule::new(options.seed)) {
            self.wait_until_settled()?;
            self.sleep(next.pause)?;
            self.select_links()?;
            periods.push(self.silence(next.length)?);
            let each = self.clock.now().since(start).scale(1, u64::from(done));
            progress(Progress {
                done,
                total: options.silences,
                remaining: each * u64::from(options.silences - done),
            });
        }
        // The results of the last silence include the time until its candidates have settled.
        self.wait_until_settled()?;
        Ok(periods)
    }

    fn sleep(&self, span: Duration) -> Result<(), FailoverError> {
        Ok(self
            .interrupt
            .sleep_until(self.clock, self.clock.now() + span)?)
    }

    /// Waits until every candidate can use either link.
    fn wait_until_settled(&mut self) -> Result<(), FailoverError> {
        let deadline = self.clock.now() + SETTLE_TIMEOUT;
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
                let (candidate, reason) = (kind.name(), reason.clone());
                return Err(FailoverError::Unsettled { candidate, reason });
            }
            self.sleep(SETTLE_POLL)?;
        }
    }

    /// Selects the link to silence for each candidate: the one that carries most of its flow.
    fn select_links(&mut self) -> Result<(), FailoverError> {
        let before = self.emulation.snapshot()?;
        self.sleep(SELECTION_WINDOW)?;
        let after = self.emulation.snapshot()?;
        for (candidate, totals) in self.candidates.iter_mut().zip(before.iter().zip(&after)) {
            candidate.select_link(totals.0, totals.1);
        }
        Ok(())
    }

    fn silence(&mut self, length: Duration) -> Result<SilencePeriod, FailoverError> {
        let from = self.clock.now();
        self.candidates.iter().for_each(Candidate::begin_silence);
        let slept = self.sleep(length);
        self.candidates.iter().for_each(Candidate::end_silence);
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
        invalid: emulated.conditions().invalid_reason(),
        candidates,
    }
}
