//! What came of it, as text for a terminal.

use std::fmt::Write as _;

use super::measurement::{Measurement, Quantile};
use super::{LATE, Outcome, RATE};
use crate::flow::{INTERVAL, LEN};

/// The outcome as tables, with what the figures mean.
#[must_use]
pub fn render(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} silences of {:.2} s in the mean, over {:.0} s; seed {}\n\
         two links of {RATE} and a round trip of {} ms; {LEN} B each {INTERVAL}; real-time priority: {}; \
         links late by {:.2} ms (p99)\n\n",
        outcome.silences,
        outcome.mean_silence_s,
        outcome.span_s,
        outcome.seed,
        outcome.rtt_ms,
        outcome.realtime,
        outcome.late_ms
    );
    let mut line = |cells: [&str; 6]| {
        let [who, rest @ ..] = cells;
        let rest = rest.map(|cell| format!(" {cell:>20}")).concat();
        text.push_str(format!("{who:<24}{rest}").trim_end());
        text.push('\n');
    };
    line(["outage, ms", "p50", "p90", "p99", "max", "none got through"]);
    for measured in &outcome.candidates {
        let (of, n) = (&measured.outage, measured.samples.len());
        let [p50, p90, p99] = [of.p50, of.p90, of.p99].map(quantile);
        let max = format!("{:.0}", of.max);
        let unbridged = format!("{} of {n}", measured.unbridged);
        line([measured.name, &p50, &p90, &p99, &max, &unbridged]);
    }
    line([""; 6]);
    line([
        "latency normal after, ms",
        "p50",
        "p90",
        "p99",
        "max",
        "lost",
    ]);
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
        "bytes a second",
        "on link one",
        "on link two",
        "heartbeats one",
        "heartbeats two",
        "share silenced",
    ]);
    for measured in &outcome.candidates {
        let [one, two] = measured.wire.map(|rate| format!("{rate:.0}"));
        let [first, second] = [0, 1].map(|link| heartbeats(measured, link));
        line([measured.name, &one, &two, &first, &second, &share(measured)]);
    }
    let _ = write!(
        text,
        "\nIn brackets the 95 % interval by ranks; `-` where so few silences have no bound. Outage: by how much longer \
         than {INTERVAL}\nnothing arrived. Normal: the last message has come that was {LATE} later than the median. Lost: \
         datagrams are not sent\nagain, MPTCP's bytes are. Heartbeats: what both endpoints sent, answers with them. Share \
         silenced: of the flow's bytes on\nthe silenced link before, in the mean and at the least.\n"
    );
    text
}

fn quantile(quantile: Quantile) -> String {
    let bound = |bound: Option<f64>| bound.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let (low, high) = (bound(quantile.low), bound(quantile.high));
    format!("{:.0} [{low}, {high}]", quantile.value)
}

fn heartbeats(measured: &Measurement, link: usize) -> String {
    let sum = |endpoints: &[[f64; 2]; 2]| endpoints.iter().map(|links| links[link]).sum::<f64>();
    let rate = measured.heartbeats.as_ref().map(sum);
    rate.map_or("none".to_owned(), |rate| format!("{rate:.0}"))
}

fn share(measured: &Measurement) -> String {
    let shares = measured.samples.iter().map(|sample| sample.share);
    let mean = shares.clone().sum::<f64>() / measured.samples.len().max(1) as f64;
    let least = shares.fold(1.0, f64::min);
    format!("{:.0} %, {:.0} %", mean * 100.0, least * 100.0)
}
