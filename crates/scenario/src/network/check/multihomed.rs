//! What no schema can state about datagrams over several ways.

use polypath_core::policy::PathSet;
use polypath_core::policy::delay_centric::DelayCentricError;

use crate::check::bounds::{LEAST_GAP, at_least, at_most_a_day};
use crate::check::{check_packet, positive};
use crate::document::Problems;
use crate::network::flow::{Flow, Traffic};
use crate::network::multihomed::Multihomed;

/// Checks the values of the traffic that stands under `key`.
pub(super) fn check(key: &str, multihomed: &Multihomed, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    check_packet(&at("packet"), multihomed.packet, problems);
    check_packet(&at("ack"), multihomed.ack, problems);
    if let Some(heartbeat) = multihomed.heartbeat {
        check_packet(&at("heartbeat"), heartbeat, problems);
    }
    positive(&at("interval"), multihomed.interval, problems);
    at_least(&at("interval"), multihomed.interval, LEAST_GAP, problems);
    at_most_a_day(&at("interval"), multihomed.interval, problems);
    let ways = multihomed.ways.len();
    if ways == 0 || ways > usize::from(PathSet::CAPACITY) {
        let message = format!("there are {ways} ways");
        let remedy = format!(
            "list 1 to {}: ways = [[\"wifi\"], [\"lte\"]]",
            PathSet::CAPACITY
        );
        problems.report(&at("ways"), message, remedy);
    }
    check_policy(&at("policy"), multihomed, problems);
}

fn check_policy(key: &str, multihomed: &Multihomed, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    let heartbeats = multihomed.policy.heartbeats();
    for (leaf, span) in [
        ("heartbeats.least", heartbeats.least),
        ("heartbeats.most", heartbeats.most),
        ("heartbeats.in_guard", heartbeats.in_guard),
        ("heartbeats.timeout", heartbeats.timeout),
        ("guard.most", multihomed.policy.guard().most),
    ] {
        at_most_a_day(&at(leaf), span, problems);
    }
    for error in multihomed.policy.errors() {
        match error {
            DelayCentricError::Short { key, .. } => {
                problems.report(&at(key), error.to_string(), "");
            }
            DelayCentricError::Order { part, .. } => {
                let keys = ["least", "most"].map(|leaf| at(&format!("{part}.{leaf}")));
                let keys = [keys[0].as_str(), keys[1].as_str()];
                let remedy = "let `most` be `least` or more";
                problems.report_among(&keys, error.to_string(), remedy);
            }
        }
    }
}

/// Reports two ways of the flow under `key` that pass the same links: what is measured on one is then the other's.
pub(super) fn report_same(key: &str, (first, second): (usize, usize), problems: &mut Problems) {
    let message = format!("ways {first} and {second} pass the same links");
    let remedy = "name a link or a node of its own in each: ways = [[\"wifi\"], [\"lte\"]]";
    problems.report(&format!("{key}.traffic.ways.{second}"), message, remedy);
}

/// Reports stops of a flow whose traffic has ways of its own.
pub(super) fn check_via(key: &str, flow: &Flow, problems: &mut Problems) {
    if matches!(flow.traffic, Traffic::Multihomed(_)) && !flow.via.is_empty() {
        let message = "the traffic says its ways itself";
        let remedy = "remove `via`, and name what each way passes in `ways`";
        problems.report(&format!("{key}.via"), message, remedy);
    }
}
