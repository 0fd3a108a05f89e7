//! The outcome as text for a terminal.

use std::fmt::Write as _;

use super::Outcome;
use super::measurement::{Measurement, Quantile};
use super::parameters::{LATE, RATE};
use crate::flow::{INTERVAL, LEN};

/// Renders the outcome as tables with a legend.
#[must_use]
pub fn render(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} silences with a mean length of {:.2} s, over {:.0} s; seed {}\n\
         two links of {RATE} with a round-trip time of {} ms; {LEN} B every {INTERVAL}; real-time priority: {}; \
         lateness of the links {:.2} ms (p99)\n\n",
        outcome.silences,
        outcome.mean_silence_s,
        outcome.span_s,
        outcome.seed,
        outcome.rtt_ms,
        outcome.realtime,
        outcome.late_ms
    );
    let mut line = |cells: [&str; 6]| {
        let [first, rest @ ..] = cells;
        let rest = rest.map(|cell| format!(" {cell:>20}")).concat();
        text.push_str(format!("{first:<24}{rest}").trim_end());
        text.push('\n');
    };
    line(["outage, ms", "p50", "p90", "p99", "max", "no arrivals"]);
    for measured in &outcome.candidates {
        let (of, n) = (&measured.outage, measured.samples.len());
        let [p50, p90, p99] = [of.p50, of.p90, of.p99].map(quantile);
        let max = format!("{:.0}", of.max);
        let unbridged = format!("{} of {n}", measured.unbridged);
        line([measured.name, &p50, &p90, &p99, &max, &unbridged]);
    }
    line([""; 6]);
    line(["latency recovery, ms", "p50", "p90", "p99", "max", "lost"]);
    for measured in &outcome.candidates {
        let of = &measured.normal_again;
        let [p50, p90, p99] = [of.p50, of.p90, of.p99].map(quantile);
        let lost = format!("{} of {}", measured.lost, measured.sent);
        line([
            measured.name,
            &p50,
            &p90,
            &p99,
            &format!("{:.0}", of.max),
            &lost,
        ]);
    }
    line([""; 6]);
    line([
        "bytes per second",
        "link one",
        "link two",
        "back, one",
        "back, two",
        "silenced share",
    ]);
    for measured in &outcome.candidates {
        let [one, two] = measured.wire.map(|rate| format!("{rate:.0}"));
        let [first, second] = measured.back.map(|rate| format!("{rate:.0}"));
        line([measured.name, &one, &two, &first, &second, &share(measured)]);
    }
    let _ = write!(
        text,
        "\nBrackets: 95 % confidence interval by ranks; `-` where there are too few silences for a bound. Outage: the \
         longest gap between\narrivals, minus {INTERVAL}. Latency recovery: arrival of the last message with a latency \
         {LATE} above the median. Lost:\n`single-path` sends no datagram again. Back: from the receiver of the flow, which are \
         the reports, heartbeats and replies of a node.\nSilenced share: the silenced link's share of the flow's bytes before the silence, mean \
         and minimum.\n"
    );
    text
}

fn quantile(quantile: Quantile) -> String {
    let bound = |bound: Option<f64>| bound.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let (low, high) = (bound(quantile.low), bound(quantile.high));
    format!("{:.0} [{low}, {high}]", quantile.value)
}

fn share(measured: &Measurement) -> String {
    let shares = measured.samples.iter().map(|sample| sample.share);
    let mean = shares.clone().sum::<f64>() / measured.samples.len().max(1) as f64;
    let least = shares.fold(1.0, f64::min);
    format!("{:.0} %, {:.0} %", mean * 100.0, least * 100.0)
}
