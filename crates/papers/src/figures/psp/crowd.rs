//! Sixteen senders of equal spacing (Figs. 8, 9).

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_report::plot::{Plot, Series};

use super::parameters::STARTS;
use super::sweep::microseconds;
use super::sweep::{
    Column, Sweep, TIME, best, extremes, largest_undiminished, least_lossless, mean, seeds, span,
};
use super::{ns2, packets};
use crate::figures::estimates::text;
use crate::figures::pictures::{figure_table, mbits, share, stated, thin};
use crate::jobs::psp::merge::{Merge, PACKET, SHARED, Starts};
use crate::jobs::psp::steady::{Flow, Flows, loss};

pub(super) const FIGURE: Figure = Figure {
    id: "psp.fig8_9",
    title: "One of sixteen senders: throughput and loss over the spacing",
    claims: &[CLAIM, RISE, HALVED, FEWER],
    make,
};
const CLAIM: &str = "psp.fig8_9.sixteen";
const RISE: &str = "psp.fig8.rise";
const HALVED: &str = "psp.abstract.loss";
const FEWER: &str = "psp.fig8_9.fewer";
/// The other numbers of competing senders (3.2.2).
const FEWER_SENDERS: [u32; 3] = [2, 4, 8];
/// The paper's best spacing of sixteen senders in microseconds (3.2.2).
const BEST: u32 = 1000;
const SENDERS: u32 = 16;

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let sweeps = Starts::ALL.map(|starts| (starts, sweep_of(study, SENDERS, starts)));
    let fewer = FEWER_SENDERS.map(|senders| (senders, sweep_of(study, senders, Starts::Drift)));
    let packets = packets::rows(study);
    let mut modes = Vec::new();
    for (starts, sweep) in sweeps {
        modes.push((starts, sweep?));
    }
    let packets = packets?;
    let fewer = fewer
        .into_iter()
        .map(|(senders, sweep)| Ok((senders, sweep?)));
    let fewer = fewer.collect::<Result<Vec<_>, Pending>>()?;
    let (_, chosen) = &modes[chosen(&modes)];
    let known = |index| study.stated(CLAIM, index);
    Ok(Findings {
        plots: vec![
            throughput(chosen, [0, 1].map(known)),
            losses(chosen, known(2)),
            one_sender_by_mode(&modes),
            loss_by_mode(&modes),
        ],
        tables: vec![
            curve(chosen),
            best_spacings(&modes),
            starts_table(&modes),
            fewer_table(&fewer),
        ],
        measurements: measurements(chosen, &fewer),
        notes: NOTES.iter().map(ToString::to_string).collect(),
        reasons: vec![no_peak(chosen)],
        caveats: vec![packets::spacing_caveat(CLAIM, &packets)],
        parameters: Merge::fixed(SENDERS, 0, span(study), 0).parameters(TIME),
        ..Findings::default()
    })
}

const NOTES: &[&str] = &[
    STARTS,
    "The figures show `drift`: in the paper all sixteen senders behave alike and there is no loss \
     at its best spacing. In `simul` and `rand` phases never change, and the drop-tail queue always \
     drops packets of the same senders (columns of the minimum and maximum of 16 in table \
     `starts`); in `jitter` the gaps at a receiver vary many times more than in 3.2.4 (table `gaps` \
     of psp.survives).",
    "A sixteenth of 155 Mb/s is 9.69 Mb/s: while the senders offer more than the link rate, their \
     mean received rate is that, at any spacing. It has no peak; only the loss falls up to the best \
     spacing. ns-2 gives the same result.",
    "At 0 us a sender whose clock is fast offers more than the rate of its access link; packets \
     that wait there are neither lost nor received, so the loss is less than the difference of sent \
     and received packets.",
    "The best spacing maximises the product of the mean received rate and the delivered share; the \
     paper defines the optimum with respect to throughput and loss (3.2.3). The table of best \
     spacings has two other definitions.",
];

/// The position of the start mode that the figures show.
fn chosen(modes: &[(Starts, Sweep)]) -> usize {
    let drift = |(starts, _): &(Starts, _)| *starts == Starts::Drift;
    modes.iter().position(drift).unwrap_or(0)
}

/// The spacings at which the start modes are compared, in microseconds.
const COMPARED: &[u32] = &[0, 500, 1000, 1500];

fn sweep_of(study: &mut Study<'_>, senders: u32, starts: Starts) -> Result<Sweep, Pending> {
    let span = span(study);
    let mut seeds = seeds(study);
    if starts == Starts::Simul {
        // No random draws.
        seeds.truncate(1);
    }
    Sweep::of(study, seeds, |spacing, seed| {
        Merge::fixed(senders, spacing, span, seed).starting(starts)
    })
}

pub(super) fn sent(flows: &Flows) -> Option<f64> {
    mean(&flows.media, |flow| flow.sent)
}

pub(super) fn received(flows: &Flows) -> Option<f64> {
    mean(&flows.media, |flow| flow.received)
}

pub(super) fn lost(flows: &Flows) -> Option<f64> {
    loss(&flows.media)
}

fn measurements(sweep: &Sweep, fewer: &[(u32, Sweep)]) -> Vec<Measurement> {
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "sixteen", samples)
    };
    let mut all = vec![
        of("sent", "Mb/s", &sweep.at(0, sent)),
        of("received", "Mb/s", &sweep.at(0, received)),
        of("loss", "ratio", &sweep.at(0, lost)),
        of("best spacing", "us", &best_spacing(sweep)),
    ];
    let model = Measurement::of(RISE, "received", "Mb/s", "sixteen", &[]);
    all.extend(sweep.measurements(&model, received));
    let best = sweep.position(BEST).unwrap_or(0);
    for (position, name) in [(0, "blasted"), (best, "spaced")] {
        let halved = |what: &str, unit: &str, of: fn(&Flows) -> Option<f64>| {
            let name = format!("{what}.{name}");
            Measurement::of(HALVED, &name, unit, "sixteen", &sweep.at(position, of))
        };
        all.extend([
            halved("loss", "ratio", lost),
            halved("received", "Mb/s", received),
        ]);
    }
    for (senders, sweep) in fewer {
        let name = format!("loss.k{senders}");
        let model = Measurement::of(FEWER, &name, "ratio", &name, &[]);
        all.extend(sweep.measurements(&model, lost));
    }
    all
}

/// The reason for which the received rate does not rise with the spacing.
fn no_peak(sweep: &Sweep) -> ClaimRemark {
    let at = |spacing: u32| {
        let position = sweep.position(spacing);
        position.map_or_else(String::new, |at| text(&sweep.at(at, received), 3))
    };
    ClaimRemark {
        claim: RISE,
        text: format!(
            "While sixteen senders offer more than the link carries, their mean received rate is a \
             sixteenth of its {SHARED} Mb/s at any spacing, as in ns-2: {} Mb/s at 0 us, {} at 500 us \
             and {} at 1000 us. Only single senders that their phases favour have a peak (the plots \
             of four start modes).",
            at(0),
            at(500),
            at(1000),
        ),
    }
}

/// The loss and the received rate of 2, 4 and 8 senders.
fn fewer_table(fewer: &[(u32, Sweep)]) -> FigureTable {
    let rows = fewer.iter().flat_map(|(senders, sweep)| {
        let row = move |(position, spacing): (usize, &u32)| {
            vec![
                senders.to_string(),
                spacing.to_string(),
                text(&sweep.at(position, received), 2),
                text(&sweep.at(position, lost), 4),
            ]
        };
        sweep.spacings.iter().enumerate().map(row)
    });
    figure_table(
        "fewer",
        "Other numbers of senders (drift) by their spacing",
        &[
            "senders",
            "spacing us",
            "received Mb/s, mean of all",
            "loss",
        ],
        rows.collect(),
    )
}

/// The best spacing of each seed.
pub(super) fn best_spacing(sweep: &Sweep) -> Vec<Sample> {
    let product = |flows: &Flows| Some(received(flows)? * (1.0 - lost(flows)?));
    sweep.samples(product, |products| best(&sweep.spacings, products))
}

/// The best spacings of each seed by other definitions: by the rate alone, and by the loss alone.
pub(super) fn other_spacings(sweep: &Sweep) -> [Vec<Sample>; 2] {
    [
        sweep.samples(received, |rates| {
            largest_undiminished(&sweep.spacings, rates)
        }),
        sweep.samples(lost, |losses| least_lossless(&sweep.spacings, losses)),
    ]
}

/// The rate of the first sender: the paper's "one of".
fn first(flows: &Flows) -> Option<&Flow> {
    flows.media.first()
}

fn throughput(sweep: &Sweep, [sent_at_0, received_at_0]: [Option<f64>; 2]) -> Plot {
    let extreme = |which: usize| move |flows: &Flows| Some(extremes(&flows.media)?[which]);
    Plot {
        id: "fig8".to_owned(),
        title: "Throughput for one of the 16 senders".to_owned(),
        x: microseconds(),
        y: mbits("throughput"),
        series: vec![
            sweep.series("sent", sent),
            sweep.series("received, mean of 16", received),
            thin(sweep.series("received, minimum of 16", extreme(0))),
            thin(sweep.series("received, maximum of 16", extreme(1))),
            ns2::series((SENDERS, PACKET, "drift"), "received in ns-2", |row| {
                row.received
            }),
        ],
        stated: [
            sent_at_0.map(|y| stated("sent", 0.0, y)),
            received_at_0.map(|y| stated("received, mean of 16", 0.0, y)),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..Plot::default()
    }
}

fn losses(sweep: &Sweep, at_0: Option<f64>) -> Plot {
    Plot {
        id: "fig9".to_owned(),
        title: "Packet loss for one of 16 senders".to_owned(),
        x: microseconds(),
        y: share("loss"),
        series: vec![
            sweep.series("mean of 16", lost),
            ns2::series((SENDERS, PACKET, "drift"), "ns-2", |row| row.loss / 100.0),
        ],
        stated: at_0
            .map(|y| stated("mean of 16", 0.0, y))
            .into_iter()
            .collect(),
        ..Plot::default()
    }
}

fn one_sender_by_mode(modes: &[(Starts, Sweep)]) -> Plot {
    let series = |(starts, sweep): &(Starts, Sweep)| {
        sweep.series(starts.name(), |flows| Some(first(flows)?.received))
    };
    Plot {
        id: "fig8-starts".to_owned(),
        title: "Received rate of the first of 16 senders, in four start modes".to_owned(),
        x: microseconds(),
        y: mbits("received"),
        series: modes.iter().map(series).collect(),
        ..Plot::default()
    }
}

fn loss_by_mode(modes: &[(Starts, Sweep)]) -> Plot {
    let series =
        |(starts, sweep): &(Starts, Sweep)| -> Series { sweep.series(starts.name(), lost) };
    Plot {
        id: "fig9-starts".to_owned(),
        title: "Loss of 16 senders, in four start modes".to_owned(),
        x: microseconds(),
        y: share("loss"),
        series: modes.iter().map(series).collect(),
        ..Plot::default()
    }
}

/// The table of the curve.
fn curve(sweep: &Sweep) -> FigureTable {
    let columns: [Column<'_>; 5] = [
        ("sent Mb/s", &sent, 2),
        ("received Mb/s, mean of 16", &received, 3),
        (
            "minimum of 16",
            &|flows| Some(extremes(&flows.media)?[0]),
            2,
        ),
        (
            "maximum of 16",
            &|flows| Some(extremes(&flows.media)?[1]),
            2,
        ),
        ("loss", &lost, 4),
    ];
    sweep.table("16 senders (drift) by their spacing", &columns)
}

fn best_spacings(modes: &[(Starts, Sweep)]) -> FigureTable {
    let row = |(starts, sweep): &(Starts, Sweep)| best_row(starts.name(), sweep);
    best_table(modes.iter().map(row).collect())
}

/// The best spacings of runs by three definitions.
pub(super) fn best_row(name: &str, sweep: &Sweep) -> Vec<String> {
    let [by_rate, by_loss] = other_spacings(sweep);
    let known = [best_spacing(sweep), by_rate, by_loss];
    let texts = known.iter().map(|samples| text(samples, 0));
    [name.to_owned()].into_iter().chain(texts).collect()
}

pub(super) fn best_table(rows: Vec<Vec<String>>) -> FigureTable {
    figure_table(
        "best",
        "The best spacing by three definitions",
        &[
            "runs",
            "maximum of rate times delivered share, us",
            "largest that delivers the maximum rate within 0.5 %, us",
            "smallest from which less than 0.1 % is lost, us",
        ],
        rows,
    )
}

/// The results of each start mode at some spacings, with those of ns-2.
fn starts_table(modes: &[(Starts, Sweep)]) -> FigureTable {
    let rows = modes
        .iter()
        .flat_map(|mode| COMPARED.iter().map(move |&spacing| (mode, spacing)));
    figure_table(
        "starts",
        "Four start modes, with the results of ns-2",
        &[
            "starts",
            "spacing us",
            "minimum of 16, Mb/s",
            "mean, Mb/s",
            "maximum, Mb/s",
            "loss",
            "ns-2: minimum, Mb/s",
            "ns-2: mean, Mb/s",
            "ns-2: maximum, Mb/s",
            "ns-2: loss",
        ],
        rows.filter_map(|((starts, sweep), spacing)| starts_row(*starts, sweep, spacing))
            .collect(),
    )
}

fn starts_row(starts: Starts, sweep: &Sweep, spacing: u32) -> Option<Vec<String>> {
    let position = sweep.position(spacing)?;
    let at = |of: &dyn Fn(&Flows) -> Option<f64>, digits| text(&sweep.at(position, of), digits);
    let mut row = vec![
        starts.name().to_owned(),
        spacing.to_string(),
        at(&|flows| Some(extremes(&flows.media)?[0]), 2),
        at(&received, 2),
        at(&|flows| Some(extremes(&flows.media)?[1]), 2),
        at(&lost, 4),
    ];
    let known = ns2::rows(SENDERS, PACKET, starts.name());
    row.extend(match known.iter().find(|row| row.spacing == spacing) {
        Some(row) => vec![
            format!("{:.2}", row.least),
            format!("{:.2}", row.received),
            format!("{:.2}", row.most),
            format!("{:.4}", row.loss / 100.0),
        ],
        None => vec!["-".to_owned(); 4],
    });
    Some(row)
}
