//! Bursts of datagrams, and then 15 and 20 TCP transfers, with one, two and five connections
//! (Fig. 4).

mod reasons;

use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::Plot;

use super::runs::{GROUP, Period, Runs, Scheme, kbits, seeds, segments};
use super::sensitivity;
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, seconds, stated};
use crate::jobs::multitcp::parameters::{SEGMENT, adjust, fixed, table_1};
use crate::jobs::multitcp::setting::{
    CrossKind, CrossTraffic, Hosts, Links, Queue, Setting, Stream, StreamCarrier, Wire,
};
use crate::jobs::multitcp::time_series::{Peak, TimeSeries};

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.fig4",
    title: "Throughput and windows of 1, 2 and 5 connections with bursts and transfers",
    claims: &[IDLE, BURSTS, FIFTEEN, TWENTY, SPIKE, WINDOWS],
    make,
};

const IDLE: &str = "multitcp.fig4.idle";
const BURSTS: &str = "multitcp.fig4.udp_bursts";
const FIFTEEN: &str = "multitcp.fig4.fifteen_tcps";
const TWENTY: &str = "multitcp.fig4.twenty_tcps";
const SPIKE: &str = "multitcp.fig4.spike";
const WINDOWS: &str = "multitcp.fig4b.window_sum";

/// The target in kb/s (5.1.1).
pub(super) const TARGET: u32 = 800;
/// The periods of the bursts of datagrams, and of 15 and 20 transfers, in seconds (5.1.1).
pub(super) const BURST: [Period; 2] = [(200, 220), (300, 340)];
/// The period without other traffic, from the end of slow start.
const ALONE: Period = (20, 200);
pub(super) const MID: Period = (500, 750);
pub(super) const LATE: Period = (750, 1000);
/// The seconds after a burst in which the overshoot is measured: the highest one-second throughput
/// minus the target.
const AFTER: usize = 10;

/// The reason for which the stream has less than its share if all links are equal and have
/// drop-tail queues.
pub(super) const LOCKED: &str = "The generator's link is as fast as the last one: if full, it \
                                 delivers a packet to the last queue for each one that leaves, so \
                                 the queue stays full and drops packets that arrive in between, \
                                 which are those of the stream.";

/// The schemes of 5.1.1: plain TCP with a window of 8, and two and five connections under Algorithm
/// 1.
pub(super) fn schemes() -> [Scheme; 3] {
    let stream = |by| Stream {
        kbits: TARGET,
        by: StreamCarrier::Controller(by),
        limit: None,
        play: None,
    };
    [
        ("c1", stream(fixed(1, 8))),
        ("c2", stream(adjust(2, table_1()))),
        ("c5", stream(adjust(5, table_1()))),
    ]
}

/// The topology of Fig. 3; the generator's link has its own propagation delay in ms (5.1.1).
pub(super) fn topology(delay: u32) -> Links {
    let wire = |delay| Wire { kbits: 6000, delay };
    Links {
        sender: wire(20),
        generator: wire(delay),
        receiver: wire(20),
        queue: Queue::Red(50),
    }
}

/// A run of 5.1.1.
pub(super) fn setting(delay: u32, stream: Stream, seed: u64) -> Setting {
    let cross = |what, (from, to): Period| CrossTraffic {
        what,
        from: milliseconds(from),
        to: milliseconds(to),
    };
    let udp = BURST.map(|burst| cross(CrossKind::Udp(5500), burst));
    let tcp = [
        cross(CrossKind::Tcp(15), (MID.0, LATE.1)),
        cross(CrossKind::Tcp(5), LATE),
    ];
    Setting {
        links: topology(delay),
        stream,
        cross: [udp, tcp].concat(),
        hosts: Hosts {
            overhead: 0,
            ..Hosts::reno(6000)
        },
        seconds: 1000,
        seed,
    }
}

fn milliseconds(seconds: usize) -> u32 {
    u32::try_from(seconds * 1000).unwrap_or(u32::MAX)
}

/// The runs of Fig. 4, or those of Fig. 5 with a delay of 40 ms.
pub(super) fn runs(study: &mut Study<'_>, delay: u32) -> Result<Runs, Pending> {
    let seeds = seeds(study);
    Runs::of(study, &schemes(), &seeds, |stream, seed| {
        setting(delay, stream, seed)
    })
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let runs = runs(study, 20);
    let rows = sensitivity::rows(study);
    let (runs, rows) = (runs?, rows?);
    let known = |claim: &str| [0, 1, 2].map(|index| study.stated(claim, index).unwrap_or_default());
    let (bursts, fifteen) = (known(BURSTS), known(FIFTEEN));
    Ok(Findings {
        plots: vec![
            picture("fig4a", &runs, &[(320.0, bursts), (625.0, fifteen)]),
            windows(&runs),
        ],
        tables: vec![table(&runs)],
        measurements: measurements(&runs),
        reasons: reasons::all(&runs, &rows),
        caveats: [BURSTS, FIFTEEN, TWENTY, SPIKE, WINDOWS]
            .map(|claim| sensitivity::caveat(claim, &rows))
            .to_vec(),
        parameters: parameters(),
        ..Findings::default()
    })
}

/// The mean over both bursts, weighted by their duration.
pub(super) fn in_bursts(series: &[f64]) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for (from, to) in BURST {
        let span = (to - from) as f64;
        sum += span * TimeSeries::mean(series, from, to)?;
        seconds += span;
    }
    Some(sum / seconds)
}

fn burst(runs: &Runs, scheme: &str) -> Vec<Sample> {
    runs.samples(scheme, |run| in_bursts(&run.throughput))
}

/// The overshoot after a burst: the highest one-second throughput minus the target, in kb/s.
pub(super) fn overshoot(run: &TimeSeries) -> Option<f64> {
    let greatest = |(_, end): Period| {
        let after = run.throughput.get(end..end + AFTER)?;
        after.iter().copied().reduce(f64::max)
    };
    let [first, second] = BURST.map(greatest);
    Some(f64::midpoint(first?, second?) - f64::from(TARGET))
}

fn measurements(runs: &Runs) -> Vec<Measurement> {
    let mut all = Vec::new();
    for scheme in ["c1", "c2", "c5"] {
        let name = |when: &str| format!("throughput.{scheme}.{when}");
        let (mid, late) = (runs.throughput(scheme, MID), runs.throughput(scheme, LATE));
        let idle = runs.throughput(scheme, ALONE);
        all.push(kbits(IDLE, &name("idle"), &idle));
        all.push(kbits(BURSTS, &name("burst"), &burst(runs, scheme)));
        all.push(kbits(FIFTEEN, &name("mid"), &mid));
        all.push(kbits(TWENTY, &name("mid"), &mid));
        all.push(kbits(TWENTY, &name("late"), &late));
    }
    for scheme in ["c2", "c5"] {
        let spike = runs.samples(scheme, overshoot);
        all.push(kbits(SPIKE, &format!("overshoot.{scheme}"), &spike));
        let sums = runs.samples(scheme, |run| in_bursts(&run.windows));
        all.push(segments(WINDOWS, &format!("windows.{scheme}.burst"), &sums));
    }
    all.push(segments(
        WINDOWS,
        "windows.c5.late",
        &runs.windows("c5", LATE),
    ));
    all.push(segments(
        WINDOWS,
        "windows.c5.mid",
        &runs.windows("c5", MID),
    ));
    all.extend(bound(runs));
    all
}

/// The maximum sum of windows with two or five connections for each seed, and its bounds: the
/// round-trip time and the step with which it was reached.
fn bound(runs: &Runs) -> Vec<Measurement> {
    let pairs = || runs.of_scheme("c2").iter().zip(runs.of_scheme("c5"));
    let greatest = |(two, five): (&TimeSeries, &TimeSeries)| {
        let both = two.peak.into_iter().chain(five.peak);
        both.max_by_key(|peak| peak.sum)
    };
    let peaks = |of: &dyn Fn(&Peak) -> f64| {
        let mut greatest = pairs().map(greatest);
        runs.samples("c2", |_| greatest.next().flatten().as_ref().map(of))
    };
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(WINDOWS, quantity, unit, GROUP, samples)
    };
    vec![
        of("windows", "segments", &peaks(&|peak| f64::from(peak.sum))),
        of("RTT", "ms", &peaks(&|peak| peak.rtt)),
        of("Ds", "segments", &peaks(&|peak| f64::from(peak.step))),
        Measurement::exact(WINDOWS, "f", "ratio", table_1().spike),
        Measurement::exact(WINDOWS, "Td", "kb/s", f64::from(TARGET)),
        Measurement::exact(WINDOWS, "MTU", "b", f64::from(SEGMENT) * 8.0),
    ]
}

/// The throughput over time, with the paper's values for the three schemes.
pub(super) fn picture(id: &str, runs: &Runs, known: &[(f64, [f64; 3])]) -> Plot {
    let names = [
        ("c1", "1 connection"),
        ("c2", "2 connections"),
        ("c5", "5 connections"),
    ];
    let series = names.map(|(scheme, name)| runs.series(scheme, name, 5, |run| &run.throughput));
    let points = known.iter().flat_map(|(at, values)| {
        let each = names.iter().zip(values);
        each.map(|((_, name), value)| stated(name, *at, *value))
    });
    Plot {
        id: id.to_owned(),
        title: "Throughput of the stream, means over 5 s".to_owned(),
        x: seconds(),
        y: axis("throughput", "kb/s"),
        series: series.to_vec(),
        stated: points.collect(),
        ..Plot::default()
    }
}

fn windows(runs: &Runs) -> Plot {
    let names = [
        ("c1", "1 connection"),
        ("c2", "2 connections"),
        ("c5", "5 connections"),
    ];
    let series = names.map(|(scheme, name)| runs.series(scheme, name, 5, |run| &run.windows));
    Plot {
        id: "fig4b".to_owned(),
        title: "Sum of the receiver windows, means over 5 s".to_owned(),
        x: seconds(),
        y: axis("sum of windows", "segments"),
        series: series.to_vec(),
        ..Plot::default()
    }
}

/// The table of the three schemes.
pub(super) fn table(runs: &Runs) -> FigureTable {
    let row = |(scheme, name): (&str, &str)| {
        vec![
            name.to_owned(),
            text(&runs.throughput(scheme, ALONE), 1),
            text(&burst(runs, scheme), 1),
            text(&runs.throughput(scheme, MID), 1),
            text(&runs.throughput(scheme, LATE), 1),
            text(&runs.samples(scheme, overshoot), 0),
            text(&runs.samples(scheme, |run| in_bursts(&run.windows)), 1),
            text(&runs.windows(scheme, MID), 1),
            text(&runs.windows(scheme, LATE), 1),
        ]
    };
    let rows = [("c1", "1, window 8"), ("c2", "2"), ("c5", "5")].map(row);
    figure_table(
        "schemes",
        "Throughput and sum of windows",
        &[
            "connections",
            "alone kb/s",
            "in bursts kb/s",
            "15 TCPs kb/s",
            "20 TCPs kb/s",
            "overshoot kb/s",
            "windows in bursts",
            "windows, 15 TCPs",
            "windows, 20 TCPs",
        ],
        rows.to_vec(),
    )
}

/// The parameters of the runs on the topology of Fig. 3.
pub(super) fn parameters() -> Vec<[String; 2]> {
    [
        (
            "links",
            "6 Mb/s, 20 ms each way; stated (5.1.1, Fig. 3)".to_owned(),
        ),
        (
            "queues",
            "RED, 50 packets including the one in transmission: ns-2's defaults; the kind is not \
             stated, and chosen"
                .to_owned(),
        ),
        ("segment", format!("{SEGMENT} B on the wire; stated (4.1)")),
        (
            "TCP",
            "Reno as in ns-2, window of other transfers 20 segments: ns-2's defaults; not stated"
                .to_owned(),
        ),
        (
            "send overhead",
            "none: ns-2's default; not stated".to_owned(),
        ),
        (
            "datagrams",
            "5.5 Mb/s, stated; 1000 B at constant intervals: chosen".to_owned(),
        ),
        (
            "delta, alpha, lambda, f",
            "300 ms, .9, 7000 B/s, 6; stated (Table I)".to_owned(),
        ),
        (
            "alpha",
            "the weight of the previous estimate: Table III has an alpha of 0".to_owned(),
        ),
        (
            "round-trip time",
            "the minimum time of a set-up or of a receiver window of the open connections"
                .to_owned(),
        ),
        (
            "one connection",
            "plain TCP with a receiver window of 8; stated (5.1.1)".to_owned(),
        ),
    ]
    .map(|(name, value)| [name.to_owned(), value])
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_count_by_their_seconds_and_overshoot_is_above_the_target() {
        let mut throughput = vec![800.0; 1000];
        throughput[200..220].fill(500.0);
        throughput[300..340].fill(650.0);
        assert_eq!(in_bursts(&throughput), Some(600.0));
        throughput[221] = 1600.0;
        throughput[345] = 1200.0;
        throughput[360] = 9000.0;
        let run = TimeSeries {
            throughput,
            ..TimeSeries::default()
        };
        assert_eq!(overshoot(&run), Some(600.0));
        assert_eq!(overshoot(&TimeSeries::default()), None);
    }
}
