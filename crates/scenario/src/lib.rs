//! Experiments as plain validated data.
//!
//! An [`Experiment`] is a [`Scenario`] (transfers over given paths, by several schemes), a
//! [`MediaScenario`] (a media stream over given paths, by several policies) or a [`Network`] (any
//! graph with any flows).
//!
//! A [`Scenario`] names the paths between a server and a client, the traffic that loads them, the
//! measured transfer and the schemes that carry it. The simulator and the lab build their parts
//! from the same scenario. Nothing here reads a file, a clock or a random source.

pub mod background;
mod check;
mod endpoint;
mod experiment;
mod loaded_paths;
pub mod media;
pub mod network;
mod notation;
mod parameters;
pub mod path;
pub mod scenario;
pub mod settings;
mod sweep;
pub mod tcp;
pub mod trace;

pub use background::{
    Background, Destinations, HostLink, LogNormal, Profile, TcpSource, UdpSource,
};
pub use experiment::Experiment;
pub use loaded_paths::LoadedPaths;
pub use media::{Media, MediaPolicy, MediaScenario, MediaTreatment, NamedPolicy};
pub use network::Network;
pub use parameters::parameters;
pub use path::{Link, Path};
pub use scenario::{SCHEMA_VERSION, Scenario, Scheme, Transfer};
pub use settings::{CongestionControl, Encapsulation, Lab, Overlay};
pub use sweep::Sweep;
pub use tcp::{Tcp, TcpVariant};
pub use trace::{Files, PacketTrace, Trace, TraceFormat, TracePacket, check_trace};
