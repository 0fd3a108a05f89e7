//! From the data of a scenario to the configurations of the parts.

use polypath_core::time::{Duration, Time};
use polypath_link::{
    CoDelConfig, ConfigError, GilbertElliott, LinkConfig, OnOff, Outage, QueueConfig, QueueLimit,
    RedConfig, Trace,
};
use polypath_scenario as scenario;
use polypath_scenario::{ActiveQueue, Scenario};

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

/// One direction of a link: the one in which the scenario lists it.
pub(super) fn link(link: &scenario::Link) -> Result<LinkConfig, ConfigError> {
    let since_start = |span: Duration| Time::ZERO + span;
    let rate = match &link.trace {
        Some(trace) => Trace::new(trace.entries.iter().copied())?.into(),
        None => link.rate.unwrap_or_default().into(),
    };
    Ok(LinkConfig {
        rate,
        delay: link.delay,
        queue: queue(link.queue),
        loss: link.loss,
        gilbert_elliott: link.gilbert_elliott.map(|g| GilbertElliott {
            p: g.p,
            r: g.r,
            good: g.good,
            bad: g.bad,
        }),
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
    })
}

pub(super) fn host_link(link: &scenario::HostLink) -> LinkConfig {
    LinkConfig::new(link.rate, link.delay, limit(link.queue))
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

fn queue(queue: scenario::Queue) -> QueueConfig {
    let limit = limit(queue.limit());
    match queue {
        scenario::Queue::DropTail(_) => QueueConfig::DropTail(limit),
        scenario::Queue::Active(ActiveQueue::Red {
            limit: _,
            min_th,
            max_th,
            max_p,
            weight,
            gentle,
            wait,
            ecn,
            mean_packet,
        }) => QueueConfig::Red(RedConfig {
            limit,
            min_th,
            max_th,
            max_p,
            weight,
            gentle,
            wait,
            ecn,
            mean_packet,
        }),
        scenario::Queue::Active(ActiveQueue::CoDel {
            limit: _,
            target,
            interval,
            ecn,
            max_packet,
        }) => QueueConfig::CoDel(CoDelConfig {
            limit,
            target,
            interval,
            ecn,
            max_packet,
        }),
    }
}

fn limit(limit: scenario::QueueLimit) -> QueueLimit {
    match limit {
        scenario::QueueLimit::Packets(n) => QueueLimit::Packets(n),
        scenario::QueueLimit::Bytes(n) => QueueLimit::Bytes(n),
        scenario::QueueLimit::Unlimited => QueueLimit::Unlimited,
    }
}
