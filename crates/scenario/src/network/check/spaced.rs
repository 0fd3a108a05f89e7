//! What no schema can state about spaced packets.

use polypath_core::spacing::{LEAST_RTT, MOST_RTT};

use crate::check::bounds::{LEAST_GAP, at_most_a_day};
use crate::check::{check_packet, check_rate, positive};
use crate::document::Problems;
use crate::network::flow::{Flow, Traffic};
use crate::network::graph::GraphLink;
use crate::network::spaced::Spaced;

/// Checks the values of the traffic that stands under `key`.
pub(super) fn check(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    check_packet(&at("packet"), spaced.packet, problems);
    check_packet(&at("feedback.size"), spaced.feedback.size, problems);
    if let Some(rate) = spaced.line_rate {
        check_rate(&at("line_rate"), rate, problems);
    }
    for (leaf, span) in [
        ("spacing", spaced.spacing),
        ("first", spaced.first),
        ("step", spaced.step),
    ] {
        at_most_a_day(&at(leaf), span, problems);
    }
    if spaced.has_feedback() {
        positive(&at("first"), spaced.first, problems);
        check_base_rtt(&at("feedback.base_rtt"), spaced, problems);
    } else {
        check_unused(key, spaced, problems);
    }
}

fn check_base_rtt(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let known = spaced.feedback.base_rtt;
    if let Some(rtt) = known.filter(|rtt| !(LEAST_RTT..=MOST_RTT).contains(rtt)) {
        let message = format!("`base_rtt` is {rtt}; it can be {LEAST_RTT} to {MOST_RTT}");
        let remedy = "say how long the way there and back takes, or remove it: a ping measures it";
        problems.report(key, message, remedy);
    }
}

/// What is set of feedback where there is none.
fn check_unused(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let unset = spaced.without_feedback();
    for (leaf, is_set) in [
        ("first", spaced.first != unset.first),
        ("step", spaced.step != unset.step),
        ("feedback", spaced.feedback != unset.feedback),
    ] {
        if is_set {
            let message = format!("`{leaf}` says nothing where the spacing is fixed");
            let remedy = "remove it, or let `control` be \"ad-hoc\" or \"damped\"";
            problems.report(&format!("{key}.{leaf}"), message, remedy);
        }
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
