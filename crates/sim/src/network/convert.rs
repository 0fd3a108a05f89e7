//! From the data of a scenario to the configurations of the parts.

use polypath_core::time::{Duration, Time};
use polypath_link::{LinkConfig, OnOff, Outage, QueueLimit};
use polypath_scenario as scenario;
use polypath_scenario::Scenario;

use crate::tcp::TcpConfig;
use crate::traffic::{OnOffConfig, SessionConfig, Sojourn};

/// The hosts of the measured transfers.
pub(crate) fn foreground_tcp(scenario: &Scenario) -> TcpConfig {
    TcpConfig {
        receiver_window: scenario.foreground_window(),
        syn: false,
        ..TcpConfig::from(&scenario.tcp)
    }
}

pub(super) fn link(link: &scenario::Link) -> LinkConfig {
    let since_start = |span: Duration| Time::ZERO + span;
    LinkConfig {
        rate: link.rate.into(),
        delay: link.delay,
        queue: queue(link.queue).into(),
        loss: link.loss,
        gilbert_elliott: None,
        on_off: link.onoff.map(|o| OnOff {
            up: o.up,
            down: o.down,
        }),
        outages: link
            .outage
            .iter()
            .map(|o| Outage {
                from: since_start(o.from),
                until: o.until.map(since_start),
            })
            .collect(),
    }
}

pub(super) fn host_link(link: &scenario::HostLink) -> LinkConfig {
    LinkConfig::new(link.rate, link.delay, queue(link.queue))
}

pub(super) fn sessions(source: &scenario::TcpSource, tcp: TcpConfig) -> SessionConfig {
    SessionConfig {
        idle: source.idle,
        mu: source.file.mu,
        sigma: source.file.sigma,
        tcp,
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

fn queue(limit: scenario::QueueLimit) -> QueueLimit {
    match limit {
        scenario::QueueLimit::Packets(n) => QueueLimit::Packets(n),
        scenario::QueueLimit::Bytes(n) => QueueLimit::Bytes(n),
    }
}
