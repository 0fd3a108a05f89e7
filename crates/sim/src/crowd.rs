//! Several downloads at once over the same paths, each between hosts of its own and behind endpoints of its own.
//!
//! The paths, their links and background, and TCP are a scenario's; the downloads begin at random within the first
//! second and never end.

use polypath_core::combine::DetectorConfig;
use polypath_core::endpoint::EndpointConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};

use crate::exchange::{Exchange, Listener};
use crate::network::{build, foreground_tcp};
use crate::observer::SimEvent;
use crate::run::RunError;
use crate::tcp::{Client, ClientInput, SenderStats, Server};
use crate::world::LinkReport;

/// A file that no run comes to the end of, in segments.
const ENDLESS: u32 = u32::MAX / 2;
/// Within which time the downloads begin.
const BEGIN: Duration = Duration::from_secs(1);

/// Who downloads how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// How many downloads.
    pub flows: u32,
    /// Over which paths.
    pub scheme: Scheme,
    /// What tells congestion from dropouts at the receiving ends; nothing if nobody does. TCP answers marks only with
    /// `tcp.ecn`.
    pub detector: Option<DetectorConfig>,
    /// When the last download begins, if not with the others.
    pub late: Option<Time>,
}

/// What is asked of a crowd, at each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct CrowdSample<'a> {
    /// When.
    pub at: Time,
    /// The congestion window of each download, in segments; 0 before it sends.
    pub windows: Vec<f64>,
    /// What the sender of each has done; nothing before it sends.
    pub senders: Vec<SenderStats>,
    /// What of each has arrived in order, in segments.
    pub arrived: Vec<u32>,
    /// How many segments came to each that it had before: those sent again without need.
    pub spurious: Vec<u64>,
    /// The links, each direction for itself, with their totals.
    pub links: Vec<LinkReport<'a>>,
}

/// Hears nothing.
struct Silent;

impl Listener for Silent {
    fn on_event(&mut self, _: Time, _: u32, _: &SimEvent) {}

    fn on_client(&mut self, _: Time, _: u32, _: &Client) {}
}

/// Runs a crowd for a time; `take` gets a sample every `interval`.
///
/// # Errors
/// Where the scenario makes no network, its queues outgrow memory, or the interval is 0.
pub fn run_crowd(
    scenario: &Scenario,
    crowd: &Crowd,
    (seed, span, interval): (Seed, Duration, Duration),
    take: &mut impl FnMut(CrowdSample<'_>),
) -> Result<(), RunError> {
    if interval == Duration::ZERO {
        return Err(RunError::Interval);
    }
    let endpoint = EndpointConfig {
        detector: crowd.detector,
        ..scenario.endpoint(crowd.scheme)
    };
    let mut exchange = Exchange::new(build(scenario, seed)?, &endpoint);
    let tcp = foreground_tcp(scenario);
    for number in 0..crowd.flows {
        let overhead = seed.stream(&format!("server{number}/overhead"));
        let server = Server::new(tcp, ENDLESS).with_overhead(scenario.tcp.overhead, overhead);
        exchange.add(server, Client::new(tcp), &endpoint)?;
    }
    let mut begins = begins(crowd, seed).into_iter().peekable();
    let mut now = Time::ZERO;
    while now < Time::ZERO + span {
        now += interval;
        while let Some((at, pair)) = begins.next_if(|(at, _)| *at <= now) {
            exchange.run_until(at, &mut Silent);
            exchange.tell_client(at, pair, ClientInput::Open(1), &mut Silent);
        }
        exchange.run_until(now, &mut Silent);
        exchange.fits_memory()?;
        take(sample(&exchange, now));
    }
    Ok(())
}

/// When each download begins, in order of time.
fn begins(crowd: &Crowd, seed: Seed) -> Vec<(Time, u32)> {
    let mut stream = seed.stream("crowd/begin");
    let begin = |number: u32| {
        let random = Time::ZERO + Duration(stream.below(BEGIN.as_nanos()));
        let is_last = number + 1 == crowd.flows;
        (crowd.late.filter(|_| is_last).unwrap_or(random), number)
    };
    let mut begins: Vec<(Time, u32)> = (0..crowd.flows).map(begin).collect();
    begins.sort_unstable();
    begins
}

fn sample(exchange: &Exchange, now: Time) -> CrowdSample<'_> {
    let sent = |server: &Server| server.stats().unwrap_or_default();
    let window = |server: &Server| server.congestion_window().unwrap_or(0.0);
    CrowdSample {
        at: now,
        windows: exchange.servers().map(window).collect(),
        senders: exchange.servers().map(sent).collect(),
        arrived: exchange.clients().map(Client::in_order).collect(),
        spurious: exchange.clients().map(Client::spurious).collect(),
        links: exchange.network().links_at(now).collect(),
    }
}
