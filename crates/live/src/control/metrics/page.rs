//! The page.

use std::fmt::{Display, Write};

use polypath_core::liveness::PathState;

use crate::stats::{Missing, PathStats, Stats, Volume};

/// What the page is, as HTTP says it.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All states of a path, as the label `state` has them.
const STATES: [(PathState, &str); 4] = [
    (PathState::Unproven, "unproven"),
    (PathState::Live, "live"),
    (PathState::Silent, "silent"),
    (PathState::Returning, "returning"),
];

/// The page of what a node counted.
#[must_use]
pub(super) fn page(stats: &Stats) -> String {
    let mut page = Page::default();
    node(&mut page, stats);
    tun(&mut page, stats);
    volumes(&mut page, &stats.paths);
    datagrams(&mut page, &stats.paths);
    monitor(&mut page, &stats.paths);
    liveness(&mut page, &stats.paths);
    drops(&mut page, stats);
    page.0
}

fn node(page: &mut Page, stats: &Stats) {
    page.gauge("build_info", "Always 1; the version is a label.")
        .sample(&[("version", &stats.software)], 1);
    page.gauge("uptime_seconds", "Since the node started.")
        .sample(&[], stats.uptime_s);
    page.gauge(
        "session_established",
        "1 where packets can cross now, else 0.",
    )
    .sample(&[], u8::from(stats.established));
    let age = stats.session["age_s"].as_f64();
    page.gauge(
        "session_age_seconds",
        "Since the keys in use were agreed on.",
    )
    .samples(age.map(|age| (vec![], age)));
    page.counter("handshakes_total", "Handshakes by how far they came.")
        .samples(["initiated", "established"].map(|stage| {
            let count = stats.session[stage].as_u64().unwrap_or(0);
            (vec![("stage", stage)], count)
        }));
    page.gauge("policy_info", "Always 1; the policy's name is a label.")
        .sample(&[("policy", &stats.policy.kind)], 1);
    page.counter(
        "path_switches_total",
        "How often the policy took data to another path.",
    )
    .sample(&[], stats.policy.switches);
    let reloads = [
        ("applied", stats.reloads.applied),
        ("refused", stats.reloads.refused),
    ];
    page.counter(
        "reloads_total",
        "Reloads of the configuration by their outcome.",
    )
    .samples(reloads.map(|(outcome, count)| (vec![("outcome", outcome)], count)));
}

fn tun(page: &mut Page, stats: &Stats) {
    let tun = &stats.tun;
    let ways = [
        ("from_applications", tun.from_applications),
        ("to_applications", tun.to_applications),
    ];
    page.counter("tun_packets_total", "IP packets of applications.")
        .samples(ways.map(|(way, volume)| (vec![("direction", way)], volume.packets)));
    page.counter("tun_bytes_total", "Bytes of these, IP headers included.")
        .samples(ways.map(|(way, volume)| (vec![("direction", way)], volume.bytes)));
    page.counter(
        "tun_refused_packets_total",
        "Packets that the kernel did not take.",
    )
    .sample(&[], tun.refused);
}

fn volumes(page: &mut Page, paths: &[PathStats]) {
    let ways = |path: &PathStats| [("sent", path.sent), ("received", path.received)];
    let both = |of: fn(Volume) -> u64| {
        paths.iter().flat_map(move |path| {
            let sample =
                move |(way, volume)| (vec![("path", &*path.name), ("direction", way)], of(volume));
            ways(path).map(sample)
        })
    };
    page.counter(
        "path_datagrams_total",
        "Datagrams of a path, of whatever kind.",
    )
    .samples(both(|volume| volume.packets));
    page.counter(
        "path_bytes_total",
        "Bytes of these on the wire, IP headers included.",
    )
    .samples(both(|volume| volume.bytes));
}

fn datagrams(page: &mut Page, paths: &[PathStats]) {
    let each = |of: fn(&PathStats) -> u64| {
        paths
            .iter()
            .map(move |path| (vec![("path", &*path.name)], of(path)))
    };
    page.counter(
        "path_authentic_datagrams_total",
        "Datagrams received that were the peer's own and new.",
    )
    .samples(each(|path| path.authentic));
    page.counter(
        "path_unsent_datagrams_total",
        "Datagrams that the kernel did not take.",
    )
    .samples(each(|path| path.unsent));
    page.counter(
        "path_too_long_datagrams_total",
        "Of these, longer than the interface lets through.",
    )
    .samples(each(|path| path.too_long));
    page.counter(
        "path_kernel_dropped_datagrams_total",
        "Datagrams that the kernel dropped before they were read.",
    )
    .samples(each(|path| path.kernel_dropped));
    page.counter(
        "path_unaddressed_datagrams_total",
        "Datagrams for a peer whose address was not known yet.",
    )
    .samples(each(|path| path.unaddressed));
}

fn monitor(page: &mut Page, paths: &[PathStats]) {
    let sizes = paths.iter().filter_map(|path| {
        let mtu = path.mtu_bytes?;
        Some((vec![("path", &*path.name)], mtu))
    });
    page.gauge(
        "path_mtu_bytes",
        "Longest IP packet that is known to cross whole, outer headers included.",
    )
    .samples(sizes);
    let missing = paths.iter().flat_map(|path| {
        let missing = path.interface_status.missing.as_ref().map(Missing::word);
        Missing::WORDS.map(|word| {
            let labels = vec![("path", &*path.name), ("what", word)];
            (labels, u8::from(missing == Some(word)))
        })
    });
    page.gauge(
        "path_missing",
        "1 where a path waits for this at this end, else 0.",
    )
    .samples(missing);
    let heard = paths.iter().filter_map(|path| {
        let ago = path.last_heard_s?;
        Some((vec![("path", &*path.name)], ago))
    });
    page.gauge(
        "path_last_heard_seconds",
        "Since the peer was last heard on a path.",
    )
    .samples(heard);
}

fn liveness(page: &mut Page, paths: &[PathStats]) {
    let watched = || {
        let watched = paths.iter();
        watched.filter_map(|path| Some((&*path.name, path.liveness?)))
    };
    let states = watched().flat_map(|(name, liveness)| {
        STATES.map(|(state, word)| {
            let labels = vec![("path", name), ("state", word)];
            (labels, u8::from(liveness.state == state))
        })
    });
    page.gauge("path_state", "1 for the state in which a path is, else 0.")
        .samples(states);
    let span = |of: fn(&crate::stats::LivenessStats) -> Option<f64>| {
        watched().filter_map(move |(name, liveness)| {
            let ms = of(&liveness)?;
            Some((vec![("path", name)], ms / 1e3))
        })
    };
    page.gauge(
        "path_rtt_seconds",
        "Smoothed round-trip time: SRTT of RFC 6298.",
    )
    .samples(span(|liveness| liveness.rtt_ms));
    page.gauge(
        "path_rtt_variation_seconds",
        "Mean deviation of the round-trip time: RTTVAR of RFC 6298.",
    )
    .samples(span(|liveness| liveness.rttvar_ms));
    page.gauge(
        "path_loss_ratio",
        "Share of heartbeats that got lost, 0 to 1.",
    )
    .samples(watched().filter_map(|(name, liveness)| Some((vec![("path", name)], liveness.loss?))));
    page.counter("path_silences_total", "How often a path fell silent.")
        .samples(watched().map(|(name, liveness)| (vec![("path", name)], liveness.silences)));
}

fn drops(page: &mut Page, stats: &Stats) {
    let dropped = stats.dropped.iter().map(|(reason, count)| {
        let name = serde_json::to_value(reason).unwrap_or_default();
        (name.as_str().unwrap_or_default().to_owned(), *count)
    });
    let dropped: Vec<_> = dropped.collect();
    page.counter(
        "packets_dropped_total",
        "Packets that went no further, by reason; duplicate counts copies that were not the first.",
    )
    .samples(
        dropped
            .iter()
            .map(|(reason, count)| (vec![("reason", &**reason)], count)),
    );
    let rejected = stats.session["rejected"].as_object();
    let rejected = rejected.into_iter().flatten();
    page.counter(
        "datagrams_rejected_total",
        "Datagrams that the session dropped, by reason.",
    )
    .samples(
        rejected.map(|(reason, count)| (vec![("reason", &**reason)], count.as_u64().unwrap_or(0))),
    );
}

#[derive(Default)]
struct Page(String);

/// The samples of a family.
struct Family<'a> {
    page: &'a mut String,
    name: &'static str,
    help: &'static str,
    kind: &'static str,
}

impl Page {
    fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, help, "gauge")
    }

    fn counter(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, help, "counter")
    }

    fn family(&mut self, name: &'static str, help: &'static str, kind: &'static str) -> Family<'_> {
        Family {
            page: &mut self.0,
            name,
            help,
            kind,
        }
    }
}

impl Family<'_> {
    fn sample(self, labels: &[(&str, &str)], value: impl Display) {
        self.samples([(labels.to_vec(), value)]);
    }

    /// Writes the family; nothing of one that has no samples.
    fn samples<'a, V: Display>(
        self,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, V)>,
    ) {
        let mut told = false;
        for (labels, value) in samples {
            if !std::mem::replace(&mut told, true) {
                let (name, help, kind) = (self.name, self.help, self.kind);
                let head =
                    format!("# HELP polypath_{name} {help}\n# TYPE polypath_{name} {kind}\n");
                self.page.push_str(&head);
            }
            let labels: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}=\"{}\"", escape(value)))
                .collect();
            let labels = if labels.is_empty() {
                String::new()
            } else {
                format!("{{{}}}", labels.join(","))
            };
            // Writing to a string cannot fail.
            let _ = writeln!(self.page, "polypath_{}{labels} {value}", self.name);
        }
    }
}

/// A label's value as the text format has it.
fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
