//! The carriers of a stream in the lab: two nodes, or a transport that they are compared with.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use polypath_core::frame::PathId;
use polypath_core::liveness::LivenessSetting;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_scenario::{MediaPolicy, MediaScenario, MediaTreatment};
use polypath_sim::Side;
use socket2::Socket;

use super::PRIORITY;
use super::ends::{Entrance, Exit};
use super::path_use::PathUse;
use super::programs::{Commands, Programs};
use super::stream::{FinishedStream, Schedule, Stream};
use super::transport::{TCP_CONGESTION_CONTROL, Transport};
use crate::addressing::{STREAM_PORT, path_address};
use crate::endpoints::Endpoints;
use crate::mptcp::{Mptcp, MptcpConfig};
use crate::node_pair::{FinishedPair, NodePair, NodePairConfig, open_sockets};
use crate::node_process::OverlayConfig;
use crate::program::{Program, RIST_RECEIVER, RIST_SENDER, SRT};
use crate::{tcp, udp};

/// A carrier of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaCarrier {
    /// Two nodes with a policy.
    Policy(MediaPolicy),
    /// A transport that they are compared with.
    Transport(Transport),
}

impl MediaCarrier {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Policy(policy) => policy.name().to_owned(),
            Self::Transport(transport) => transport.name(),
        }
    }

    /// The programs of all transports that are found, which determine a result beside this one.
    #[must_use]
    pub fn programs() -> Vec<PathBuf> {
        let all = [SRT, RIST_SENDER, RIST_RECEIVER];
        all.into_iter().filter_map(Program::find).collect()
    }

    /// The kind of the policy, or the name of the transport.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Policy(policy) => policy.config().name().to_owned(),
            Self::Transport(transport) => transport.name(),
        }
    }
}

/// A running carrier with its stream.
pub(super) struct RunningCarrier {
    pub(super) name: String,
    pub(super) path_use: PathUse,
    running: Running,
    stream: Stream,
}

/// The result of a stream, and the nodes that carried it, if it was carried by nodes.
pub(super) struct FinishedCarrier {
    pub(super) stream: FinishedStream,
    pub(super) nodes: Option<FinishedPair>,
}

enum Running {
    Nodes(NodePair),
    /// The kernel's, on one path.
    Kernel,
    Mptcp(Mptcp),
    Programs(Programs),
}

impl RunningCarrier {
    /// Starts it between the endpoints of a network; its stream begins at `start`.
    pub(super) fn start(
        scenario: &MediaScenario,
        carrier: &MediaCarrier,
        endpoints: &Endpoints,
        clock: Clock,
        start: Time,
    ) -> io::Result<Self> {
        let schedule = Schedule::new(&scenario.media, start);
        let payload = schedule.payload_len();
        let (running, entrance, exit) = match carrier {
            MediaCarrier::Policy(policy) => {
                start_nodes(scenario, policy.treatment(), endpoints, clock)?
            }
            MediaCarrier::Transport(transport) => {
                let paths = u8::try_from(scenario.paths.len()).unwrap_or(u8::MAX);
                start_transport(*transport, paths, endpoints, payload)?
            }
        };
        Ok(Self {
            name: carrier.name(),
            path_use: path_use(carrier, scenario),
            running,
            stream: Stream::start(schedule, clock, entrance, exit),
        })
    }

    /// Fails if a program or node has ended, with its error, or else if the stream has.
    pub(super) fn check(&mut self) -> io::Result<()> {
        match &mut self.running {
            Running::Nodes(nodes) => nodes.check()?,
            Running::Programs(programs) => programs.check()?,
            Running::Kernel | Running::Mptcp(_) => {}
        }
        self.stream.check()
    }

    /// The reason why it cannot use `wanted` paths yet, if any.
    ///
    /// Those without a way to find out are given the time until the stream begins.
    pub(super) fn unsettled(
        &mut self,
        wanted: usize,
        endpoints: &Endpoints,
    ) -> io::Result<Option<String>> {
        match &mut self.running {
            Running::Nodes(nodes) => nodes.unsettled(wanted),
            Running::Mptcp(mptcp) if wanted > 1 => mptcp.unsettled(endpoints),
            Running::Mptcp(_) | Running::Kernel | Running::Programs(_) => Ok(None),
        }
    }

    /// The processor time of its nodes or programs since their start; `None` for a transport of the
    /// kernel. Fails if one has ended.
    pub(super) fn processor_time(&self) -> io::Result<Option<Duration>> {
        match &self.running {
            Running::Nodes(nodes) => nodes.processor_time().map(Some),
            Running::Programs(programs) => programs.processor_time().map(Some),
            Running::Kernel | Running::Mptcp(_) => Ok(None),
        }
    }

    /// Kills a program, for tests of its failure.
    #[cfg(test)]
    pub(super) fn kill_program(&mut self) {
        if let Running::Programs(programs) = &mut self.running {
            programs.kill_sender();
        }
    }

    /// Ends it; fails if it failed during the stream.
    pub(super) fn finish(mut self) -> io::Result<FinishedCarrier> {
        // Before the stream, whose error would only be a consequence.
        self.check()?;
        let stream = self.stream.finish()?;
        let nodes = match self.running {
            Running::Nodes(nodes) => Some(nodes.finish()?),
            Running::Kernel => None,
            Running::Mptcp(mptcp) => {
                mptcp.finish();
                None
            }
            Running::Programs(programs) => {
                if stream.deliveries.is_empty() {
                    return Err(programs.useless());
                }
                None
            }
        };
        Ok(FinishedCarrier { stream, nodes })
    }
}

/// The use of paths that is expected of a carrier: nodes have heartbeats on all of them.
fn path_use(carrier: &MediaCarrier, scenario: &MediaScenario) -> PathUse {
    match carrier {
        MediaCarrier::Transport(transport) => transport.path_use(),
        MediaCarrier::Policy(_) if matches!(scenario.liveness, LivenessSetting::Off(_)) => {
            PathUse::One
        }
        MediaCarrier::Policy(_) => PathUse::Connected,
    }
}

fn start_nodes(
    scenario: &MediaScenario,
    treatment: MediaTreatment,
    endpoints: &Endpoints,
    clock: Clock,
) -> io::Result<(Running, Entrance, Exit)> {
    let names = scenario.paths.iter().map(|path| path.name.clone());
    let names: Vec<String> = names.collect();
    let overlay = OverlayConfig {
        paths: &names,
        policy: treatment.policy,
        probing: scenario.probing,
        liveness: scenario.liveness,
        tariffs: &scenario.endpoint(treatment).tariffs,
        classes: &scenario.classes,
        spacing: treatment.spacing.as_ref(),
    };
    let config = NodePairConfig {
        overlay,
        with_events: true,
        origin_ns: Some(clock.origin_ns()),
        priority: PRIORITY,
    };
    let nodes = NodePair::start(endpoints, &config)?;
    let [from, to] = open_sockets(endpoints)?;
    Ok((
        Running::Nodes(nodes),
        Entrance::Datagrams(from),
        Exit::Datagrams(to),
    ))
}

fn start_transport(
    transport: Transport,
    paths: u8,
    endpoints: &Endpoints,
    payload: usize,
) -> io::Result<(Running, Entrance, Exit)> {
    let commands = match transport {
        Transport::Udp => {
            let [from, to] = udp::connected_pair(endpoints, on_first_path)?;
            let ends = (Entrance::Datagrams(from), Exit::Datagrams(to));
            return Ok((Running::Kernel, ends.0, ends.1));
        }
        Transport::Tcp => {
            let to = on_first_path(Side::Client);
            let (_listener, sockets) =
                tcp::connect(endpoints, [to, to], || tcp::socket(TCP_CONGESTION_CONTROL))?;
            return of_stream(Running::Kernel, sockets, payload);
        }
        Transport::Mptcp(congestion_control) => {
            let config = MptcpConfig {
                paths,
                congestion_control,
                quick: false,
            };
            let (mptcp, sockets) = Mptcp::start(endpoints, config)?;
            return of_stream(Running::Mptcp(mptcp), sockets, payload);
        }
        Transport::SrtSingle => Commands::srt_single(120),
        Transport::SrtBackup => Commands::srt_bond("backup", 120, paths),
        Transport::SrtBroadcast => Commands::srt_bond("broadcast", 70, paths),
        Transport::RistShared => Commands::rist(5, 160, paths),
        Transport::RistDuplicated => Commands::rist(0, 160, paths),
    };
    let (programs, entrance, exit) = Programs::start(endpoints, commands)?;
    Ok((Running::Programs(programs), entrance, exit))
}

fn of_stream(
    running: Running,
    [from, to]: [Socket; 2],
    payload: usize,
) -> io::Result<(Running, Entrance, Exit)> {
    let exit = Exit::of_stream(to, payload);
    Ok((running, Entrance::of_stream(from)?, exit))
}

fn on_first_path(side: Side) -> SocketAddr {
    SocketAddr::new(path_address(PathId(0), side).addr(), STREAM_PORT)
}
