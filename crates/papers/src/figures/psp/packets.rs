//! The packet size that the paper's numbers imply, and the results with others.

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Pending, Sample, Study};

use super::crowd::{best_row, received};
use super::sweep::{Sweep, TIME, mean, seeds, span};
use super::wan::LINE;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::psp::merge::{ACCESS, Merge, PACKET, SHARED};
use crate::jobs::psp::steady::Flows;

pub(super) const FIGURE: Figure = Figure {
    id: "psp.sensitivity",
    title: "The packet size: values implied by the paper's numbers, and results with others",
    claims: &[],
    make,
};
/// The number of senders, and of TCPs if there are any.
const EACH: u32 = 16;
/// The spacing of senders with TCPs in microseconds, at which the paper states rates (3.2.3).
const SPACING: u32 = super::alternatives::SPACING;
/// The round trip without transmission in microseconds (3.1), and an ACK in bits.
const RTT: f64 = 84_000.0;
const ACK: f64 = 320.0;

/// The packet in bytes at which a sender of this spacing, in microseconds, on a line of this rate
/// sends `rate`, both in Mb/s.
fn by_rate(line: f64, spacing: f64, rate: f64) -> f64 {
    rate * spacing / (1.0 - rate / line) / 8.0
}

/// The packet in bytes at which a window of `window` packets gives `rate` Mb/s.
fn by_window(window: f64, rate: f64) -> f64 {
    let each_way = 1.0 / ACCESS + 1.0 / f64::from(SHARED);
    rate * (RTT + ACK * each_way) / (window - rate * each_way) / 8.0
}

/// The rate in Mb/s of a window of packets of this size in bytes, where nothing
/// else is on its way.
pub(super) fn window_rate(window: f64, packet: f64) -> f64 {
    let each_way = 1.0 / ACCESS + 1.0 / f64::from(SHARED);
    let bits = packet * 8.0;
    let rate = window * bits / (RTT + (bits + ACK) * each_way);
    rate.min(ACCESS)
}

/// The packet in bytes that turns a gap of `sent` microseconds into one of `received` after the
/// faster link.
fn by_gap(sent: f64, received: f64) -> f64 {
    (received - sent) / (1.0 / ACCESS - 1.0 / f64::from(SHARED)) / 8.0
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study)?;
    let row = |row: &PacketResult| {
        let rates = [&row.media, &row.small, &row.large];
        let rates = rates.map(|samples| text(samples, 2));
        let best = row.best.iter().cloned();
        best.chain(rates).collect()
    };
    let tables = vec![
        implied(study),
        figure_table(
            "packets",
            "Other packets",
            &[
                "packet B",
                "16 senders: maximum of rate times delivered share, us",
                "largest spacing that delivers the maximum rate within 0.5 %, us",
                "smallest spacing from which less than 0.1 % is lost, us",
                "sender at 5000 us among 16 TCPs, Mb/s",
                "TCP with window 20, Mb/s",
                "TCP with window 800, Mb/s",
            ],
            rows.iter().map(row).collect(),
        ),
    ];
    Ok(Findings {
        tables,
        parameters: Merge::fixed(EACH, SPACING, span(study), 0)
            .with_tcp(EACH, 20)
            .parameters(TIME),
        ..Findings::default()
    })
}

/// The packet size that each number of the paper implies.
fn implied(study: &Study<'_>) -> FigureTable {
    let rows = [over_fig6(study), over_the_wan(study)].concat();
    let rows = rows.into_iter().filter(|(_, bytes)| bytes.is_finite());
    let rows = rows.map(|(name, bytes)| vec![name, format!("{bytes:.0}")]);
    figure_table(
        "implied",
        "The packet that each of the paper's numbers implies",
        &["number", "packet B"],
        rows.collect(),
    )
}

/// The numbers of Figs. 8 to 14 and of 3.2.4 with the packet in bytes that each implies.
fn over_fig6(study: &Study<'_>) -> Vec<(String, f64)> {
    let stated = |claim, index| study.stated(claim, index).unwrap_or(f64::NAN);
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
            format!("Figs. 10, 14: {large} Mb/s at {SPACING} us"),
            by_rate(ACCESS, f64::from(SPACING), large),
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

/// The numbers of the live tests (1.1), on a line of 622 Mb/s; the ledger has no values of the
/// losses.
fn over_the_wan(study: &Study<'_>) -> Vec<(String, f64)> {
    [(1, 100.0, 0.35), (2, 200.0, 0.1)]
        .into_iter()
        .filter_map(|(index, spacing, loss)| {
            let rate = study.stated("psp.fig1_2.wan", index)?;
            let name = format!(
                "1.1: {rate} Mb/s and {:.0} % lost at {spacing} us, line of {LINE} Mb/s",
                loss * 100.0
            );
            Some((name, by_rate(LINE, spacing, rate / (1.0 - loss))))
        })
        .collect()
}

/// The results with a packet size.
pub(super) struct PacketResult {
    packet: u32,
    /// The size, and the best spacings of 16 senders by three definitions.
    best: Vec<String>,
    /// At a spacing of 5000 us in Mb/s: a sender, and a TCP with a window of 20 packets and of 800.
    media: Vec<Sample>,
    small: Vec<Sample>,
    large: Vec<Sample>,
}

/// Requests the results with each of some packet sizes.
///
/// # Errors
/// If results are missing.
pub(super) fn rows(study: &mut Study<'_>) -> Result<Vec<PacketResult>, Pending> {
    let rows: Vec<_> = [1000, PACKET, 1430, 1500]
        .map(|packet| row(study, packet))
        .into();
    rows.into_iter().collect()
}

fn row(study: &mut Study<'_>, packet: u32) -> Result<PacketResult, Pending> {
    let (seeds, span) = (seeds(study), span(study));
    let alone = Sweep::of(study, seeds[..1].to_vec(), |spacing, seed| Merge {
        packet,
        ..Merge::fixed(EACH, spacing, span, seed)
    });
    let with_tcp = [20, 800].map(|window| {
        Sweep::over(study, &[SPACING], seeds.clone(), |spacing, seed| {
            let merge = Merge::fixed(EACH, spacing, span, seed).with_tcp(EACH, window);
            Merge { packet, ..merge }
        })
    });
    let [small, large] = with_tcp;
    let (alone, small, large) = (alone?, small?, large?);
    let goodput = |flows: &Flows| mean(&flows.tcp, |flow| flow.received);
    Ok(PacketResult {
        packet,
        best: best_row(&packet.to_string(), &alone),
        media: small.at(0, received),
        small: small.at(0, goodput),
        large: large.at(0, goodput),
    })
}

/// The results with packets of other sizes, and the source of the chosen size.
fn others(rows: &[PacketResult], of: impl Fn(&PacketResult) -> String) -> String {
    let others = rows.iter().filter(|row| row.packet != PACKET);
    let texts: Vec<String> = others
        .map(|row| format!("{} B: {}", row.packet, of(row)))
        .collect();
    format!(
        "The paper does not state the packet size; {PACKET} B was chosen near those that its numbers \
         imply (table `implied` of psp.sensitivity). With others: {}.",
        texts.join("; ")
    )
}

/// The dependence of the best spacing on the packet size.
pub(super) fn spacing_caveat(claim: &'static str, rows: &[PacketResult]) -> ClaimRemark {
    ClaimRemark {
        claim,
        text: format!(
            "The resolution of the best spacing is a step of the sweep, 50 us or (with --full) 25 \
             us, which its interval does not include. It grows with the packet size. It is where \
             the loss ends: the mean received rate has no peak (claim psp.fig8.rise). {}",
            others(rows, |row| format!("{} us", row.best[1]))
        ),
    }
}

/// The dependence of the rate of a TCP with a small window on the packet size.
pub(super) fn window_caveat(
    claim: &'static str,
    most: &[Sample],
    rows: &[PacketResult],
) -> ClaimRemark {
    ClaimRemark {
        claim,
        text: format!(
            "The rate grows with the packet size, which was chosen by this number among others. {} \
             The verdict is for the mean of 16, at most {} Mb/s; the paper shows one TCP. \
             Table `spacings` has the maximum of 16.",
            others(rows, |row| format!("{} Mb/s", text(&row.small, 2))),
            text(most, 3),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::psp::merge::Span;

    /// A packet size gives the rate and the gap from which it is computed again.
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
