//! Sixteen senders of equal spacing among sixteen TCP transfers (Figs. 10 to 15).

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_report::plot::{Plot, Stated};

use super::crowd::{best_row, best_spacing, best_table, lost, received, sent};
use super::lab::{self, LabRuns, beside};
use super::parameters::STARTS;
use super::sweep::microseconds;
use super::sweep::{Column, Sweep, TIME, extremes, mean, seeds, span};
use super::{alternatives, packets};
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::{mbits, share, stated, thin};
use crate::jobs::psp::merge::{Merge, SHARED};
use crate::jobs::psp::steady::{Flows, loss};

pub(super) const MEDIA: Figure = Figure {
    id: "psp.fig10_11",
    title: "One of sixteen senders among sixteen TCPs",
    claims: &["psp.fig10_11.with_tcp"],
    make: media,
};
pub(super) const TCP: Figure = Figure {
    id: "psp.fig12_13",
    title: "One of sixteen TCPs with a window of 20 packets among sixteen senders",
    claims: &["psp.fig12.tcp_small_window"],
    make: small_window,
};
pub(super) const LARGE: Figure = Figure {
    id: "psp.fig14_15",
    title: "One of sixteen TCPs with a window of 800 packets among sixteen senders",
    claims: &[
        "psp.fig14.tcp_large_window",
        "psp.fig13_15.tcp_loss",
        STARVED,
    ],
    make: large_window,
};
const STARVED: &str = "psp.tcp_starved";
const EACH: u32 = 16;
/// The receiver's window in packets that is the default of many systems (3.2.3), and one beyond the
/// product of bandwidth and delay.
const WINDOWS: [u32; 2] = [20, 800];

fn sweep_of(study: &mut Study<'_>, window: u32) -> Result<Sweep, Pending> {
    let span = span(study);
    let seeds = seeds(study);
    Sweep::of(study, seeds, |spacing, seed| {
        Merge::fixed(EACH, spacing, span, seed).with_tcp(EACH, window)
    })
}

fn parameters(study: &Study<'_>, window: u32) -> Vec<[String; 2]> {
    Merge::fixed(EACH, 0, span(study), 0)
        .with_tcp(EACH, window)
        .parameters(TIME)
}

fn goodput(flows: &Flows) -> Option<f64> {
    mean(&flows.tcp, |flow| flow.received)
}

fn tcp_loss(flows: &Flows) -> Option<f64> {
    loss(&flows.tcp)
}

fn media(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig10_11.with_tcp";
    let sweep = sweep_of(study, WINDOWS[0])?;
    let known = [0, 1, 2].map(|index| study.stated(CLAIM, index));
    let spacing = best_spacing(&sweep);
    let mean = estimate(&spacing).map_or(0.0, |best| best.mean);
    let nearest = |spacing: &&u32| (f64::from(**spacing) - mean).abs();
    let position = sweep
        .spacings
        .iter()
        .min_by(|a, b| nearest(a).total_cmp(&nearest(b)));
    let position = position.and_then(|&spacing| sweep.position(spacing));
    let at = |of: fn(&Flows) -> Option<f64>| {
        position.map_or(Vec::new(), |position| sweep.at(position, of))
    };
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "sixteen", samples)
    };
    Ok(Findings {
        plots: vec![media_throughput(&sweep, known), media_loss(&sweep, known)],
        tables: vec![
            curve(&sweep, WINDOWS[0]),
            best_table(vec![best_row("window 20", &sweep)]),
        ],
        measurements: vec![
            of("best spacing", "us", &spacing),
            of("received", "Mb/s", &at(received)),
            of("loss", "ratio", &at(lost)),
        ],
        reasons: known[1]
            .map(|peak| capacity_reason(&sweep, peak, &spacing))
            .into_iter()
            .collect(),
        parameters: parameters(study, WINDOWS[0]),
        ..Findings::default()
    })
}

/// The reason for which senders among TCPs do not have the paper's rate.
fn capacity_reason(sweep: &Sweep, peak: f64, best: &[Sample]) -> ClaimRemark {
    let shared = f64::from(SHARED);
    let own = peak * f64::from(EACH);
    let at = |spacing: u32, of: fn(&Flows) -> Option<f64>, digits| {
        let position = sweep.position(spacing);
        position.map_or_else(String::new, |position| {
            text(&sweep.at(position, of), digits)
        })
    };
    ClaimRemark {
        claim: "psp.fig10_11.with_tcp",
        text: format!(
            "{EACH} senders that receive {peak} Mb/s each have {own} Mb/s, more than the {shared} \
             Mb/s of the stated link; no packet size can give that, and a loss of exactly 0 is \
             impossible while TCPs probe for bandwidth. A sixteenth of the link is {:.2} Mb/s. At \
             1050 us a sender sends {} Mb/s, receives {} Mb/s and loses {}; the TCPs have {} Mb/s \
             each. The best spacing is {} us, with the resolution of the sweep.",
            shared / f64::from(EACH),
            at(1050, sent, 3),
            at(1050, received, 3),
            at(1050, lost, 4),
            at(1050, goodput, 3),
            text(best, 0),
        ),
    }
}

fn small_window(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig12.tcp_small_window";
    let sweep = sweep_of(study, WINDOWS[0]);
    let windows = packets::rows(study);
    let (sweep, windows) = (sweep?, windows?);
    let known = study.stated(CLAIM, 0);
    let most = sweep.samples(goodput, |curve| {
        curve.iter().flatten().copied().reduce(f64::max)
    });
    Ok(Findings {
        plots: vec![
            tcp_throughput(
                &sweep,
                "fig12",
                known.map(|y| (f64::from(alternatives::SPACING), y)),
            ),
            tcp_losses(&sweep, "fig13"),
        ],
        tables: vec![curve(&sweep, WINDOWS[0])],
        measurements: vec![Measurement::of(
            CLAIM,
            "maximum goodput",
            "Mb/s",
            "sixteen",
            &most,
        )],
        caveats: vec![packets::window_caveat(CLAIM, &most, &windows)],
        parameters: parameters(study, WINDOWS[0]),
        ..Findings::default()
    })
}

fn large_window(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig14.tcp_large_window";
    let sweeps = WINDOWS.map(|window| sweep_of(study, window));
    let others = alternatives::rows(study);
    let lab = LabRuns::of(study, |seed| {
        Merge::fixed(EACH, alternatives::SPACING, lab::SPAN, seed).with_tcp(EACH, WINDOWS[1])
    });
    let [small, large] = sweeps;
    let (small, large, others, lab) = (small?, large?, others?, lab?);
    let lab = lab.map(|lab| [received, goodput].map(|of| lab.samples(|run| of(&run.flows))));
    let last = large.spacings.len() - 1;
    let known = study.stated(CLAIM, 0).zip(study.stated(CLAIM, 1));
    let of = |quantity: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, "Mb/s", "sixteen", samples)
    };
    let mut measurements = vec![
        of("media", &large.at(last, received)),
        of("tcp", &large.at(last, goodput)),
    ];
    measurements.extend(loss_curve(&small, "tcp_loss.window20"));
    measurements.extend(loss_curve(&large, "tcp_loss.window800"));
    for (sweep, window) in [(&small, WINDOWS[0]), (&large, WINDOWS[1])] {
        for (position, name) in [(0, "blasted"), (last, "spaced")] {
            let name = format!("tcp.{name}.window{window}");
            let samples = sweep.at(position, goodput);
            measurements.push(Measurement::of(STARVED, &name, "Mb/s", "sixteen", &samples));
        }
    }
    let mut tables = vec![curve(&large, WINDOWS[1]), alternatives::table_of(&others)];
    tables.extend(lab.as_ref().map(|lab| {
        let simulated = [received, goodput].map(|of| large.at(last, of));
        lab_table(simulated, lab)
    }));
    Ok(Findings {
        in_lab: lab.map_or_else(Vec::new, |[media, tcp]| {
            vec![of("media", &media), of("tcp", &tcp)]
        }),
        plots: vec![
            tcp_throughput(
                &large,
                "fig14",
                known.map(|(_, y)| (f64::from(alternatives::SPACING), y)),
            ),
            tcp_losses(&large, "fig15"),
        ],
        reasons: known
            .map(|known| alternatives::reason(CLAIM, known.into(), &others))
            .into_iter()
            .collect(),
        caveats: vec![alternatives::caveat(CLAIM, &others)],
        tables,
        measurements,
        parameters: parameters(study, WINDOWS[1]),
        notes: vec![STARTS.to_owned()],
        ..Findings::default()
    })
}

/// Rates of the lab, whose TCPs are the kernel's, beside those of the simulation.
fn lab_table([sender, tcp]: [Vec<Sample>; 2], lab: &[Vec<Sample>; 2]) -> FigureTable {
    beside(
        "16 senders of 5000 us and 16 TCPs: simulated with a window of 800 packets, and on real sockets",
        2,
        &[
            ("received of a sender Mb/s", sender, lab[0].clone()),
            ("TCP Mb/s, mean of 16", tcp, lab[1].clone()),
        ],
    )
}

/// The loss of all TCPs over the spacing, for the claim on its shape.
fn loss_curve(sweep: &Sweep, quantity: &str) -> Vec<Measurement> {
    let model = Measurement::of("psp.fig13_15.tcp_loss", quantity, "ratio", quantity, &[]);
    sweep.measurements(&model, tcp_loss)
}

/// The upper end of the range of best spacings in microseconds; the ledger has the lower one
/// (3.2.3).
const BEST_TO: f64 = 1050.0;

fn media_throughput(sweep: &Sweep, [best, peak, _]: [Option<f64>; 3]) -> Plot {
    Plot {
        id: "fig10".to_owned(),
        title: "Throughput for one of 16 senders among 16 TCPs".to_owned(),
        x: microseconds(),
        y: mbits("throughput"),
        series: vec![
            sweep.series("sent", sent),
            sweep.series("received, mean of 16", received),
        ],
        stated: known_range(best, peak, "received, mean of 16"),
        ..Plot::default()
    }
}

/// The paper's values of a curve at both ends of the range of best spacings.
fn known_range(best: Option<f64>, value: Option<f64>, of: &str) -> Vec<Stated> {
    let ends = best.into_iter().chain([BEST_TO]);
    let points = ends.filter_map(|x| Some(stated(of, x, value?)));
    points.collect()
}

fn media_loss(sweep: &Sweep, [best, _, loss]: [Option<f64>; 3]) -> Plot {
    Plot {
        id: "fig11".to_owned(),
        title: "Packet loss for one of 16 senders among 16 TCPs".to_owned(),
        x: microseconds(),
        y: share("loss"),
        series: vec![sweep.series("mean of 16", lost)],
        stated: known_range(best, loss, "mean of 16"),
        ..Plot::default()
    }
}

fn tcp_throughput(sweep: &Sweep, id: &str, known: Option<(f64, f64)>) -> Plot {
    let extreme = |which: usize| move |flows: &Flows| Some(extremes(&flows.tcp)?[which]);
    Plot {
        id: id.to_owned(),
        title: "Throughput for one of 16 TCPs among 16 senders".to_owned(),
        x: microseconds(),
        y: mbits("goodput"),
        series: vec![
            sweep.series("mean of 16", goodput),
            thin(sweep.series("minimum of 16", extreme(0))),
            thin(sweep.series("maximum of 16", extreme(1))),
        ],
        stated: known
            .map(|(x, y)| stated("mean of 16", x, y))
            .into_iter()
            .collect(),
        ..Plot::default()
    }
}

fn tcp_losses(sweep: &Sweep, id: &str) -> Plot {
    Plot {
        id: id.to_owned(),
        title: "Packet loss for one of 16 TCPs among 16 senders".to_owned(),
        x: microseconds(),
        y: share("loss"),
        series: vec![sweep.series("mean of 16", tcp_loss)],
        ..Plot::default()
    }
}

/// The table of the curves.
fn curve(sweep: &Sweep, window: u32) -> FigureTable {
    let columns: [Column<'_>; 7] = [
        ("sent Mb/s", &sent, 2),
        ("received Mb/s, mean of 16", &received, 3),
        ("loss", &lost, 4),
        ("TCP Mb/s, mean of 16", &goodput, 3),
        ("minimum of 16", &|flows| Some(extremes(&flows.tcp)?[0]), 2),
        ("maximum of 16", &|flows| Some(extremes(&flows.tcp)?[1]), 2),
        ("loss of TCP", &tcp_loss, 5),
    ];
    let title = format!("16 senders by their spacing, and 16 TCPs with a window of {window}");
    sweep.table(&title, &columns)
}
