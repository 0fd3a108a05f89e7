//! Queues: room for a packet, and thresholds that can be reached.

use polypath_core::red::default_min_th;
use polypath_core::units::{Bytes, Rate};

use super::{Largest, check_packet, positive};
use crate::path::Link;
use crate::queue::{ActiveQueue, Queue, QueueLimit};
use polypath_document::{Problems, last_part};

/// Checks the queue of a link at `key`, which is to admit `packets`.
pub(super) fn check(key: &str, link: &Link, packets: &[Largest], problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    let limit_key = match link.queue {
        Queue::Active(_) => at("limit"),
        Queue::DropTail(_) => key.to_owned(),
    };
    for packet in packets {
        check_limit(&limit_key, link.queue.limit(), packet, problems);
    }
    match link.queue {
        Queue::DropTail(_) => {}
        Queue::Active(red @ ActiveQueue::Red { .. }) => {
            check_red(key, red, problems);
            check_thresholds(key, red, link.rate, problems);
        }
        Queue::Active(ActiveQueue::CoDel {
            interval,
            max_packet,
            ..
        }) => {
            positive(&at("interval"), interval, problems);
            check_packet(&at("max_packet"), max_packet, problems);
        }
    }
}

/// Checks that a queue with the limit at `key` admits a packet.
pub(super) fn check_limit(key: &str, queue: QueueLimit, packet: &Largest, problems: &mut Problems) {
    match queue {
        QueueLimit::Packets(0) => {
            let remedy = "the packet in transmission counts: 1 packet is the least";
            problems.report(key, format!("`{}` is zero", last_part(key)), remedy);
        }
        QueueLimit::Bytes(bytes) if bytes < packet.size => {
            let Largest { what, size, keys } = packet;
            let message = format!("a queue of {bytes} admits no {what} of {size}");
            let mut among = vec![key];
            among.extend(keys.iter().map(String::as_str));
            problems.report_among(&among, message, "the packet in transmission counts");
        }
        QueueLimit::Packets(_) | QueueLimit::Bytes(_) | QueueLimit::Unlimited => {}
    }
}

fn check_red(key: &str, queue: ActiveQueue, problems: &mut Problems) {
    let ActiveQueue::Red {
        min_th,
        max_th,
        max_p,
        weight,
        mean_packet,
        ..
    } = queue
    else {
        return;
    };
    for (leaf, value) in [
        ("min_th", min_th),
        ("max_th", max_th),
        ("max_p", Some(max_p)),
        ("weight", weight),
    ] {
        if value.is_some_and(|value| value <= 0.0) {
            let message = format!("`{leaf}` is not more than zero");
            let remedy = "leave it out for the default";
            problems.report(&format!("{key}.{leaf}"), message, remedy);
        }
    }
    check_packet(&format!("{key}.mean_packet"), mean_packet, problems);
}

/// Checks that the lower threshold lies below the upper one, and below the limit: drops are to begin before the queue
/// is full.
fn check_thresholds(key: &str, queue: ActiveQueue, rate: Option<Rate>, problems: &mut Problems) {
    let ActiveQueue::Red {
        limit,
        min_th,
        max_th,
        mean_packet,
        ..
    } = queue
    else {
        return;
    };
    if mean_packet == Bytes(0) {
        return;
    }
    // Of a recorded rate, the least that it may be.
    let min = min_th.unwrap_or_else(|| default_min_th(rate.unwrap_or_default(), mean_packet));
    let by = if min_th.is_some() { "" } else { " by default" };
    let [min_key, max_key, limit_key] =
        ["min_th", "max_th", "limit"].map(|leaf| format!("{key}.{leaf}"));
    if let Some(max) = max_th.filter(|max| *max <= min) {
        let message = format!("{max} is not above `min_th`, {min}{by}");
        problems.report_among(&[&max_key, &min_key], message, "3 `min_th` is usual");
    }
    let room = match limit {
        QueueLimit::Packets(packets) => f64::from(packets),
        QueueLimit::Bytes(bytes) => bytes.0 as f64 / mean_packet.0 as f64,
        QueueLimit::Unlimited => f64::INFINITY,
    };
    if min > room {
        let message = format!("the queue, {limit}, is full before `min_th`, {min}{by}, is reached");
        let remedy = "lower `min_th` (packets of the mean size), or raise `limit`";
        problems.report_among(&[&min_key, &limit_key], message, remedy);
    }
}
