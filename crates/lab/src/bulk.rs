//! A bulk transfer between real hosts over emulated links: one connection of the kernel's TCP over
//! two nodes, of its Multipath TCP over all paths, or of its TCP over the first path alone.
//!
//! Carriers run one after another, each over a network of its own, since the goodput of a fast one
//! is bounded by the processor that it would share with the others. A run begins when all paths are
//! in use, so that a handshake is not measured; the hosts have the kernel's defaults.

mod transfer;

use std::io;
use std::net::SocketAddr;

use ipnet::IpNet;
use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::RepairConfig;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use polypath_report::media::LabConditions;
use polypath_scenario::Scenario;
use polypath_sim::Side;
use socket2::Socket;

use crate::LabError;
use crate::addressing::{STREAM_PORT, overlay_addresses, path_address};
use crate::emulation::Emulation;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::mptcp::{self, Mptcp, MptcpConfig};
use crate::network::Network;
use crate::node_pair::NodePair;
use crate::preflight::preflight;
use crate::settle::await_settled;
use crate::tcp;
use transfer::Transfer;

/// A carrier of a bulk transfer, with the kernel's name of its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkCarrier {
    /// TCP over two nodes with the policy `in-time` and its defaults.
    InTime(&'static str),
    /// Multipath TCP (RFC 8684) with a subflow on each path.
    Mptcp(&'static str),
    /// TCP over the first path.
    Tcp(&'static str),
}

impl BulkCarrier {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::InTime(congestion_control) => format!("in-time, tcp {congestion_control}"),
            Self::Mptcp(congestion_control) => format!("mptcp {congestion_control}"),
            Self::Tcp(congestion_control) => format!("first path, tcp {congestion_control}"),
        }
    }

    /// The kernel's name of its congestion control.
    #[must_use]
    pub fn congestion_control(self) -> &'static str {
        match self {
            Self::InTime(name) | Self::Mptcp(name) | Self::Tcp(name) => name,
        }
    }
}

/// The result of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkRun {
    /// The bytes that the application received: all of the transfer, or those until its timeout.
    pub received: u64,
    /// The time from the first byte offered to the last one received.
    pub duration: Duration,
    /// The bytes that both ends sent on all paths meanwhile, with all headers.
    pub wire: u64,
    /// Packets that the kernel dropped at full device queues, before the emulated network.
    pub dropped: u64,
    /// The conditions of the run.
    pub conditions: LabConditions,
}

impl BulkRun {
    /// The goodput in bits per second.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.received as f64 * 8.0 / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A lab for bulk transfers; signals to stop are caught until it is dropped.
#[derive(Debug)]
pub struct BulkLab {
    interrupt: Interrupt,
}

impl BulkLab {
    /// Prepares the lab.
    ///
    /// # Errors
    /// If the lab, Multipath TCP or a congestion control is not available, with the remedy.
    pub fn open(carriers: &[BulkCarrier]) -> Result<Self, LabError> {
        preflight()?;
        for carrier in carriers {
            match carrier {
                BulkCarrier::Mptcp(name) => mptcp::preflight(name)?,
                BulkCarrier::InTime(name) | BulkCarrier::Tcp(name) => tcp::preflight(name)?,
            }
        }
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        Ok(Self { interrupt })
    }

    /// Transfers the bytes of one transfer of the scenario from the server's side to the client's.
    ///
    /// A transfer that is not complete at its timeout is a result. The congestion control is that
    /// of the carrier, and the other settings of TCP are those of the kernel, not of the scenario.
    ///
    /// # Errors
    /// If the scenario makes no network, or the carrier fails or does not use all paths within 20
    /// s; and with [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(
        &self,
        scenario: &Scenario,
        carrier: BulkCarrier,
        seed: u64,
    ) -> Result<BulkRun, LabError> {
        let (network, endpoints) = Network::open(scenario, Seed(seed))?;
        let clock = Clock::starting_now();
        let mut emulation = Emulation::start(vec![network], clock).map_err(LabError::Emulation)?;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::Interrupted => LabError::Interrupted,
            _ => LabError::of_carrier(&carrier.name(), source),
        };
        let setting = Setting {
            scenario,
            endpoints: &endpoints,
            interrupt: &self.interrupt,
            clock,
        };
        let (mut running, sockets) = setting.start(carrier).map_err(failed)?;
        let before = emulation.snapshot().map_err(LabError::Emulation)?;
        emulation.start_counting().map_err(LabError::Emulation)?;
        let transfer = Transfer {
            size: scenario.transfer.size,
            timeout: scenario.transfer.timeout,
            clock,
        };
        let transferred = transfer.run(sockets, || {
            self.interrupt.check()?;
            emulation.check()?;
            running.check()
        });
        let (received, duration) = transferred.map_err(failed)?;
        emulation.stop_counting().map_err(LabError::Emulation)?;
        let after = emulation.snapshot().map_err(LabError::Emulation)?;
        let sent = [Side::Server, Side::Client]
            .map(|side| after[0].sent_by(side).bytes - before[0].sent_by(side).bytes);
        let dropped = endpoints.dropped().map_err(LabError::Namespace)?;
        running.finish().map_err(failed)?;
        let emulated = emulation.finish().map_err(LabError::Emulation)?;
        Ok(BulkRun {
            received,
            duration,
            wire: sent.iter().sum(),
            dropped,
            conditions: emulated.conditions(),
        })
    }
}

/// The surroundings of a carrier.
struct Setting<'a> {
    scenario: &'a Scenario,
    endpoints: &'a Endpoints,
    interrupt: &'a Interrupt,
    clock: Clock,
}

/// A carrier that runs.
enum Running {
    Nodes(NodePair),
    Mptcp(Mptcp),
    /// The kernel's TCP on one path.
    Kernel,
}

impl Setting<'_> {
    /// Starts a carrier and waits until all paths are in use; returns it with the sender's and the
    /// receiver's socket.
    fn start(&self, carrier: BulkCarrier) -> io::Result<(Running, [Socket; 2])> {
        match carrier {
            BulkCarrier::InTime(congestion_control) => {
                let policy = PolicyConfig::InTime(RepairConfig::default());
                let nodes = NodePair::of_scenario(self.scenario, policy, self.endpoints)?;
                let mut running = Running::Nodes(nodes);
                // Before the connection: the kernel reduces its window if a SYN is lost.
                self.await_settled(&mut running)?;
                let [to, _] = overlay_addresses(Side::Client);
                Ok((running, self.connect(to, congestion_control)?))
            }
            BulkCarrier::Tcp(congestion_control) => {
                let to = path_address(PathId(0), Side::Client);
                Ok((Running::Kernel, self.connect(to, congestion_control)?))
            }
            BulkCarrier::Mptcp(congestion_control) => {
                let config = MptcpConfig {
                    paths: u8::try_from(self.scenario.paths.len()).unwrap_or(u8::MAX),
                    congestion_control,
                    quick: false,
                };
                let (mptcp, sockets) = Mptcp::start(self.endpoints, config)?;
                let mut running = Running::Mptcp(mptcp);
                self.await_settled(&mut running)?;
                Ok((running, sockets))
            }
        }
    }

    fn connect(&self, to: IpNet, congestion_control: &str) -> io::Result<[Socket; 2]> {
        let to = SocketAddr::new(to.addr(), STREAM_PORT);
        let open = || tcp::socket(congestion_control);
        Ok(tcp::connect(self.endpoints, [to, to], open)?.1)
    }

    /// Waits until a carrier uses all paths.
    fn await_settled(&self, running: &mut Running) -> io::Result<()> {
        await_settled(self.clock, self.interrupt, || {
            running.check()?;
            match running {
                Running::Nodes(nodes) => nodes.unsettled(self.scenario.paths.len()),
                Running::Mptcp(mptcp) => mptcp.unsettled(self.endpoints),
                Running::Kernel => Ok(None),
            }
        })
    }
}

impl Running {
    /// Fails with the error of a node that has ended.
    fn check(&mut self) -> io::Result<()> {
        match self {
            Self::Nodes(nodes) => nodes.check(),
            Self::Mptcp(_) | Self::Kernel => Ok(()),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Nodes(nodes) => nodes.finish().map(drop),
            Self::Mptcp(mptcp) => {
                mptcp.finish();
                Ok(())
            }
            Self::Kernel => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
