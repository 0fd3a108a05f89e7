//! The errors of a node.

use std::io;
use std::path::PathBuf;

use polypath_core::endpoint::ConfigError;

use crate::control::ControlError;
use crate::keys::KeyError;
use crate::privilege::PrivilegeError;
use crate::tun::TunError;
use crate::udp::UdpError;
use crate::udp_ports::UdpPortError;

/// An error that prevents the start of a node, or that stops it.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A path's socket.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// The TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// A UDP port.
    #[error(transparent)]
    UdpPort(#[from] UdpPortError),
    /// The kernel does not list its interfaces, and the paths are to be found among them.
    #[error(
        "paths = \"auto\": the kernel does not list its interfaces: {0}; list the addresses of the paths"
    )]
    Network(io::Error),
    /// The endpoint.
    #[error(transparent)]
    Endpoint(#[from] ConfigError),
    /// The paths leave too little for the TUN device.
    #[error(
        "the paths' MTU leaves {0} bytes for a packet, and IPv6 needs 1280: raise the MTU of the \
         interfaces (`ip link set DEV mtu 1500`), have long datagrams fragmented (`mtu = 1280` in `node.tun`), or remove \
         the IPv6 addresses from `node.tun.addresses`"
    )]
    Mtu(u16),
    /// Time zero is in the future: the node's time would stand still until then.
    #[error(
        "--origin-ns {origin}: that is in the future, now is {now}; give a time that has passed"
    )]
    Origin {
        /// Time zero in nanoseconds on `CLOCK_MONOTONIC`.
        origin: u64,
        /// The time of the start, likewise.
        now: u64,
    },
    /// An output file.
    #[error(
        "{option} {path}: {source}; name a file in a directory that exists and can be written",
        path = path.display()
    )]
    File {
        /// The option of the command line that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A path has a quota, and its use would not outlast the node.
    #[error(
        "{place}: the use of the quota would be forgotten when the node ends: start the node with `--state FILE`"
    )]
    QuotaWithoutState {
        /// The file and key of the quota.
        place: String,
    },
    /// The use of a quota is not known or cannot be kept.
    #[error(
        "{place}: the use of the quota is kept in --state {path}: {defect}; {remedy}",
        path = path.display()
    )]
    QuotaState {
        /// The file and key of the quota.
        place: String,
        /// The state file.
        path: PathBuf,
        /// Its defect.
        defect: String,
        /// The correction.
        remedy: String,
    },
    /// Another node has the state file.
    #[error(
        "--state {path}: another node keeps its state there; {remedy}",
        path = path.display()
    )]
    StateInUse {
        /// The state file.
        path: PathBuf,
        /// The correction.
        remedy: String,
    },
    /// The control socket.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The address of the metrics page.
    #[error("{0}")]
    Metrics(String),
    /// Privileges could not be dropped.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The event stream ended before the node did.
    #[error("the event stream is cut off: {0}")]
    Events(io::Error),
    /// The drive loop.
    #[error("the node stopped: {0}")]
    Drive(#[from] io::Error),
}
