//! A network whose senders choose among the same paths: its one flow of kind `multihomed` or
//! `tunnel`.
//!
//! The number of senders scales the network: the rates and queues of all links and the rate of the
//! background are multiplied by the ratio of the numbers, so that utilisation, queueing delays and
//! the interval of each sender stay those of the file.

mod scale;
mod setting;
#[cfg(test)]
mod tests;
mod traffic;

use polypath_core::multihomed::MultihomedSource;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_document::{Errors, Override, Problems};
use polypath_link::QueueLimit;

use super::graph::{Graph, GraphLink};
use super::route::{Router, Stop};
use super::traffic::Traffic;
use super::{Flow, Network, flow_stream};
use crate::trace::Files;
pub use scale::{Scale, ScaleError};
pub use setting::{GridPoint, PolicyGrid, RunMode, Setting};
pub use traffic::SenderTraffic;

/// The maximum number of paths among which senders choose.
pub const MAX_SENDER_PATHS: usize = 8;

/// The time beyond the longest delay of the paths in which repairs arrive.
const REPAIRS: Duration = Duration::from_millis(500);

/// The senders of a network, which are the flows of one `[[flow]]` of kind `multihomed` or `tunnel`.
#[derive(Clone, Copy, Debug)]
pub struct Senders<'a> {
    /// The position of the flow in the file.
    pub position: usize,
    /// The flow.
    pub flow: &'a Flow,
    /// Its traffic.
    pub traffic: SenderTraffic<'a>,
    network: &'a Network,
}

/// The limits of a path, from its links in the direction of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct PathLimits {
    /// The name: those of its nodes and links between the ends.
    pub name: String,
    /// The lowest rate of its links.
    pub rate: Rate,
    /// The delay of a datagram over the idle path.
    pub idle_delay: Duration,
    /// The delay of a datagram that finds all queues full.
    pub full_delay: Duration,
}

impl Network {
    /// Reads a network like [`Network::parse_with`], and checks that it has senders ([`Senders`]).
    ///
    /// # Errors
    /// All problems at once, each with its line and the remedy.
    pub fn parse_senders(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
    ) -> Result<Self, Errors> {
        Self::parse_checked(text, file_name, overrides, files, check)
    }

    /// The senders, if there is exactly one flow of a kind that chooses among paths.
    #[must_use]
    pub fn senders(&self) -> Option<Senders<'_>> {
        let mut all = choosing(self);
        let (position, flow, traffic) = all.next()?;
        all.next().is_none().then_some(Senders {
            position,
            flow,
            traffic,
            network: self,
        })
    }

    /// The times between which a datagram is sent whose arrival is due before the end of the run:
    /// from the end of the warm-up until as long before the end as full queues and repairs delay it,
    /// at most half of the measured time.
    #[must_use]
    pub fn due_span(&self) -> [Time; 2] {
        let paths = self.senders().map_or(Vec::new(), |senders| senders.paths());
        let full = paths.iter().map(|path| path.full_delay).max();
        let measured = self.run.duration - self.run.warm_up;
        let drain = (full.unwrap_or_default() + REPAIRS).min(measured.scale(1, 2));
        [
            Time::ZERO + self.run.warm_up,
            Time::ZERO + (self.run.duration - drain),
        ]
    }

    /// Changes the policy of the senders.
    ///
    /// # Panics
    /// If multihomed senders get a policy that does not select a path by its delay.
    pub fn set_sender_policy(&mut self, policy: PolicyConfig) {
        for flow in &mut self.flows {
            match &mut flow.traffic {
                Traffic::Multihomed(traffic) => {
                    traffic.policy = policy.by_delay().expect("a policy of multihomed senders");
                }
                Traffic::Tunnel(traffic) => traffic.policy = policy,
                _ => {}
            }
        }
    }
}

/// The flows that choose among paths, by their positions.
fn choosing(network: &Network) -> impl Iterator<Item = (usize, &Flow, SenderTraffic<'_>)> {
    let flows = network.flows.iter().enumerate();
    flows.filter_map(|(position, flow)| {
        let traffic = match &flow.traffic {
            Traffic::Multihomed(traffic) => SenderTraffic::Multihomed(traffic),
            Traffic::Tunnel(traffic) => SenderTraffic::Tunnel(traffic),
            _ => return None,
        };
        Some((position, flow, traffic))
    })
}

/// Reports a network without senders, or whose senders do not choose among the same few paths.
fn check(network: &Network, problems: &mut Problems) {
    let found: Vec<usize> = choosing(network).map(|(position, ..)| position).collect();
    let [position] = found[..] else {
        return report_flows(&found, problems);
    };
    let (Some(senders), at) = (network.senders(), format!("flow.{position}")) else {
        return;
    };
    let ways = senders.traffic.ways().len();
    if !(2..=MAX_SENDER_PATHS).contains(&ways) {
        let message = format!("the senders have {ways} paths to choose from");
        let remedy = format!("list 2 to {MAX_SENDER_PATHS}: ways = [[\"left\"], [\"right\"]]");
        problems.report(&format!("{at}.traffic.ways"), message, remedy);
    }
    if senders.flow.different() > 1 {
        let message = "`{}` gives each sender nodes of its own";
        let remedy = "name one node in `from`, one in `to`, and the same links in `ways`";
        problems.report(&at, message, remedy);
    }
    let end = senders.flow.active.start + senders.flow.active.start_spread;
    if end > network.run.warm_up {
        let message = format!("the last sender starts at {end}, after the warm-up");
        let remedy = format!("set `run.warm_up` to {end} or more");
        problems.report_among(
            &[&format!("{at}.start_spread"), "run.warm_up"],
            message,
            remedy,
        );
    }
    for (index, edge) in network.links.iter().enumerate() {
        if edge.link.queue.limit() == QueueLimit::Unlimited {
            let message = "an unlimited queue has no maximum delay";
            let remedy = "limit it: queue = \"250 packets\", or a size in kB";
            problems.report(&format!("link.{index}.queue"), message, remedy);
        }
    }
}

fn report_flows(found: &[usize], problems: &mut Problems) {
    if let Some(second) = found.get(1) {
        let message = "two flows choose their paths";
        let remedy = "merge them into one flow with a `count`";
        return problems.report(&format!("flow.{second}"), message, remedy);
    }
    let message = "no flow has the kind `multihomed` or `tunnel`, so no sender chooses a path";
    let remedy = "add one, such as that of scenarios/two-uplinks.toml";
    problems.report("flow.0", message, remedy);
}

impl Senders<'_> {
    /// The number of senders.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.flow.count
    }

    /// The positions of the senders among all flows of the network.
    #[must_use]
    pub fn flows(&self) -> std::ops::Range<usize> {
        let before = self.network.flows[..self.position].iter();
        let first = before.map(|flow| flow.count as usize).sum();
        first..first + self.count() as usize
    }

    /// The sources of all senders, with the random streams of a simulation; they send nothing at
    /// `end` or later. None for senders that are nodes.
    #[must_use]
    pub fn sources(&self, seed: Seed, end: Time) -> Vec<MultihomedSource> {
        let SenderTraffic::Multihomed(traffic) = self.traffic else {
            return Vec::new();
        };
        let source = |number| {
            let name = self.flow.name_of(number);
            let [start, stop] = self.flow.span(seed, &name);
            let stream = |part: &str| flow_stream(seed, &name, part);
            traffic.source(start, stop.min(end), stream)
        };
        (0..self.count()).map(source).collect()
    }

    /// The limits of each path, in the order of `ways`.
    #[must_use]
    pub fn paths(&self) -> Vec<PathLimits> {
        let graph = self.network.graph();
        let mut router = Router::new(&graph);
        let ways = self.flow.routes(0).zip(self.traffic.ways());
        let limits = ways.filter_map(|(stops, way)| {
            let stops = stops.iter().map(|stop| graph.stop(stop));
            let stops = stops.collect::<Option<Vec<Stop>>>()?;
            let there = router.round_trip(&stops).ok()?.there;
            Some(self.limits(way, &there, &graph))
        });
        limits.collect()
    }

    fn limits(&self, way: &[String], route: &[usize], graph: &Graph) -> PathLimits {
        let links = || route.iter().map(|&link| &graph.links[link]);
        let rate = |link: &GraphLink| link.link.rate.unwrap_or_default();
        let packet = self.traffic.datagram();
        let sum = |of: &dyn Fn(&GraphLink) -> Duration| {
            links()
                .map(of)
                .fold(Duration::ZERO, |sum, delay| sum + delay)
        };
        PathLimits {
            name: way.join("+"),
            rate: links().map(rate).min().unwrap_or_default(),
            idle_delay: sum(&|link| link.link.delay + rate(link).transmission_time(packet)),
            full_delay: sum(&|link| {
                let full = match link.link.queue.limit() {
                    QueueLimit::Bytes(bytes) => bytes,
                    QueueLimit::Packets(packets) => Bytes(packet.0 * u64::from(packets)),
                    QueueLimit::Unlimited => Bytes(0),
                };
                link.link.delay + rate(link).transmission_time(full)
            }),
        }
    }

    /// The utilisation of eq. 2 of the delay-centric paper: the rate of all data and background over
    /// the sum of the rates of the paths.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let capacity: f64 = self.paths().iter().map(|path| path.rate.as_f64()).sum();
        let background = self
            .network
            .flows
            .iter()
            .filter_map(|flow| match flow.traffic {
                Traffic::Poisson(poisson) => Some(poisson.rate.as_f64() * f64::from(flow.count)),
                _ => None,
            });
        (self.rate() + background.sum::<f64>()) / capacity
    }

    /// The rate of the data of all senders in bits per second.
    fn rate(&self) -> f64 {
        let bits = 8.0 * self.traffic.datagram().0 as f64;
        f64::from(self.count()) * bits / self.traffic.interval().as_secs_f64()
    }
}
