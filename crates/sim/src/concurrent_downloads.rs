//! Several downloads at once over the same paths, each between hosts of its own, and behind endpoints
//! of its own or one pair of endpoints for all.
//!
//! The paths, their links and background, and TCP are a scenario's; the downloads begin at random
//! within the first second and never end.

use polypath_core::combine::DetectorConfig;
use polypath_core::endpoint::EndpointConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};

use crate::error::RunError;
use crate::host_group::{GroupInput, HostGroup};
use crate::host_pairs::{HostPairs, Listener};
use crate::network::{build, foreground_tcp};
use crate::observer::SimEvent;
use crate::tcp::{Client, ClientInput, SenderStats, Server};
use crate::world::LinkReport;

/// The size of a file that no run finishes, in segments.
const ENDLESS: u32 = u32::MAX / 2;
/// The time in which the downloads start.
const BEGIN: Duration = Duration::from_secs(1);

/// Several downloads at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConcurrentDownloads {
    /// The number of downloads.
    pub flows: u32,
    /// The scheme, which decides on the paths.
    pub scheme: Scheme,
    /// Whether one pair of endpoints carries all downloads, as two nodes do; otherwise each has its
    /// own.
    pub share_endpoints: bool,
    /// The detector of congestion at the receivers, if any. TCP reacts to marks only with
    /// `tcp.ecn`.
    pub detector: Option<DetectorConfig>,
    /// The start of the last download, if it differs from that of the others.
    pub late: Option<Time>,
}

impl ConcurrentDownloads {
    /// The start of each download.
    #[must_use]
    pub fn starts(&self, seed: Seed) -> Vec<Time> {
        let mut stream = seed.stream("crowd/begin");
        let start = |number: u32| {
            let random = Time::ZERO + Duration(stream.below(BEGIN.as_nanos()));
            let is_last = number + 1 == self.flows;
            self.late.filter(|_| is_last).unwrap_or(random)
        };
        (0..self.flows).map(start).collect()
    }
}

/// The seed and the times of a run of concurrent downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadsRun {
    /// The root of all random streams.
    pub seed: Seed,
    /// The simulated time.
    pub span: Duration,
    /// The time between samples; more than 0.
    pub interval: Duration,
}

/// A sample of concurrent downloads.
#[derive(Clone, Debug, PartialEq)]
pub struct DownloadsSample<'a> {
    /// The time of the sample.
    pub at: Time,
    /// The congestion window of each download, in segments; 0 before it sends.
    pub windows: Vec<f64>,
    /// The totals of each sender; zero before it sends.
    pub senders: Vec<SenderStats>,
    /// The segments of each download that have arrived in order.
    pub arrived: Vec<u32>,
    /// The duplicate segments received by each download: spurious retransmissions.
    pub spurious: Vec<u64>,
    /// The segments of each download that arrived with a mark.
    pub marks: Vec<u64>,
    /// The totals of the links, for each direction.
    pub links: Vec<LinkReport<'a>>,
}

/// Ignores all events.
struct Silent;

impl<C> Listener<C> for Silent {
    fn on_event(&mut self, _: Time, _: u32, _: &SimEvent) {}

    fn on_client(&mut self, _: Time, _: u32, _: &C) {}
}

/// The hosts of all downloads.
type DownloadHosts = HostPairs<HostGroup<Server>, HostGroup<Client>>;

/// Runs concurrent downloads for a time; `take` receives a sample after each interval.
///
/// # Errors
/// Returns an error if the scenario makes no network, its queues outgrow memory, or the interval is
/// 0.
pub fn run_concurrent_downloads(
    scenario: &Scenario,
    downloads: &ConcurrentDownloads,
    run: DownloadsRun,
    take: &mut impl FnMut(DownloadsSample<'_>),
) -> Result<(), RunError> {
    let DownloadsRun {
        seed,
        span,
        interval,
    } = run;
    if interval == Duration::ZERO {
        return Err(RunError::Interval);
    }
    let endpoint = EndpointConfig {
        detector: downloads.detector,
        seed: seed.child("overlay"),
        ..scenario.endpoint(downloads.scheme)
    };
    let mut pairs = DownloadHosts::new(build(scenario, seed)?, &endpoint);
    let tcp = foreground_tcp(scenario);
    let server = |number: u32| {
        let overhead = seed.stream(&format!("server{number}/overhead"));
        Server::new(tcp, ENDLESS).with_overhead(scenario.tcp.overhead, overhead)
    };
    let of_pair = if downloads.share_endpoints {
        downloads.flows.max(1)
    } else {
        1
    };
    for first in (0..downloads.flows).step_by(of_pair as usize) {
        let servers = (first..first + of_pair).map(server).collect();
        let clients = vec![Client::new(tcp); of_pair as usize];
        let (servers, clients) = (HostGroup::new(servers), HostGroup::new(clients));
        pairs.add(servers, clients, &endpoint)?;
    }
    let mut starts: Vec<(Time, u32)> = downloads.starts(seed).into_iter().zip(0..).collect();
    starts.sort_unstable();
    let mut starts = starts.into_iter().peekable();
    let mut now = Time::ZERO;
    while now < Time::ZERO + span {
        now += interval;
        while let Some((at, number)) = starts.next_if(|(at, _)| *at <= now) {
            pairs.run_until(at, &mut Silent);
            let connection = number % of_pair + 1;
            let input = GroupInput {
                connection,
                input: ClientInput::Open(connection),
            };
            pairs.input_to_client(at, number / of_pair, input, &mut Silent);
        }
        pairs.run_until(now, &mut Silent);
        pairs.fits_memory()?;
        take(sample(&pairs, now));
    }
    Ok(())
}

fn sample(pairs: &DownloadHosts, now: Time) -> DownloadsSample<'_> {
    let sent = |server: &Server| server.stats().unwrap_or_default();
    let window = |server: &Server| server.congestion_window().unwrap_or(0.0);
    let servers = || pairs.servers().flat_map(HostGroup::hosts);
    let clients = || pairs.clients().flat_map(HostGroup::hosts);
    DownloadsSample {
        at: now,
        windows: servers().map(window).collect(),
        senders: servers().map(sent).collect(),
        arrived: clients().map(Client::in_order).collect(),
        spurious: clients().map(Client::spurious).collect(),
        marks: clients().map(Client::marks).collect(),
        links: pairs.network().links_at(now).collect(),
    }
}
