//! The keys of the statistics, and those that the documentation explains.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use super::*;
use crate::drive::DriveReport;
use crate::relay;
use polypath_session::relay::Side;

/// Maps whose keys are reasons.
const BY_REASON: [&str; 2] = ["dropped", "rejected"];
/// Words in code font that are values or keys of a node's file.
const VALUES: [&str; 9] = [
    "address",
    "duplicate",
    "interface",
    "null",
    "offload",
    "uplink",
    "reports",
    "closed-paths",
    "ecn",
];

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7001);

/// The statistics of a node, with everything that may be absent.
fn of_node() -> Value {
    let path = PathStats {
        local: Some(ADDRESS),
        remote: Some(ADDRESS),
        interface_status: InterfaceStatus {
            interface: Some("eth0".to_owned()),
            missing: Some(Missing::Interface("eth0".to_owned())),
        },
        last_received_s: Some(0.5),
        mtu_bytes: Some(1500),
        mtu_state: Some(MtuState::default()),
        liveness: Some(LivenessStats {
            rtt_ms: Some(1.0),
            rttvar_ms: Some(1.0),
            loss: Some(0.0),
            ..LivenessStats::default()
        }),
        delivery: Some(DeliveryStats {
            repair_ms: Some(75.0),
            capacity_bit_per_s: Some(1),
            ..DeliveryStats::default()
        }),
        usage: Some(UsageStats {
            ceiling_bit_per_s: Some(0),
            quota_bytes: Some(0),
            used_bytes: Some(0),
            renews: Some(Renewal::Never),
            renews_on: Some(Date::MIN),
            ..UsageStats::default()
        }),
        measured: Some(MeasuredStats::default()),
        flows: Some(1),
        relay: Some(RelayStats {
            established: true,
            features: vec!["ecn"],
            session: session(&Counters::default(), None),
        }),
        ..PathStats::default()
    };
    let stats = Stats {
        policy: PolicyStats {
            active: Some("lte".to_owned()),
            guard: Some(GuardStats {
                to: Some("dsl".to_owned()),
                remaining_ms: 10,
            }),
            ..PolicyStats::default()
        },
        repair: Some(RepairStatistics::default()),
        order: Some(OrderStatistics::default()),
        spacing: Some(SpacingStats {
            rate_bit_per_s: Some(1),
            payload_bit_per_s: Some(1),
            rtt_ms: Some(1.0),
            ..SpacingStats::default()
        }),
        congestion: Some(DetectorStatistics::default()),
        fragments: Some(FragmentStatistics::default()),
        classes: vec![ClassStats {
            name: "voice".to_owned(),
            treatment: Treatment::Media,
            deadline_ms: Some(60.0),
            from_applications: Volume::default(),
        }],
        reloads: Reloads {
            last_error: Some("refused".to_owned()),
            ..Reloads::default()
        },
        paths: vec![path],
        peer_paths: Some(1),
        features: vec!["reports"],
        session: session(&Counters::default(), Some(1.0)),
        drive: Some(drive(&DriveReport::default())),
        ..Stats::default()
    };
    serde_json::to_value(stats).unwrap()
}

/// The statistics of a relay, with everything that may be absent.
fn of_relay() -> Value {
    let node = relay::NodeStats {
        name: "a".to_owned(),
        address: Some(ADDRESS),
        established: true,
        forwarded: Volume::default(),
        dropped: BTreeMap::new(),
        session: session(&Counters::default(), None),
    };
    let path = relay::PathStats {
        name: "a-b".to_owned(),
        local: ADDRESS,
        sent: Volume::default(),
        received: Volume::default(),
        unsent: 0,
        kernel_dropped: 0,
        rejected: BTreeMap::new(),
        nodes: Side::ALL.map(|_| node.clone()).into(),
    };
    let stats = relay::Stats {
        version: relay::VERSION,
        at: Time(5),
        paths: vec![path],
        drive: Some(drive(&DriveReport::default())),
    };
    serde_json::to_value(stats).unwrap()
}

/// Adds the keys within `value`, called `name`. Those of a [`Volume`] and the reasons of a count are
/// part of its meaning; those of every session are those of a node's `session`.
fn enter(keys: &mut BTreeSet<String>, name: &str, value: &Value) {
    match value {
        Value::Array(items) => enter(keys, &format!("{name}[]"), &items[0]),
        Value::Object(fields) => {
            let is_volume = fields.keys().eq(["bytes", "packets"]);
            let by_reason = BY_REASON.iter().any(|map| name.ends_with(map));
            if is_volume || by_reason || name.ends_with(".session") {
                return;
            }
            for (key, inner) in fields {
                let key = format!("{name}.{key}");
                let key = key.trim_start_matches('.').to_owned();
                enter(keys, &key, inner);
                keys.insert(key);
            }
        }
        _ => {}
    }
}

/// The words of a cell in code font.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The keys in the first column of a row: `.b` after `a.x` is `a.b`.
fn documented(cell: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in code(cell) {
        let table = all.last().and_then(|last| last.rsplit_once('.'));
        match (word.starts_with('.'), table) {
            (true, Some((table, _))) => all.push(format!("{table}{word}")),
            _ => all.push(word.to_owned()),
        }
    }
    all
}

/// Compares the table of fields in `page` with the keys of `stats`, in both directions.
fn compare(page: &str, stats: &Value) {
    let mut keys = BTreeSet::new();
    enter(&mut keys, "", stats);
    let (_, table) = page
        .split_once("| field | meaning |\n| --- | --- |\n")
        .unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let mut explained = BTreeSet::new();
    for row in rows {
        let (cell, meaning) = row[1..].split_once('|').unwrap();
        let of_row = documented(cell);
        for key in &of_row {
            assert!(keys.contains(key), "no statistics have `{key}`: {row}");
        }
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_key = |word: &&str| word.chars().all(is_part);
        for word in code(meaning).filter(is_key) {
            let last = format!(".{word}");
            let is_reference = keys.iter().any(|key| key == word || key.ends_with(&last));
            assert!(
                is_reference || VALUES.contains(&word),
                "no statistics have `{word}`: {row}"
            );
            let within = of_row.iter().map(|key| format!("{key}.{word}"));
            explained.extend(within.filter(|key| keys.contains(key)));
        }
        explained.extend(of_row);
    }
    // A key is explained by its parts.
    let has_part = |key: &String| {
        let within = [".", "[]"].map(|sign| format!("{key}{sign}"));
        let mut all = explained.iter();
        all.any(|other| within.iter().any(|start| other.starts_with(start)))
    };
    let missing = keys.difference(&explained).filter(|key| !has_part(key));
    let missing: Vec<&String> = missing.collect();
    assert!(missing.is_empty(), "not documented: {missing:?}");
}

#[test]
fn the_documented_statistics_of_a_node_are_those_that_it_writes() {
    compare(include_str!("../../../../docs/two-nodes.md"), &of_node());
}

#[test]
fn the_documented_statistics_of_a_relay_are_those_that_it_writes() {
    compare(include_str!("../../../../docs/relay.md"), &of_relay());
}

#[test]
fn the_documented_reasons_of_rejection_are_those_that_exist() {
    let page = include_str!("../../../../docs/two-nodes.md");
    let (_, table) = page
        .split_once("| reason | meaning |\n| --- | --- |\n")
        .unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let documented: Vec<&str> = rows
        .flat_map(|row| code(row[1..].split_once('|').unwrap().0))
        .collect();
    let mut sorted = documented.clone();
    sorted.sort_unstable();
    let mut all: Vec<&str> = Reject::ALL.iter().map(|reason| reason.name()).collect();
    all.sort_unstable();
    assert_eq!(sorted, all);
}

#[test]
fn the_parameters_of_a_policy_have_the_keys_of_files() {
    let of = |policy: Value| {
        let policy = serde_json::from_value(policy).unwrap();
        Value::Object(parameters(policy))
    };
    let in_time = json!({ "deadline": "150 ms", "redundancy": 0.1, "order": "tcp" });
    assert_eq!(
        of(json!({ "kind": "in-time", "deadline": "150 ms" })),
        in_time
    );
    assert_eq!(of(json!({ "kind": "duplicate-all" })), json!({}));
    let diversity = json!({ "signature": "likelihood", "react": "off", "window": "100 ms" });
    assert_eq!(
        of(json!({ "kind": "diversity", "react": "off" })),
        diversity
    );
}
