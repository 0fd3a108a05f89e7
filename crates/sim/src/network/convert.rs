//! Conversion of a scenario to the configurations of its parts.

use polypath_scenario as scenario;
use polypath_scenario::Scenario;

use crate::agents::datagrams::{OnOffConfig, Sojourn};
use crate::agents::tcp::SessionConfig;
use crate::tcp::TcpConfig;

/// The hosts of the measured transfers.
pub(crate) fn foreground_tcp(scenario: &Scenario) -> TcpConfig {
    TcpConfig {
        receiver_window: scenario.foreground_window(),
        syn: false,
        ..TcpConfig::from(&scenario.tcp)
    }
}

pub(super) fn sessions(source: &scenario::TcpSource, hosts: &scenario::Tcp) -> SessionConfig {
    SessionConfig {
        idle: source.idle,
        mu: source.file.mu,
        sigma: source.file.sigma,
        tcp: TcpConfig::from(hosts),
        overhead: hosts.overhead,
    }
}

pub(super) const fn datagrams(source: &scenario::UdpSource) -> OnOffConfig {
    OnOffConfig {
        peak: source.peak,
        on: source.on,
        off: source.off,
        packet: source.packet,
        sojourn: Sojourn::Exponential,
    }
}
