//! The limits of a network's values, beyond which a run takes days or its results make no sense.

use polypath_core::time::Duration;

use crate::check::bounds::{at_most_a_day, check_link, check_tcp};
use crate::network::flow::Flow;
use crate::network::{Network, Run};
use polypath_document::Problems;

/// The shortest span with a meaningful mean.
const MIN_SPAN: Duration = Duration::from_micros(1);

/// Reports all values beyond the limits.
pub(super) fn check(network: &Network, problems: &mut Problems) {
    check_tcp("tcp", &network.tcp, problems);
    if let Some(topology) = &network.topology {
        for (kind, link) in topology.link_kinds() {
            check_link(&format!("topology.{kind}"), link, problems);
        }
    }
    for (index, edge) in network.links.iter().enumerate() {
        check_link(&format!("link.{index}"), &edge.link, problems);
    }
    for (index, flow) in network.flows.iter().enumerate() {
        check_flow(&format!("flow.{index}"), network, flow, problems);
    }
}

/// Reports a run that is too long, or too short for its spans.
pub(super) fn check_run(run: Run, problems: &mut Problems) {
    at_most_a_day("run.duration", run.duration, problems);
    let measured = run.duration - run.warm_up;
    if measured > Duration::ZERO && measured < MIN_SPAN * u64::from(run.batches) {
        let message = format!(
            "{measured} are too short for {} spans of {MIN_SPAN} or more",
            run.batches
        );
        let keys = ["run.duration", "run.warm_up", "run.batches"];
        problems.report_among(&keys, message, "make `duration` longer");
    }
}

fn check_flow(key: &str, network: &Network, flow: &Flow, problems: &mut Problems) {
    for (leaf, span) in [
        ("start_spread", Some(flow.active.start_spread)),
        ("stop", flow.active.stop),
    ] {
        at_most_a_day(&format!("{key}.{leaf}"), span.unwrap_or_default(), problems);
    }
    if !flow.tcp.is_empty() {
        let tcp = flow.tcp.apply(&network.tcp);
        check_tcp(&format!("{key}.tcp"), &tcp, problems);
    }
}
