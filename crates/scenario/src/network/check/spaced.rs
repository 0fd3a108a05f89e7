//! What no schema can state about spaced packets.

use polypath_core::time::Duration;

use crate::check::bounds::{LEAST_GAP, at_most_a_day};
use crate::check::check_packet;
use crate::document::Problems;
use crate::network::flow::{Flow, Traffic};
use crate::network::graph::GraphLink;
use crate::network::spaced::Spaced;

/// Checks the values of the traffic that stands under `key`.
pub(super) fn check(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    check_packet(&at("packet"), spaced.packet, problems);
    check_packet(&at("feedback.size"), spaced.feedback.size, problems);
    let base_rtt = spaced.feedback.base_rtt;
    for (leaf, span) in [
        ("spacing", Some(spaced.spacing)),
        ("first", Some(spaced.first)),
        ("step", Some(spaced.step)),
        ("feedback.base_rtt", base_rtt),
    ] {
        at_most_a_day(&at(leaf), span.unwrap_or_default(), problems);
    }
    if base_rtt == Some(Duration::ZERO) {
        let remedy = "say how long the way there and back takes, or remove it: a ping measures it";
        problems.report(&at("feedback.base_rtt"), "`base_rtt` is zero", remedy);
    }
}

/// Reports a flow, whose key is `key`, of spaced packets that take no known time on the first link of its way.
pub(super) fn is_refused(
    key: &str,
    flow: &Flow,
    first: &GraphLink,
    problems: &mut Problems,
) -> bool {
    let Traffic::Spaced(spaced) = &flow.traffic else {
        return false;
    };
    let key = format!("{key}.traffic");
    let link = &first.link;
    let Some(sender) = spaced.sender(link.rate.filter(|_| link.trace.is_none())) else {
        let message = format!("the rate of link `{}` varies", first.name);
        let remedy = "say `line_rate`, from which a packet's own time follows";
        problems.report(&key, message, remedy);
        return true;
    };
    let rate = sender.line_rate.unwrap_or_default();
    let is_short = rate.transmission_time(spaced.packet) < LEAST_GAP;
    if is_short {
        let message = format!(
            "packets of {} at {rate} take less than {LEAST_GAP}",
            spaced.packet
        );
        let remedy = "make `packet` larger, or say a lower `line_rate`";
        problems.report(&format!("{key}.packet"), message, remedy);
    }
    is_short
}
