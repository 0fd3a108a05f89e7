//! The metrics page, encoded by prometheus-client.

mod arrivals;
mod congestion;
mod datagrams;
mod measured;
mod spacing;
mod usage;

use std::fmt;
use std::sync::Arc;

use polypath_core::liveness::PathState;
use polypath_core::order::OrderStatistics;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use crate::stats::{ClassStats, DeliveryStats, Missing, PathStats, Stats, Volume};

/// The format of the page. The series are the same in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The text format of Prometheus, version 0.0.4.
    Text,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

/// The states of a path and their values of the label `state`.
const STATES: [(PathState, &str); 4] = [
    (PathState::Unproven, "unproven"),
    (PathState::Live, "live"),
    (PathState::Silent, "silent"),
    (PathState::Returning, "returning"),
];

impl Format {
    /// The best format for a client with this `Accept` field (RFC 9110, section 12.5.1):
    /// `OpenMetrics` unless the client does not list it or refuses it with a weight of zero.
    pub(super) fn accepted_by(accept: &str) -> Self {
        let accepts_open_metrics = accept.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
            media_type.eq_ignore_ascii_case("application/openmetrics-text") && weight != Some(0.0)
        });
        if accepts_open_metrics {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// The media type of the page.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The page for `stats`.
pub(super) fn page(stats: &Arc<Stats>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("polypath");
    registry.register_collector(Box::new(Snapshot {
        stats: stats.clone(),
        format,
    }));
    let mut page = String::new();
    match format {
        Format::Text => text::encode_registry(&mut page, &registry)?,
        Format::OpenMetrics => text::encode(&mut page, &registry)?,
    }
    Ok(page)
}

/// The statistics at one time.
#[derive(Debug)]
struct Snapshot {
    stats: Arc<Stats>,
    format: Format,
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = &*self.stats;
        let page = &mut Page {
            encoder,
            format: self.format,
        };
        node(page, stats)?;
        tun(page, stats)?;
        datagrams::encode(page, &stats.paths)?;
        path_status(page, &stats.paths)?;
        liveness(page, &stats.paths)?;
        delivery(page, &stats.paths)?;
        measured::encode(page, stats)?;
        usage::encode(page, &stats.paths)?;
        repairs(page, stats)?;
        order(page, stats)?;
        arrivals::encode(page, stats)?;
        spacing::encode(page, stats)?;
        congestion::encode(page, stats)?;
        classes(page, &stats.classes)?;
        drops(page, stats)
    }
}

fn node(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    page.gauge("build_info", "Always 1; the version is a label.")
        .sample(&[("version", &stats.software)], 1_u32)?;
    page.gauge("uptime_seconds", "Time since the node started.")
        .sample(&[], stats.uptime_s)?;
    page.gauge(
        "session_established",
        "1 if a session with the peer is established, else 0.",
    )
    .sample(&[], u32::from(stats.established))?;
    let age = stats.session["age_s"].as_f64();
    page.gauge("session_age_seconds", "Age of the keys in use.")
        .samples(age.map(|age| (vec![], age)))?;
    page.counter(
        "handshakes_total",
        "Handshakes by the stage that they reached.",
    )
    .samples(["initiated", "established"].map(|stage| {
        let count = stats.session[stage].as_u64().unwrap_or(0);
        (vec![("stage", stage)], count)
    }))?;
    page.gauge("policy_info", "Always 1; the policy's name is a label.")
        .sample(&[("policy", &stats.policy.kind)], 1_u32)?;
    page.counter(
        "path_switches_total",
        "Switches of data to another path by the policy.",
    )
    .sample(&[], stats.policy.switches)?;
    let reloads = [
        ("applied", stats.reloads.applied),
        ("refused", stats.reloads.refused),
    ];
    page.counter(
        "reloads_total",
        "Reloads of the configuration by their outcome.",
    )
    .samples(reloads.map(|(outcome, count)| (vec![("outcome", outcome)], count)))
}

fn tun(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let tun = &stats.tun;
    let directions = [
        ("from_applications", tun.from_applications),
        ("to_applications", tun.to_applications),
    ];
    page.counter("tun_packets_total", "IP packets of applications.")
        .samples(
            directions.map(|(direction, volume)| (vec![("direction", direction)], volume.packets)),
        )?;
    page.counter("tun_bytes_total", "Bytes of these, IP headers included.")
        .samples(
            directions.map(|(direction, volume)| (vec![("direction", direction)], volume.bytes)),
        )?;
    page.counter(
        "tun_refused_packets_total",
        "Packets that the kernel did not accept.",
    )
    .sample(&[], tun.refused)
}

fn path_status(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let sizes = paths.iter().filter_map(|path| {
        let mtu = path.mtu_bytes?;
        Some((vec![("path", &*path.name)], mtu))
    });
    page.gauge("path_mtu_bytes", "Path MTU, outer headers included.")
        .samples(sizes)?;
    let missing = paths.iter().flat_map(|path| {
        let missing = path.interface_status.missing.as_ref().map(Missing::name);
        Missing::NAMES.map(|name| {
            let labels = vec![("path", &*path.name), ("kind", name)];
            (labels, u32::from(missing == Some(name)))
        })
    });
    page.gauge(
        "path_missing",
        "1 if the path lacks this at this node, else 0.",
    )
    .samples(missing)?;
    let ages = paths.iter().filter_map(|path| {
        let age = path.last_received_s?;
        Some((vec![("path", &*path.name)], age))
    });
    page.gauge(
        "path_last_received_seconds",
        "Time since the last authentic datagram on a path.",
    )
    .samples(ages)
}

fn liveness(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let watched = || {
        let paths = paths.iter();
        paths.filter_map(|path| Some((&*path.name, path.liveness?)))
    };
    let states = watched().flat_map(|(name, liveness)| {
        STATES.map(|(state, word)| {
            let labels = vec![("path", name), ("state", word)];
            (labels, u32::from(liveness.state == state))
        })
    });
    page.gauge("path_state", "1 for the current state of the path, else 0.")
        .samples(states)?;
    let span = |of: fn(&crate::stats::LivenessStats) -> Option<f64>| {
        watched().filter_map(move |(name, liveness)| {
            let ms = of(&liveness)?;
            Some((vec![("path", name)], ms / 1e3))
        })
    };
    page.gauge(
        "path_rtt_seconds",
        "Smoothed round-trip time (SRTT of RFC 6298).",
    )
    .samples(span(|liveness| liveness.rtt_ms))?;
    page.gauge(
        "path_rtt_variation_seconds",
        "Mean deviation of the round-trip time (RTTVAR of RFC 6298).",
    )
    .samples(span(|liveness| liveness.rttvar_ms))?;
    page.gauge("path_loss_ratio", "Share of heartbeats lost, 0 to 1.")
        .samples(
            watched().filter_map(|(name, liveness)| Some((vec![("path", name)], liveness.loss?))),
        )?;
    page.counter("path_silences_total", "How often the path fell silent.")
        .samples(watched().map(|(name, liveness)| (vec![("path", name)], liveness.silences)))
}

fn delivery(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let of = |value: fn(&DeliveryStats) -> f64| {
        let measured = paths.iter().filter_map(move |path| {
            let delivery = path.delivery.as_ref()?;
            Some((vec![("path", &*path.name)], value(delivery)))
        });
        measured.collect::<Vec<_>>()
    };
    page.gauge(
        "path_one_way_delay_seconds",
        "One-way delay to the peer, from its reports.",
    )
    .samples(of(|delivery| delivery.one_way_ms / 1e3))?;
    page.gauge(
        "path_queueing_delay_seconds",
        "One-way delay above its recent minimum.",
    )
    .samples(of(|delivery| delivery.queueing_ms / 1e3))?;
    page.gauge(
        "path_packet_loss_ratio",
        "Share of packets lost, from the peer's reports.",
    )
    .samples(of(|delivery| delivery.loss))?;
    let capacities = paths.iter().filter_map(|path| {
        let capacity = path.delivery.as_ref()?.capacity_bit_per_s?;
        Some((vec![("path", &*path.name)], capacity as f64 / 8.0))
    });
    page.gauge(
        "path_capacity_bytes_per_second",
        "What the path carries of packets, measured while it was used beyond that.",
    )
    .samples(capacities)
}

fn repairs(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(repair) = stats.repair else {
        return Ok(());
    };
    let kinds = |first, copy, again| {
        let kinds = [("first", first), ("copy", copy), ("repair", again)];
        kinds.map(|(kind, count): (_, u64)| (vec![("kind", kind)], count))
    };
    page.counter(
        "transmissions_total",
        "Transmissions of packets: the first, copies sent with it, and repairs of losses.",
    )
    .samples(kinds(repair.packets, repair.copies, repair.repairs))?;
    page.counter(
        "transmission_bytes_total",
        "Bytes of transmissions, all headers included.",
    )
    .samples(kinds(
        repair.packet_bytes,
        repair.copy_bytes,
        repair.repair_bytes,
    ))?;
    page.counter(
        "packets_given_up_total",
        "Missing packets that were not repaired, by reason: too late for any path, or no budget.",
    )
    .samples([
        (vec![("reason", "late")], repair.given_up),
        (vec![("reason", "budget")], repair.unaffordable),
    ])?;
    page.counter("reports_total", "Reports received from the peer.")
        .sample(&[], repair.reports)
}

fn order(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(OrderStatistics { held, expired }) = stats.order else {
        return Ok(());
    };
    page.counter(
        "packets_held_total",
        "Packets held until earlier ones had arrived, or until the hold expired.",
    )
    .samples([
        (vec![("outcome", "ordered")], held.saturating_sub(expired)),
        (vec![("outcome", "expired")], expired),
    ])
}

fn classes(page: &mut Page<'_>, classes: &[ClassStats]) -> fmt::Result {
    if classes.is_empty() {
        return Ok(());
    }
    let of = |count: fn(&Volume) -> u64| {
        classes.iter().map(move |class| {
            let count = count(&class.from_applications);
            (vec![("class", &*class.name)], count)
        })
    };
    page.counter("class_packets_total", "Packets from applications.")
        .samples(of(|volume| volume.packets))?;
    page.counter("class_bytes_total", "Bytes of packets from applications.")
        .samples(of(|volume| volume.bytes))
}

fn drops(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let dropped = stats.dropped.iter().map(|(reason, count)| {
        let name = serde_json::to_value(reason).unwrap_or_default();
        (name.as_str().unwrap_or_default().to_owned(), *count)
    });
    let dropped: Vec<_> = dropped.collect();
    page.counter(
        "packets_dropped_total",
        "Packets dropped, by reason; duplicate counts copies after the first.",
    )
    .samples(
        dropped
            .iter()
            .map(|(reason, count)| (vec![("reason", &**reason)], *count)),
    )?;
    let rejected = stats.session["rejected"].as_object();
    let rejected = rejected.into_iter().flatten();
    page.counter(
        "datagrams_rejected_total",
        "Datagrams rejected by the session, by reason.",
    )
    .samples(
        rejected.map(|(reason, count)| (vec![("reason", &**reason)], count.as_u64().unwrap_or(0))),
    )
}

/// A page that is being encoded.
struct Page<'e> {
    encoder: DescriptorEncoder<'e>,
    format: Format,
}

/// A metric family that is being encoded.
struct Family<'p, 'e> {
    page: &'p mut Page<'e>,
    name: &'static str,
    help: &'static str,
    kind: MetricType,
}

type Labels<'a> = Vec<(&'a str, &'a str)>;

impl<'e> Page<'e> {
    fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_, 'e> {
        self.family(name, help, MetricType::Gauge)
    }

    fn counter(&mut self, name: &'static str, help: &'static str) -> Family<'_, 'e> {
        self.family(name, help, MetricType::Counter)
    }

    fn family(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: MetricType,
    ) -> Family<'_, 'e> {
        Family {
            page: self,
            name,
            help,
            kind,
        }
    }
}

impl Family<'_, '_> {
    fn sample(
        self,
        labels: &[(&str, &str)],
        value: impl EncodeGaugeValue + EncodeCounterValue,
    ) -> fmt::Result {
        self.samples([(labels.to_vec(), value)])
    }

    /// Encodes the family; one without samples is left out.
    fn samples<'a, V: EncodeGaugeValue + EncodeCounterValue>(
        self,
        samples: impl IntoIterator<Item = (Labels<'a>, V)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        // A counter of OpenMetrics is named without the suffix of its series, which the encoder
        // adds; in the text format the suffix is part of the name.
        let counter = self.name.strip_suffix("_total");
        let counter = counter.filter(|_| self.page.format == Format::OpenMetrics);
        let name = counter.unwrap_or(self.name);
        let encoder = &mut self.page.encoder;
        let mut family = encoder.encode_descriptor(name, self.help, None, self.kind)?;
        let encode = |metric: &mut MetricEncoder<'_>, value: &V| match counter {
            Some(_) => metric.encode_counter(value, None::<&Exemplar<NoLabelSet, u64>>),
            None => metric.encode_gauge(value),
        };
        for (labels, value) in samples {
            if labels.is_empty() {
                encode(&mut family, &value)?;
            } else {
                encode(&mut family.encode_family(&labels)?, &value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
