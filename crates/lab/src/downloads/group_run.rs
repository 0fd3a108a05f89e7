//! One run of a group of carriers, each over a network of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_link::Counters;
use polypath_live::clock::Clock;
use polypath_live::priority;
use polypath_report::downloads::{
    DownloadCarrier, DownloadOutcome, DownloadSchedule, DownloadShares, KernelRecovery,
};
use polypath_report::media::LabConditions;
use polypath_sim::Side;

use crate::LabError;
use crate::addressing::{SIDES, STREAM_PORT, overlay_addresses, path_address};
use crate::connections::{Connections, Sending, Totals};
use crate::emulation::Emulation;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::{Network, Snapshot};
use crate::node_pair::{FinishedPair, NodePair, PRIORITY};
use crate::running::join;
use crate::settle::await_settled;

/// The interval at which the carriers are checked.
const POLL: Duration = Duration::from_millis(50);
/// From the last handshake to the first download, for the threads to start.
const LEAD: Duration = Duration::from_millis(100);

/// The settings of hosts whose TCP has neither loss probes nor F-RTO. RACK remains: from Linux 6.17 on
/// `tcp_recovery` has no effect.
const NO_PROBES: [(&str, &str); 2] = [("ipv4/tcp_early_retrans", "0"), ("ipv4/tcp_frto", "0")];

/// One run of a group of carriers.
pub(super) struct GroupRun<'a> {
    carriers: &'a [DownloadCarrier],
    congestion_control: &'a str,
    schedule: DownloadSchedule,
    seed: Seed,
    clock: Clock,
    // Drop order: nodes, then the networks and their namespaces.
    nodes: Vec<Option<NodePair>>,
    emulation: Emulation,
    endpoints: Vec<Endpoints>,
}

/// The counts of a run.
struct Carried {
    /// The totals of each carrier, or the error of its connections.
    totals: Vec<io::Result<Vec<Totals>>>,
    /// The snapshots of all networks at the times of the totals.
    snapshots: Vec<Vec<Snapshot>>,
}

impl<'a> GroupRun<'a> {
    pub(super) fn start(
        carriers: &'a [DownloadCarrier],
        congestion_control: &'a str,
        schedule: DownloadSchedule,
        seed: Seed,
    ) -> Result<Self, LabError> {
        let opened = carriers
            .iter()
            .map(|carrier| Network::open(&carrier.scenario, seed));
        let opened = opened.collect::<Result<Vec<_>, _>>()?;
        let (networks, endpoints): (Vec<Network>, Vec<Endpoints>) = opened.into_iter().unzip();
        let clock = Clock::starting_now();
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let start = |(carrier, endpoints): (&DownloadCarrier, &Endpoints)| {
            let nodes = start_nodes(carrier, endpoints);
            nodes.map_err(|source| LabError::of_carrier(&carrier.name, source))
        };
        let nodes = carriers.iter().zip(&endpoints).map(start);
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            carriers,
            congestion_control,
            schedule,
            seed,
            clock,
            nodes,
            emulation,
            endpoints,
        })
    }

    /// Waits for the end of the downloads and collects the results.
    pub(super) fn finish(
        mut self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<DownloadOutcome>, LabConditions), LabError> {
        // Before the connections: the kernel reduces its window if a SYN is lost.
        self.await_settled(interrupt)?;
        let connections = self.connect()?;
        let Carried { totals, snapshots } = self.carry(&connections, interrupt)?;
        let outcome = |(at, totals)| {
            let outcome = self.outcome(at, totals, &snapshots);
            outcome.map_err(|source| LabError::of_carrier(&self.carriers[at].name, source))
        };
        let outcomes = (0..).zip(totals).map(outcome);
        let mut outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
        drop(connections);
        let ended = self.carriers.iter().zip(self.nodes);
        for ((carrier, nodes), outcome) in ended.zip(&mut outcomes) {
            let finished = nodes.map(NodePair::finish).transpose();
            let finished =
                finished.map_err(|source| LabError::of_carrier(&carrier.name, source))?;
            if let Some(pair) = finished {
                outcome.lost = lost_between(&pair);
            }
        }
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        Ok((outcomes, emulated.conditions()))
    }

    /// Carries the downloads.
    fn carry(
        &mut self,
        connections: &[Connections],
        interrupt: &Interrupt,
    ) -> Result<Carried, LabError> {
        let (clock, start) = (self.clock, self.clock.now() + LEAD);
        let times = self.times(start);
        let totals_at = self.schedule.totals_at().map(|after| start + after);
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        let is_over = AtomicBool::new(false);
        let check = || {
            interrupt.check()?;
            // The network or a node has failed, which is the error of the run.
            let is_over = is_over.load(Ordering::Relaxed);
            if is_over {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        };
        let serve = |connections: &Connections| {
            // Without a priority, other processes affect all carriers alike.
            let _ = priority::realtime(PRIORITY);
            connections.serve(&times, &totals_at, clock, check)
        };
        let (totals, snapshots) = thread::scope(|scope| {
            let serve = &serve;
            let start = |connections| scope.spawn(move || serve(connections));
            let serving: Vec<_> = connections.iter().map(start).collect();
            let snapshots = self.watch(totals_at, interrupt);
            is_over.store(snapshots.is_err(), Ordering::Relaxed);
            let totals: Vec<_> = serving.into_iter().map(join).collect();
            (totals, snapshots)
        });
        let snapshots = snapshots?;
        self.emulation
            .stop_counting()
            .map_err(LabError::Emulation)?;
        Ok(Carried { totals, snapshots })
    }

    /// The outcome of a carrier, by its totals and the snapshots of all networks.
    fn outcome(
        &self,
        at: usize,
        totals: io::Result<Vec<Totals>>,
        snapshots: &[Vec<Snapshot>],
    ) -> io::Result<DownloadOutcome> {
        let totals = totals?;
        let [begin, end, last] = &totals[..] else {
            return Err(io::Error::other("not a total for each time"));
        };
        let links = |time: usize| towards_client(&snapshots[time][at]);
        let client = self.endpoints[at].at(Side::Client);
        let links_measured = links(1) - links(0);
        let delivered = links_measured.packets_delivered as f64;
        let marked = client.counter("netstat", "IpExt:", "InCEPkts")?;
        Ok(DownloadOutcome {
            shares: DownloadShares::of([begin, end, last]),
            measured: self.schedule.measured,
            lost: (1.0 - delivered / links_measured.packets_in.max(1) as f64).max(0.0),
            links: links_measured,
            marked: marked
                .ok_or_else(|| io::Error::other("the kernel counts no marked packets"))?,
        })
    }

    /// The time of each download, which begins as in the simulator.
    fn times(&self, start: Time) -> Vec<Sending> {
        let [first, ..] = self.carriers else {
            return Vec::new();
        };
        let starts = self.schedule.simulated(first).starts(self.seed);
        starts
            .into_iter()
            .map(|at| Sending {
                from: start + at.since(Time::ZERO),
                until: Time::MAX,
            })
            .collect()
    }

    /// Waits until the nodes use all paths.
    fn await_settled(&mut self, interrupt: &Interrupt) -> Result<(), LabError> {
        for (carrier, nodes) in self.carriers.iter().zip(&mut self.nodes) {
            let Some(nodes) = nodes else { continue };
            let settled = await_settled(self.clock, interrupt, || {
                nodes.check()?;
                nodes.unsettled(carrier.scenario.paths.len())
            });
            settled.map_err(|source| LabError::of_carrier(&carrier.name, source))?;
        }
        Ok(())
    }

    /// The connections of each carrier.
    fn connect(&self) -> Result<Vec<Connections>, LabError> {
        let connect = |(carrier, endpoints): (&DownloadCarrier, &Endpoints)| {
            let to = match carrier.policy {
                Some(_) => overlay_addresses(Side::Client)[0],
                None => path_address(PathId(0), Side::Client),
            };
            let to = SocketAddr::new(to.addr(), STREAM_PORT);
            let number = self.schedule.flows + 1;
            let opened = Connections::open(endpoints, to, number, self.congestion_control);
            opened.map_err(|source| LabError::of_carrier(&carrier.name, source))
        };
        self.carriers
            .iter()
            .zip(&self.endpoints)
            .map(connect)
            .collect()
    }

    /// Waits for each of the times and takes a snapshot of all networks there; fails as soon as the
    /// emulation or a node ends.
    fn watch(
        &mut self,
        times: [Time; 3],
        interrupt: &Interrupt,
    ) -> Result<Vec<Vec<Snapshot>>, LabError> {
        let mut snapshots = Vec::new();
        for time in times {
            while self.clock.now() < time {
                self.emulation.check().map_err(LabError::Emulation)?;
                for (carrier, nodes) in self.carriers.iter().zip(&mut self.nodes) {
                    let checked = nodes.as_mut().map_or(Ok(()), NodePair::check);
                    checked.map_err(|source| LabError::of_carrier(&carrier.name, source))?;
                }
                let next = time.min(self.clock.now() + POLL);
                interrupt.sleep_until(self.clock, next)?;
            }
            snapshots.push(self.emulation.snapshot().map_err(LabError::Emulation)?);
        }
        Ok(snapshots)
    }
}

/// Starts the nodes of a carrier that has some, on hosts with ECN (RFC 3168) and its loss recovery.
fn start_nodes(carrier: &DownloadCarrier, endpoints: &Endpoints) -> io::Result<Option<NodePair>> {
    let recovery: &[_] = match carrier.recovery {
        KernelRecovery::Full => &[],
        KernelRecovery::NoProbes => &NO_PROBES,
    };
    for side in SIDES {
        let host = endpoints.at(side);
        host.set("ipv4/tcp_ecn", "1")?;
        for (name, value) in recovery {
            host.set(name, value)?;
        }
    }
    let start = |policy| NodePair::of_scenario(&carrier.scenario, policy, endpoints);
    carrier.policy.map(start).transpose()
}

/// The share of the packets of the server's applications that the client's node did not deliver.
fn lost_between(pair: &FinishedPair) -> f64 {
    let [server, client] = &pair.stats;
    let sent = server.tun.from_applications.packets;
    let lost = sent.saturating_sub(client.tun.to_applications.packets);
    lost as f64 / sent.max(1) as f64
}

/// The totals of all links towards the client.
fn towards_client(snapshot: &Snapshot) -> Counters {
    let links = snapshot.links.iter();
    let towards = links.filter(|link| link.name.towards == Some(Side::Client));
    towards.map(|link| link.counters).sum()
}
