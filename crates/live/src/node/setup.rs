//! The parts of a node, built from its configuration.

use std::path::{Path, PathBuf};

use polypath_core::endpoint::{ConfigError, EndpointConfig};
use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_session::entropy::Entropy;
use polypath_session::key::PrivateKey;
use polypath_session::record::{Entry, Recorder};
use polypath_session::session::{Limits, SessionConfig};
use polypath_session::tunnel::{Tunnel, packet_overhead};

use super::Options;
use super::error::NodeError;
use super::io::application::Application;
use super::quotas;
use super::state_file::{StateError, StateFile};
use crate::clock::Clock;
use crate::config::{MIN_MTU_V6, NodeConfig, PathConfig, TunDevice};
use crate::interfaces::netlink;
use crate::interfaces::uplink::TUN_ALIAS;
use crate::keys::{KeyError, SystemEntropy};
use crate::recording::{self, RecordedMachine, RecordingHeader};
use crate::snapshot::SnapshotWriter;
use crate::stats::Stats;
use crate::tun::batch::BatchedTun;
use crate::tun::{Tun, TunConfig, TunError};
use crate::udp::PathSocket;
use crate::udp_ports::UdpPorts;

/// A clock whose time zero is `origin_ns` on `CLOCK_MONOTONIC`, by default now.
pub(super) fn clock(origin_ns: Option<u64>) -> Result<Clock, NodeError> {
    let now = Clock::starting_now();
    let origin = origin_ns.unwrap_or(now.origin_ns());
    if origin > now.origin_ns() {
        let now = now.origin_ns();
        return Err(NodeError::Origin { origin, now });
    }
    Ok(Clock::starting_at(origin))
}

/// A seed for the random draws of the policy: nodes that start together must not choose together.
pub(super) fn seed() -> Result<Seed, NodeError> {
    let mut bytes = [0; 8];
    SystemEntropy.fill(&mut bytes).map_err(KeyError::from)?;
    Ok(Seed(u64::from_be_bytes(bytes)))
}

/// A recorder that writes to the file `path`.
pub(super) fn recorder(
    path: &Path,
    endpoint: &EndpointConfig,
) -> Result<Recorder<Entry>, NodeError> {
    let machine = RecordedMachine::Endpoint(Box::new(endpoint.clone()));
    recording::start(path, &RecordingHeader::new(machine)).map_err(|source| NodeError::File {
        option: "--record",
        path: path.to_owned(),
        source,
    })
}

/// A writer of statistics to the file `path`.
pub(super) fn stats_writer(path: &Path) -> Result<SnapshotWriter<Stats>, NodeError> {
    SnapshotWriter::of_statistics(path).map_err(|source| NodeError::File {
        option: "--stats",
        path: path.to_owned(),
        source,
    })
}

/// Opens the state file of `options`.
///
/// # Errors
/// Another node has it, or a path has a quota whose use would not outlast the node.
pub(super) fn state_file(
    config: &NodeConfig,
    options: &Options,
    wall_clock: u64,
) -> Result<Option<StateFile>, NodeError> {
    let open = |path: &PathBuf| StateFile::open(path, config.peer.public_key, wall_clock);
    let mut file = options.state.as_ref().map(open);
    if let Some(file) = &file
        && let Some(error @ StateError::InUse) = file.defect()
    {
        return Err(NodeError::StateInUse {
            path: file.path().to_owned(),
            remedy: error.quota_remedy(),
        });
    }
    check_quota_state(
        &config.endpoint().tariffs,
        options.file.as_deref(),
        file.as_ref(),
    )?;
    if let Some(file) = &mut file {
        file.log_warnings();
    }
    Ok(file)
}

/// Checks that the use of a quota, which the file `config` states, outlasts the node.
pub(super) fn check_quota_state(
    tariffs: &Tariffs,
    config: Option<&Path>,
    state_file: Option<&StateFile>,
) -> Result<(), NodeError> {
    let Some(path) = quotas::first(tariffs) else {
        return Ok(());
    };
    let config = config.map_or_else(String::new, |file| format!("{}: ", file.display()));
    let place = format!("{config}`path.{}.tariff.quota`", path.index());
    let Some(file) = state_file else {
        return Err(NodeError::QuotaWithoutState { place });
    };
    file.defect().map_or(Ok(()), |defect| {
        Err(NodeError::QuotaState {
            place,
            path: file.path().to_owned(),
            defect: defect.to_string(),
            remedy: defect.quota_remedy(),
        })
    })
}

/// The configuration of the session with the peer; its datagrams have at most `max_datagram` bytes.
pub(super) fn session(
    config: &NodeConfig,
    private_key: PrivateKey,
    max_datagram: usize,
    clock: Clock,
) -> SessionConfig {
    let is_reachable = |path: &PathConfig| path.target().is_some();
    SessionConfig {
        reachable: config.paths.iter().map(is_reachable).collect(),
        max_datagram,
        wall_clock: clock.wall_at_zero(),
        limits: Limits::default(),
        receives_ecn: true,
        ..SessionConfig::new(private_key, config.peer.public_key)
    }
}

/// The tunnel, with a session for the relay of each path that has one.
pub(super) fn tunnel(
    config: &NodeConfig,
    endpoint: &EndpointConfig,
    session: &SessionConfig,
) -> Result<Tunnel, ConfigError> {
    let mut tunnel = Tunnel::new(endpoint, session.clone(), Box::new(SystemEntropy))?;
    for (id, path) in (0..).map(PathId).zip(&config.paths) {
        if let Some(relay) = &path.relay {
            let session = session.with_relay(relay.public_key);
            tunnel.add_relay(id, session, Box::new(SystemEntropy));
        }
    }
    Ok(tunnel)
}

/// The MTU of the TUN device: the configured one, or the longest packet that fits every path. Packets
/// of UDP ports are fragmented to the latter.
pub(super) fn tun_mtu(config: &NodeConfig, sockets: &[PathSocket]) -> Result<u16, NodeError> {
    let paths = config.paths.iter().zip(sockets);
    let packet_mtus = paths.map(|(path, socket)| {
        let payload = socket.mtu().saturating_sub(socket.headers()) as usize;
        payload.saturating_sub(packet_overhead(path.relay.is_some()))
    });
    let smallest = packet_mtus.min().unwrap_or(0);
    let smallest = u16::try_from(smallest).unwrap_or(u16::MAX);
    let tun = config.node.tun.as_ref();
    let mtu = tun.and_then(|tun| tun.mtu).unwrap_or(smallest);
    if config.probing.pair_len > mtu {
        let pair_len = config.probing.pair_len;
        tracing::warn!(
            pair_len,
            mtu,
            "packet pairs are longer than the MTU of the TUN device"
        );
    }
    let mut addresses = tun.iter().flat_map(|tun| &tun.addresses);
    if mtu < MIN_MTU_V6 && addresses.any(|prefix| prefix.addr().is_ipv6()) {
        return Err(NodeError::Mtu(mtu));
    }
    Ok(mtu)
}

/// Opens the TUN device with this MTU, or the UDP ports.
///
/// # Errors
/// The device or the first port that cannot be opened.
pub(super) fn open_application(
    config: &NodeConfig,
    mtu: u16,
    clock: Clock,
) -> Result<Application, NodeError> {
    let offload = config.offload();
    let Some(tun) = &config.node.tun else {
        let name = config.node.name();
        let ports = UdpPorts::open(&config.node.udp, name, mtu, offload, clock)?;
        for port in &config.node.udp {
            let [listen, to] = [port.listen, port.to].map(|end| end.map(|end| end.to_string()));
            tracing::info!(port = port.port, listen, to, "UDP port open");
        }
        return Ok(Application::Udp(ports));
    };
    let device = open_tun(tun, mtu, offload)?;
    Ok(Application::Tun(BatchedTun::new(device, offload)))
}

fn open_tun(tun: &TunDevice, mtu: u16, offload: bool) -> Result<Tun, TunError> {
    let device = Tun::open(&TunConfig {
        name: tun.name.clone(),
        addresses: tun.addresses.clone(),
        mtu,
        queue: tun.queue,
        offload,
    })?;
    // Without the mark another node that looks for uplinks would use the device as one.
    if let Err(error) = netlink::set_alias(device.name(), TUN_ALIAS) {
        tracing::debug!(%error, "the TUN device cannot be marked as that of a node");
    }
    Ok(device)
}
