//! Which packet size the paper's numbers imply, and what follows from others.

use super::crowd::{best_row, received};
use super::merge::{ACCESS, Merge, PACKET, SHARED};
use super::pictures::sheet;
use super::steady::{Flows, Steady};
use super::sweep::{Sweep, mean, seeds, span, text};
use crate::figure::{Figure, Findings, Sheet};
use crate::measurement::Sample;
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "psp.sensitivity",
    title: "The packet size: what the paper's numbers imply, and what follows from it",
    claims: &[],
    make,
};
/// Senders, and TCPs where there are any.
const EACH: u32 = 16;
/// The round trip without transmission in microseconds (3.1), and an ACK in bits.
const RTT: f64 = 84_000.0;
const ACK: f64 = 320.0;

/// The packet in bytes at which a sender of this spacing, in microseconds, on a line of this rate sends `rate`, both in
/// Mb/s.
fn by_rate(line: f64, spacing: f64, rate: f64) -> f64 {
    rate * spacing / (1.0 - rate / line) / 8.0
}

/// The packet in bytes at which a window of so many packets makes `rate` Mb/s.
fn by_window(window: f64, rate: f64) -> f64 {
    let each_way = 1.0 / ACCESS + 1.0 / f64::from(SHARED);
    rate * (RTT + ACK * each_way) / (window - rate * each_way) / 8.0
}

/// The rate in Mb/s that a window of so many packets of this size in bytes makes, where nothing else is on its way.
pub(super) fn window_rate(window: f64, packet: f64) -> f64 {
    let each_way = 1.0 / ACCESS + 1.0 / f64::from(SHARED);
    let bits = packet * 8.0;
    let rate = window * bits / (RTT + (bits + ACK) * each_way);
    rate.min(ACCESS)
}

/// The packet in bytes that makes a gap of `sent` microseconds one of `received` behind the faster link.
fn by_gap(sent: f64, received: f64) -> f64 {
    (received - sent) / (1.0 / ACCESS - 1.0 / f64::from(SHARED)) / 8.0
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows: Vec<_> = [1000, 1400, PACKET, 1500]
        .map(|packet| row(study, packet))
        .into();
    let rows = rows.into_iter().collect::<Result<_, _>>()?;
    Ok(Findings {
        sheets: vec![
            implied(study),
            sheet(
                "packets",
                "Other packets",
                &[
                    "packet B",
                    "16 senders: greatest product of rate and share not lost, us",
                    "largest spacing that delivers the greatest rate within 0.5 %, us",
                    "least spacing from which on less than 0.1 % is lost, us",
                    "sender at 5000 us among 16 TCPs, Mb/s",
                    "TCP with window 20, Mb/s",
                    "TCP with window 800, Mb/s",
                ],
                rows,
            ),
        ],
        parameters: vec![[
            "packet".to_owned(),
            format!("{PACKET} B on the wire, media and TCP; sheet `implied`"),
        ]],
        ..Findings::default()
    })
}

/// What each number of the paper implies.
fn implied(study: &Study<'_>) -> Sheet {
    let rows = [over_fig6(study), over_the_wan()].concat();
    let rows = rows.into_iter();
    let rows = rows.map(|(name, bytes)| vec![name, format!("{bytes:.0}")]);
    sheet(
        "implied",
        "The packet that each of the paper's numbers implies",
        &["number", "packet B"],
        rows.collect(),
    )
}

/// The numbers of Figs. 8 to 14 and of 3.2.4 with the packet in bytes that each implies.
fn over_fig6(study: &Study<'_>) -> Vec<(String, f64)> {
    let stated = |claim, index| study.stated(claim, index).unwrap_or_default();
    let sixteenth = f64::from(SHARED) / f64::from(EACH);
    let best = stated("psp.fig8_9.sixteen", 3);
    let nearest = stated("psp.fig10_11.with_tcp", 0);
    let peak = stated("psp.fig10_11.with_tcp", 1);
    let small = stated("psp.fig12.tcp_small_window", 0);
    let large = stated("psp.fig14.tcp_large_window", 0);
    let gap = stated("psp.spacing_survives", 0);
    vec![
        (
            format!("Fig. 8: 16 senders of {best} us fill the link"),
            by_rate(ACCESS, best, sixteenth),
        ),
        (
            format!("Fig. 10: {peak} Mb/s at {nearest} us"),
            by_rate(ACCESS, nearest, peak),
        ),
        (
            format!("Fig. 10: {peak} Mb/s at 1050 us"),
            by_rate(ACCESS, 1050.0, peak),
        ),
        (
            format!("Fig. 12: {small} Mb/s with a window of 20"),
            by_window(20.0, small),
        ),
        (
            format!("Figs. 10, 14: {large} Mb/s at 5000 us"),
            by_rate(ACCESS, 5000.0, large),
        ),
        (
            format!("3.2.4: 1500 us become {gap} us, from end to start (Fig. 3)"),
            by_gap(1500.0, gap),
        ),
        (
            format!("3.2.4: 1500 us become {gap} us, from start to start"),
            (gap - 1500.0) * ACCESS / 8.0,
        ),
    ]
}

/// Those of the live tests (1.1), on a line of 622 Mb/s.
fn over_the_wan() -> Vec<(String, f64)> {
    vec![
        (
            "1.1: 62 Mb/s and 35 % lost at 100 us, line of 622 Mb/s".to_owned(),
            by_rate(622.0, 100.0, 62.0 / 0.65),
        ),
        (
            "1.1: 50 Mb/s and 10 % lost at 200 us, line of 622 Mb/s".to_owned(),
            by_rate(622.0, 200.0, 50.0 / 0.9),
        ),
    ]
}

/// What follows from a packet size.
fn row(study: &mut Study<'_>, packet: u32) -> Result<Vec<String>, Pending> {
    let (seeds, span) = (seeds(study), span(study));
    let alone = Sweep::of(study, seeds[..1].to_vec(), |spacing, seed| Merge {
        packet,
        ..Merge::fixed(EACH, spacing, span, seed)
    });
    let beside = [20, 800].map(|window| {
        let job = |&seed: &u64| {
            let merge = Merge::fixed(EACH, 5000, span, seed).beside(EACH, window);
            Steady(Merge { packet, ..merge })
        };
        study.ask_all(seeds.iter().map(job))
    });
    let [small, large] = beside;
    let (alone, small, large) = (alone?, small?, large?);
    let samples = |runs: &[Flows], of: fn(&Flows) -> Option<f64>| -> Vec<Sample> {
        let runs = seeds.iter().zip(runs);
        let known = runs.filter_map(|(&seed, run)| {
            Some(Sample {
                seed,
                value: of(run)?,
            })
        });
        known.collect()
    };
    let goodput: fn(&Flows) -> Option<f64> = |run| mean(&run.tcp, |flow| flow.received);
    let mut row = best_row(&packet.to_string(), &alone);
    row.push(text(&samples(&small, received), 2));
    row.push(text(&samples(&small, goodput), 2));
    row.push(text(&samples(&large, goodput), 2));
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::psp::merge::Span;

    /// A packet gives the rate and the gap from which it is found again.
    #[test]
    fn packets_are_found_by_what_they_give() {
        let merge = Merge::fixed(
            1,
            0,
            Span {
                seconds: 10,
                warm_up: 1,
            },
            1,
        );
        let found = by_rate(ACCESS, 700.0, merge.rate_at(700.0));
        assert!((found - f64::from(PACKET)).abs() < 1e-6, "{found}");
        let bits = f64::from(PACKET) * 8.0;
        let gap = 1500.0 + bits / ACCESS - bits / f64::from(SHARED);
        assert!((by_gap(1500.0, gap) - f64::from(PACKET)).abs() < 1e-6);
        let rate = window_rate(20.0, f64::from(PACKET));
        assert!((by_window(20.0, rate) - f64::from(PACKET)).abs() < 1e-6);
    }
}
