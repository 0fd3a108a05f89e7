use std::collections::{BTreeMap, BTreeSet};

use polypath_core::class::Treatment;
use polypath_core::combine::DetectorStatistics;
use polypath_core::event::DropReason;
use polypath_core::fragment::FragmentStatistics;
use polypath_core::order::OrderStatistics;
use polypath_core::repair::RepairStatistics;
use polypath_session::event::Counters;

use super::*;
use crate::stats::{
    ArrivalStats, DeliveryStats, InterfaceStatus, LivenessStats, MeasuredStats, Missing,
    SpacingStats, UsageStats, session,
};

/// Parses a page of either format: contiguous families, each with HELP and TYPE before its samples,
/// and no duplicate samples.
fn parse(page: &str, format: Format) -> BTreeMap<String, (String, BTreeMap<String, f64>)> {
    let mut families: BTreeMap<String, (String, BTreeMap<String, f64>)> = BTreeMap::new();
    let mut current = String::new();
    let page = match format {
        Format::Text => page,
        Format::OpenMetrics => page.strip_suffix("# EOF\n").unwrap(),
    };
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && !families.contains_key(name), "{line}");
            assert!(is_name(name), "{line}");
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current);
            let is_suffixed = kind == "counter" && format == Format::Text;
            assert_eq!(is_suffixed, name.ends_with("_total"), "{line}");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            families.insert(name.to_owned(), (kind.to_owned(), BTreeMap::new()));
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            check_labels(labels.strip_suffix('}').unwrap());
            let (kind, samples) = families.get_mut(&current).unwrap();
            let is_suffixed = kind == "counter" && format == Format::OpenMetrics;
            let suffix = if is_suffixed { "_total" } else { "" };
            assert_eq!(
                name,
                current.clone() + suffix,
                "a sample is within its family"
            );
            let value = value.parse::<f64>().unwrap();
            assert_eq!(samples.insert(series.to_owned(), value), None, "{line}");
        }
    }
    families
}

fn is_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Checks `key="value"` pairs separated by commas; quotes and line ends in values must be escaped.
fn check_labels(mut labels: &str) {
    let mut keys = BTreeSet::new();
    while !labels.is_empty() {
        let (key, rest) = labels.split_once("=\"").unwrap();
        assert!(is_name(key) && keys.insert(key), "{labels}");
        let mut end = 0;
        while rest.as_bytes()[end] != b'"' {
            end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        let rest = &rest[end + 1..];
        labels = rest.strip_prefix(',').unwrap_or(rest);
        assert!(rest.is_empty() || rest.starts_with(','), "{rest}");
    }
}

fn arrivals() -> ArrivalStats {
    ArrivalStats {
        packets: 990,
        missing: 10,
        reordered: 3,
        jitter_ms: 1.25,
    }
}

fn stats() -> Stats {
    let volume = |packets| Volume {
        packets,
        bytes: packets * 1000,
    };
    let liveness = LivenessStats {
        state: PathState::Live,
        rtt_ms: Some(20.5),
        rttvar_ms: Some(1.5),
        loss: Some(0.25),
        silences: 2,
        answered: 9,
    };
    let path = |name: &str, liveness| PathStats {
        name: name.to_owned(),
        interface_status: InterfaceStatus {
            interface: None,
            missing: Some(Missing::Interface(name.to_owned())),
        },
        sent: volume(3),
        received: volume(4),
        liveness,
        delivery: liveness.map(|_| DeliveryStats {
            repair_ms: None,
            repair_is_late: false,
            one_way_ms: 20.0,
            queueing_ms: 1.0,
            loss: 0.01,
            capacity_bit_per_s: Some(4_000_000),
        }),
        measured: liveness.map(|_| MeasuredStats {
            rtt_ms: 20.5,
            short_average_ms: 21.0,
            long_average_ms: 19.0,
        }),
        flows: liveness.map(|_| 7),
        usage: liveness.map(|_| UsageStats {
            ceiling_bit_per_s: Some(8_000_000),
            quota_bytes: Some(20_000_000),
            used_bytes: Some(5_000_000),
            closed: true,
            ..UsageStats::default()
        }),
        ..PathStats::default()
    };
    Stats {
        software: "0.1.0".to_owned(),
        established: true,
        uptime_s: 12.5,
        paths: vec![path("lte", Some(liveness)), path("odd \"\\\n name", None)],
        dropped: [(DropReason::Duplicate, 7)].into(),
        repair: Some(RepairStatistics {
            packets: 100,
            copies: 2,
            repair_bytes: 3500,
            given_up: 4,
            unaffordable: 5,
            reports: 6,
            ..RepairStatistics::default()
        }),
        order: Some(OrderStatistics {
            held: 9,
            expired: 2,
        }),
        arrivals: arrivals(),
        spacing: Some(SpacingStats {
            spacing_us: 1600.0,
            packet_bytes: 1600,
            rate_bit_per_s: Some(8_000_000),
            payload_bit_per_s: Some(7_860_000),
            rtt_ms: Some(40.0),
            waiting: 3,
            wait_ms: 4.5,
            dropped: 1,
        }),
        congestion: Some(DetectorStatistics {
            windows: 90,
            congested: 3,
            dropouts: 5,
            marked: 7,
            dropped: 0,
            unmarkable: 2,
        }),
        fragments: Some(FragmentStatistics {
            restored: 12,
            incomplete: 1,
        }),
        classes: vec![ClassStats {
            name: "voice".to_owned(),
            treatment: Treatment::Media,
            deadline_ms: None,
            from_applications: Volume {
                packets: 8,
                bytes: 1600,
            },
        }],
        session: session(&Counters::default(), Some(3.5)),
        ..Stats::default()
    }
}

fn text(stats: &Stats) -> String {
    page(&Arc::new(stats.clone()), Format::Text).unwrap()
}

#[test]
fn both_formats_have_the_same_series() {
    let stats = Arc::new(stats());
    let [text, open] = [Format::Text, Format::OpenMetrics].map(|format| {
        let page = page(&stats, format).unwrap();
        let families = parse(&page, format).into_values();
        let series: Vec<_> = families.flat_map(|(_, samples)| samples).collect();
        (page, series)
    });
    let sorted = |mut series: Vec<(String, f64)>| {
        series.sort_by(|a, b| a.0.cmp(&b.0));
        series
    };
    assert_eq!(sorted(text.1), sorted(open.1));
    let counter = |name: &str| {
        format!(
            "# HELP polypath_{name} Reloads of the configuration by their outcome.\n\
             # TYPE polypath_{name} counter\n\
             polypath_reloads_total{{outcome=\"applied\"}} 0\n"
        )
    };
    assert!(text.0.contains(&counter("reloads_total")), "{}", text.0);
    assert!(open.0.contains(&counter("reloads")), "{}", open.0);
    let unlabelled = "# TYPE polypath_uptime_seconds gauge\npolypath_uptime_seconds 12.5\n";
    assert!(text.0.contains(unlabelled) && open.0.contains(unlabelled));
}

#[test]
fn the_client_chooses_the_format() {
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2,*/*;q=0.1";
    for (accept, format) in [
        (prometheus, Format::OpenMetrics),
        (
            "text/plain, application/openmetrics-text",
            Format::OpenMetrics,
        ),
        (
            "application/openmetrics-text;version=1.0.0;q=0, text/plain",
            Format::Text,
        ),
        ("application/openmetrics-text; q=0.000", Format::Text),
        ("*/*", Format::Text),
        ("", Format::Text),
    ] {
        assert_eq!(Format::accepted_by(accept), format, "{accept}");
    }
}

#[test]
fn the_page_is_valid_and_in_base_units() {
    let families = parse(&text(&stats()), Format::Text);
    let value = |family: &str, series: &str| {
        let samples = &families[&format!("polypath_{family}")].1;
        samples[&format!("polypath_{family}{series}")]
    };
    let expected = [
        ("build_info", "{version=\"0.1.0\"}", 1.0),
        ("uptime_seconds", "", 12.5),
        ("packets_arrived_total", "", 990.0),
        ("packets_missing", "", 10.0),
        ("packets_reordered_total", "", 3.0),
        ("jitter_seconds", "", 0.001_25),
        ("spacing_seconds", "", 0.0016),
        ("spacing_rate_bytes_per_second", "", 1_000_000.0),
        ("spacing_waiting_packets", "", 3.0),
        ("spacing_wait_seconds", "", 0.0045),
        ("session_established", "", 1.0),
        ("session_age_seconds", "", 3.5),
        (
            "path_bytes_total",
            "{path=\"lte\",direction=\"sent\"}",
            3000.0,
        ),
        (
            "path_datagrams_total",
            "{path=\"lte\",direction=\"received\"}",
            4.0,
        ),
        ("path_state", "{path=\"lte\",state=\"live\"}", 1.0),
        ("path_state", "{path=\"lte\",state=\"silent\"}", 0.0),
        ("path_missing", "{path=\"lte\",kind=\"interface\"}", 1.0),
        ("path_missing", "{path=\"lte\",kind=\"address\"}", 0.0),
        ("path_rtt_seconds", "{path=\"lte\"}", 0.0205),
        ("path_rtt_variation_seconds", "{path=\"lte\"}", 0.0015),
        ("path_loss_ratio", "{path=\"lte\"}", 0.25),
        ("path_silences_total", "{path=\"lte\"}", 2.0),
        ("path_one_way_delay_seconds", "{path=\"lte\"}", 0.02),
        ("path_queueing_delay_seconds", "{path=\"lte\"}", 0.001),
        ("path_packet_loss_ratio", "{path=\"lte\"}", 0.01),
        (
            "path_capacity_bytes_per_second",
            "{path=\"lte\"}",
            500_000.0,
        ),
        (
            "policy_rtt_seconds",
            "{path=\"lte\",average=\"smoothed\"}",
            0.0205,
        ),
        (
            "policy_rtt_seconds",
            "{path=\"lte\",average=\"long\"}",
            0.019,
        ),
        ("policy_guard_time", "", 0.0),
        ("path_used_bytes", "{path=\"lte\"}", 5_000_000.0),
        ("path_quota_bytes", "{path=\"lte\"}", 20_000_000.0),
        (
            "path_ceiling_bytes_per_second",
            "{path=\"lte\"}",
            1_000_000.0,
        ),
        ("path_closed", "{path=\"lte\",by=\"node\"}", 1.0),
        ("path_closed", "{path=\"lte\",by=\"peer\"}", 0.0),
        ("transmissions_total", "{kind=\"first\"}", 100.0),
        ("transmissions_total", "{kind=\"copy\"}", 2.0),
        ("transmission_bytes_total", "{kind=\"repair\"}", 3500.0),
        ("packets_given_up_total", "{reason=\"late\"}", 4.0),
        ("packets_given_up_total", "{reason=\"budget\"}", 5.0),
        ("reports_total", "", 6.0),
        ("packets_held_total", "{outcome=\"ordered\"}", 7.0),
        ("packets_held_total", "{outcome=\"expired\"}", 2.0),
        ("class_packets_total", "{class=\"voice\"}", 8.0),
        ("class_bytes_total", "{class=\"voice\"}", 1600.0),
        ("packets_dropped_total", "{reason=\"duplicate\"}", 7.0),
        ("datagrams_rejected_total", "{reason=\"bad-mac\"}", 0.0),
        ("reloads_total", "{outcome=\"refused\"}", 0.0),
    ];
    for (family, series, wanted) in expected {
        let found = value(family, series);
        assert!((found - wanted).abs() < 1e-9, "{family}{series}: {found}");
    }
    for by in ["node", "peer"] {
        let unlimited = format!("{{path=\"odd \\\"\\\\\\n name\",by=\"{by}\"}}");
        assert!(value("path_closed", &unlimited).abs() < 1e-9);
    }
    let odd = "{path=\"odd \\\"\\\\\\n name\",direction=\"sent\"}";
    assert!((value("path_datagrams_total", odd) - 3.0).abs() < 1e-9);
}

#[test]
fn unknown_values_of_a_path_are_left_out() {
    let mut stats = stats();
    stats.paths[0].liveness = Some(LivenessStats::default());
    let families = parse(&text(&stats), Format::Text);
    assert!(families.contains_key("polypath_path_silences_total"));
    for family in ["path_loss_ratio", "path_rtt_seconds"] {
        assert!(
            !families.contains_key(&format!("polypath_{family}")),
            "{family}"
        );
    }
}

#[test]
fn a_path_without_liveness_detection_has_no_state_and_no_round_trip() {
    let families = parse(&text(&stats()), Format::Text);
    for family in [
        "path_state",
        "path_rtt_seconds",
        "path_last_received_seconds",
    ] {
        let family_samples = families.get(&format!("polypath_{family}"));
        let odd = family_samples
            .is_some_and(|(_, samples)| samples.keys().any(|key| key.contains("odd")));
        assert!(!odd, "{family}");
    }
    assert!(!families.contains_key("polypath_path_last_received_seconds"));
}
