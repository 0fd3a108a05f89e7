//! A network from its start to its end, measured in spans of equal length.

mod samples;

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::Counters;
use polypath_scenario::Network;

use crate::error::RunError;
use crate::flow::{FlowCounters, SpanFiles};
use crate::network::{NoPayload, build_graph};
use crate::percentiles::DelayPercentiles;
use crate::world::{Detail, FlowIndex, NetworkEvent, Overflow, World};
use samples::{SAMPLES, Sampled};

/// The maximum number of steps of a warm-up, even if spans are short.
const WARM_UP_STEPS: u64 = 1000;

/// Receives the events of a simulated network.
pub trait NetworkObserver {
    /// The run has reached `now`; called some 50 times per span, and in the warm-up at most 1000
    /// times, in order.
    fn on_progress(&mut self, now: Time);

    /// The events that it wants; called once, before the start.
    fn detail(&self) -> Detail {
        Detail::default()
    }

    /// Receives an event that it wants, in order.
    fn on_event(&mut self, _at: Time, _event: &NetworkEvent) {}
}

/// Ignores all events.
impl NetworkObserver for () {
    fn on_progress(&mut self, _now: Time) {}
}

impl<F: FnMut(Time)> NetworkObserver for F {
    fn on_progress(&mut self, now: Time) {
        self(now);
    }
}

/// The outcome of a network after its warm-up, span by span.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkOutcome {
    /// The end of the warm-up, where the first span begins.
    pub start: Time,
    /// The length of each span.
    pub span: Duration,
    /// The flows, in the order of the file.
    pub flows: Vec<FlowOutcome>,
    /// The links, in the order of the file.
    pub links: Vec<LinkOutcome>,
    /// Percentiles of the one-way delays of each `[[flow]]` of the file, over all spans; `None`
    /// if no packet arrived, and empty if they are not measured.
    pub delay_percentiles: Vec<Option<DelayPercentiles>>,
}

impl NetworkOutcome {
    /// The measured time: the sum of all spans.
    #[must_use]
    pub fn measured(&self) -> Duration {
        let spans = self.flows.first().map_or(0, |flow| flow.spans.len());
        Duration::from_nanos(self.span.as_nanos() * spans as u64)
    }
}

/// The totals of a flow in each span.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Whether it goes over TCP.
    pub tcp: bool,
    /// Its totals of each span.
    pub spans: Vec<FlowCounters>,
    /// The mean of its congestion window over the samples of each span at which it had a
    /// connection, in segments; `None` if it never had one.
    pub windows: Vec<Option<f64>>,
    /// The mean of the receiver's estimate of the round-trip time in seconds over two
    /// samples per span; `None` without a connection.
    pub receiver_rtts: Vec<Option<f64>>,
    /// Its files in each span.
    pub files: Vec<SpanFiles>,
    /// Its connections in each span, if it is a stream over several; else empty.
    pub streams: Vec<StreamSpan>,
}

/// The state of a stream over several connections at its receiver in a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamSpan {
    /// The mean number of wanted connections over the samples; `None` before the start.
    pub connections: Option<f64>,
    /// The mean of the sum of their receiver windows in segments; `None` before the start.
    pub windows: Option<f64>,
    /// The number of times the player stalled.
    pub stops: u32,
}

/// The totals of one direction of a link in each span.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Its name.
    pub name: String,
    /// Its rate in bits per second.
    pub rate: Rate,
    /// Its totals of each span.
    pub spans: Vec<Counters>,
}

/// Runs a network from its start to its end.
///
/// # Errors
/// Returns an error if the network cannot be built, or a queue without a limit grows beyond memory.
pub fn run_network(
    network: &Network,
    seed: Seed,
    observer: &mut impl NetworkObserver,
) -> Result<NetworkOutcome, RunError> {
    let mut driven = Driven::new(build_graph(network, seed)?, observer.detail());
    let start = Time::ZERO + network.run.warm_up;
    let spans = network.run.batches;
    let span = Duration((network.run.duration - network.run.warm_up).as_nanos() / u64::from(spans));
    run_warm_up(&mut driven, start, span, observer)?;
    driven.world.agents.begin_measuring();
    let world = &driven.world;
    let mut outcome = NetworkOutcome {
        start,
        span,
        flows: world
            .flows()
            .map(|flow| FlowOutcome::new(&flow, spans))
            .collect(),
        links: world
            .links()
            .map(|link| LinkOutcome::new(&link, spans))
            .collect(),
        delay_percentiles: Vec::new(),
    };
    let mut before = Totals::at(&driven.world, start);
    for number in 0..spans {
        let begin = start + span * u64::from(number);
        before = run_span(&mut driven, begin, &before, &mut outcome, observer)?;
    }
    outcome.delay_percentiles = driven.world.agents.delay_percentiles().collect();
    Ok(outcome)
}

/// A running network, and its observer.
struct Driven {
    world: World<NoPayload>,
    /// The index of the flows, if the observer wants events.
    index: Option<FlowIndex>,
}

impl Driven {
    fn new(mut world: World<NoPayload>, detail: Detail) -> Self {
        let index = world.watch(detail);
        Self { world, index }
    }

    /// Runs until `now`; fails if a queue exceeds its memory bound.
    fn advance(&mut self, now: Time, observer: &mut impl NetworkObserver) -> Result<(), Overflow> {
        match &self.index {
            None => self.world.run_until(now, &mut |_| {}),
            Some(index) => {
                let out = &mut |at, event: &NetworkEvent| observer.on_event(at, event);
                self.world.run_watched(now, index, out);
            }
        }
        observer.on_progress(now);
        self.world.overflow().cloned().map_or(Ok(()), Err)
    }
}

fn run_warm_up(
    driven: &mut Driven,
    end: Time,
    span: Duration,
    observer: &mut impl NetworkObserver,
) -> Result<(), Overflow> {
    let of_span = Duration(span.as_nanos() / u64::from(SAMPLES));
    let of_warm_up = Duration(end.since(Time::ZERO).as_nanos() / WARM_UP_STEPS);
    let step = of_span.max(of_warm_up).max(Duration(1));
    let mut now = Time::ZERO;
    while now < end {
        now = end.min(now + step);
        driven.advance(now, observer)?;
    }
    Ok(())
}

/// The totals of the flows and links of a network at a point in time.
struct Totals {
    flows: Vec<FlowCounters>,
    links: Vec<Counters>,
    /// The number of stalls of the flows' players; `None` for flows that are not streams.
    stops: Vec<Option<u32>>,
}

impl Totals {
    fn at(world: &World<NoPayload>, now: Time) -> Self {
        Self {
            flows: world.flows().map(|flow| flow.counters).collect(),
            links: world.links_at(now).map(|link| link.counters).collect(),
            stops: world.streams().map(|s| s.map(|s| s.stops)).collect(),
        }
    }
}

/// Runs one span, adds its results, and returns the totals at its end.
fn run_span(
    driven: &mut Driven,
    begin: Time,
    before: &Totals,
    outcome: &mut NetworkOutcome,
    observer: &mut impl NetworkObserver,
) -> Result<Totals, Overflow> {
    let sampled = Sampled::over(driven, begin, outcome.span, observer)?;
    let after = Totals::at(&driven.world, begin + outcome.span);
    outcome.add_counters(before, &after);
    outcome.add_sampled(&sampled);
    outcome.add_streams(&sampled, before, &after);
    for (flow, files) in outcome.flows.iter_mut().zip(driven.world.take_files()) {
        flow.files.push(files);
    }
    Ok(after)
}

impl NetworkOutcome {
    /// The start of the span of this number.
    #[must_use]
    pub fn begin_of(&self, span: usize) -> Time {
        self.start + Duration(self.span.as_nanos() * span as u64)
    }

    /// Adds the differences between the totals at the start and at the end of a span.
    fn add_counters(&mut self, before: &Totals, after: &Totals) {
        let flows = before.flows.iter().zip(&after.flows);
        for (flow, (before, after)) in self.flows.iter_mut().zip(flows) {
            flow.spans.push(*after - *before);
        }
        let links = before.links.iter().zip(&after.links);
        for (link, (before, after)) in self.links.iter_mut().zip(links) {
            link.spans.push(after.since(before));
        }
    }

    /// Adds the samples of streams, and the stalls of their players between the start of a span and
    /// its end.
    fn add_streams(&mut self, sampled: &Sampled, before: &Totals, after: &Totals) {
        let means = sampled
            .connections
            .means()
            .zip(sampled.stream_windows.means());
        let stops = before.stops.iter().zip(&after.stops);
        for ((flow, (connections, windows)), stops) in self.flows.iter_mut().zip(means).zip(stops) {
            if let (Some(before), Some(after)) = stops {
                flow.streams.push(StreamSpan {
                    connections,
                    windows,
                    stops: after - before,
                });
            }
        }
    }

    fn add_sampled(&mut self, sampled: &Sampled) {
        let means = sampled.windows.means().zip(sampled.receiver_rtts.means());
        for (flow, (window, rtt)) in self.flows.iter_mut().zip(means) {
            flow.windows.push(window);
            flow.receiver_rtts.push(rtt);
        }
    }
}

impl FlowOutcome {
    fn new(flow: &crate::world::FlowReport<'_>, spans: u32) -> Self {
        Self {
            name: flow.name.to_owned(),
            tcp: flow.tcp,
            spans: Vec::with_capacity(spans as usize),
            windows: Vec::with_capacity(spans as usize),
            receiver_rtts: Vec::with_capacity(spans as usize),
            files: Vec::with_capacity(spans as usize),
            streams: Vec::new(),
        }
    }
}

impl LinkOutcome {
    fn new(link: &crate::world::LinkReport<'_>, spans: u32) -> Self {
        Self {
            name: link.name.name.clone(),
            rate: link.rate,
            spans: Vec::with_capacity(spans as usize),
        }
    }
}

#[cfg(test)]
mod tests;
