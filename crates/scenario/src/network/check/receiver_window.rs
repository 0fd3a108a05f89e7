//! Checks of receiver window changes: only with TCP, in order, and within the run.

use polypath_core::time::Duration;

use polypath_document::Problems;

use crate::check::positive;
use crate::network::Run;
use crate::network::flow::Flow;

/// Reports problems of the changes of the flow at `key`.
pub(super) fn check(key: &str, flow: &Flow, run: Run, problems: &mut Problems) {
    let key = format!("{key}.receiver_window");
    if !flow.traffic.is_tcp() && !flow.receiver_window.is_empty() {
        let message = "datagrams have no receiver window";
        return problems.report(&key, message, "remove `receiver_window` from the flow");
    }
    if flow.traffic.sets_receiver_windows() && !flow.receiver_window.is_empty() {
        let message = "the controller of a striped stream sets its receiver windows";
        return problems.report(&key, message, "remove `receiver_window` from the flow");
    }
    let mut before = Duration::ZERO;
    for (index, change) in flow.receiver_window.iter().enumerate() {
        let at = format!("{key}.{index}.at");
        positive(&at, change.at, problems);
        if index > 0 && change.at <= before {
            let message = format!("{} is not later than the change before", change.at);
            problems.report(&at, message, "sort the changes by their times");
        }
        if run.duration > Duration::ZERO && change.at >= run.duration {
            let message = format!(
                "the run is over at {}, before the window of flow `{}` changes at {}",
                run.duration, flow.name, change.at
            );
            let remedy = "set the window earlier, or remove the change";
            problems.report_among(&[&at, "run.duration"], message, remedy);
        }
        before = change.at;
    }
}
