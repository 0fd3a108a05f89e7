//! The reports of servers and receivers as text and as JSON.

use polypath_core::time::Duration;
use polypath_stream::{ReceiveError, ReceptionReport, ServerCounts};
use serde_json::{Value, json};

/// The version of the format of the JSON reports.
const VERSION: u32 = 1;

/// One line of what a receiver has received.
pub(super) fn reception_line(report: &ReceptionReport) -> String {
    let rtt = report
        .rtt
        .map_or(String::new(), |rtt| format!(", round trip {rtt}"));
    format!(
        "{:.1} s: {:.3} MB, {}, {} connections with windows of {} packets by {}{rtt}",
        report.elapsed.as_secs_f64(),
        report.bytes as f64 / 1e6,
        report.rate,
        report.connections,
        report.window_sum,
        report.control.name(),
    )
}

/// The whole report of a receiver, and the reason why its stream is not complete.
pub(super) fn reception_json(report: &ReceptionReport, error: Option<&ReceiveError>) -> Value {
    json!({
        "version": VERSION,
        "complete": error.is_none(),
        "error": error.map(ToString::to_string),
        "elapsed_s": report.elapsed.as_secs_f64(),
        "bytes": report.bytes,
        "packets": report.packets,
        "duplicate_packets": report.duplicates,
        "rate_bit_s": report.rate.0,
        "connections": {
            "carrying": report.connections,
            "opened": report.opened,
            "failed": report.failed,
        },
        "window_packets": report.window_sum,
        "window_control": report.control.name(),
        "rtt_s": report.rtt.map(Duration::as_secs_f64),
        "longest_gap_s": report.longest_gap.as_secs_f64(),
    })
}

/// The last lines of a receiver.
pub(super) fn reception_summary(report: &ReceptionReport) -> String {
    format!(
        "{} B in {:.1} s: {}; {} connections opened, {} of them failed, {} packets came twice; longest gap {:.0} ms",
        report.bytes,
        report.elapsed.as_secs_f64(),
        report.rate,
        report.opened,
        report.failed,
        report.duplicates,
        report.longest_gap.as_secs_f64() * 1e3,
    )
}

/// The counters of a server.
pub(super) fn server_json(counts: &ServerCounts) -> Value {
    json!({
        "version": VERSION,
        "receivers": {
            "present": counts.receivers,
            "completed": counts.completed,
            "left": counts.left,
            "lost": counts.lost,
        },
        "connections": {
            "present": counts.connections,
            "accepted": counts.accepted,
            "rejected": counts.rejected,
            "refused": counts.refused,
        },
        "payload_bytes": counts.bytes,
    })
}

/// One line of a server.
pub(super) fn server_line(counts: &ServerCounts) -> String {
    format!(
        "now {} receivers over {} connections; {} completed, {} left, {} lost; {} connections refused, {} without a \
         valid hello; {:.3} MB sent",
        counts.receivers,
        counts.connections,
        counts.completed,
        counts.left,
        counts.lost,
        counts.refused,
        counts.rejected,
        counts.bytes as f64 / 1e6,
    )
}
