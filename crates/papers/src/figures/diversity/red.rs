//! Early discard on one link and on several, packet by packet (section II), and ECN as the remedy.

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_report::plot::{Axis, Plot, Point, Series};

use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::diversity::downloads::{Downloaded, Downloads, INTERVAL, Queue};
use crate::jobs::diversity::setting::LINKS;

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.red",
    title: "Five TCP downloads packet by packet: drop-tail and RED, one link and four, naive copies \
            and ECN",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.red_is_masked";

/// The runs, and their quantities in the rule.
fn settings() -> [(&'static str, &'static str, Downloads); 10] {
    let [tail, red] = [Queue::DropTail, Queue::Red];
    let one = |queue| Downloads::new(1, queue);
    let four = |queue| Downloads::new(LINKS, queue);
    let ns2 = Queue::RedOfNs2;
    [
        ("overflow.droptail.single_link", ONE_TAIL, one(tail)),
        ("overflow.red.single_link", ONE_RED, one(red)),
        ("overflow.droptail", FOUR_TAIL, four(tail)),
        ("overflow.red", FOUR_RED, four(red)),
        ("", "four links, drop-tail, ECN", four(tail).cured()),
        ("", "four links, RED, ECN", four(red).cured()),
        ("", "one link, RED of ns-2's thresholds", one(ns2)),
        ("", "four links, RED of ns-2's thresholds", four(ns2)),
        ("", ALIKE_TAIL, four(tail).alike()),
        ("", "four links of equal rates, RED", four(red).alike()),
    ]
}

const ONE_TAIL: &str = "one link, drop-tail";
const ONE_RED: &str = "one link, RED";
const FOUR_TAIL: &str = "four links, drop-tail";
const FOUR_RED: &str = "four links, RED";
const ALIKE_TAIL: &str = "four links of equal rates, drop-tail";

struct DownloadRuns {
    quantity: &'static str,
    title: &'static str,
    runs: Vec<Downloaded>,
}

impl DownloadRuns {
    fn samples(&self, of: impl Fn(&Downloaded) -> f64) -> Vec<Sample> {
        let sample = |run: &Downloaded| Sample {
            seed: run.seed,
            value: of(run),
        };
        self.runs.iter().map(sample).collect()
    }
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let seeds = study.pick(4, 20);
    let mut asked = Vec::new();
    for (quantity, title, downloads) in settings() {
        asked.push((quantity, title, downloads.request(study, seeds)));
    }
    let mut rows = Vec::new();
    for (quantity, title, runs) in asked {
        rows.push(DownloadRuns {
            quantity,
            title,
            runs: runs?,
        });
    }
    let measured = rows.iter().filter(|row| !row.quantity.is_empty());
    let measured = measured.map(|row| {
        let samples = row.samples(|run| run.overflow);
        Measurement::of(CLAIM, row.quantity, "ratio", "runs", &samples)
    });
    Ok(Findings {
        plots: vec![windows(&rows)],
        measurements: measured.collect(),
        tables: vec![table(&rows)],
        caveats: vec![caveat(&rows)],
        reasons: vec![reason(&rows)],
        parameters: Downloads::parameters(),
        ..Findings::default()
    })
}

/// A measure of a setting, formatted for tables.
fn measured(
    rows: &[DownloadRuns],
    title: &str,
    of: fn(&Downloaded) -> f64,
    digits: usize,
) -> String {
    let row = rows.iter().find(|row| row.title == title);
    row.map_or_else(String::new, |row| text(&row.samples(of), digits))
}

fn caveat(rows: &[DownloadRuns]) -> ClaimRemark {
    let of = |of, digits| measured(rows, ALIKE_TAIL, of, digits);
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "Overflow is the mean sum of all congestion windows over the packets that a link \
             carries in a round trip without queues. The links' rates differ by 0.1 % each. If they \
             are equal, drop-tail queues drop {} of the offered packets, but rarely the same packet \
             on all four ({} of the packets sent).",
            of(|run| run.dropped, 5),
            of(Downloaded::lost, 5),
        ),
    }
}

fn reason(rows: &[DownloadRuns]) -> ClaimRemark {
    let each = |of: fn(&Downloaded) -> f64, digits| {
        let texts = [ONE_TAIL, ONE_RED, FOUR_TAIL, FOUR_RED]
            .map(|title| format!("{title} {}", measured(rows, title, of, digits)));
        texts.join(", ")
    };
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "A discard of RED on one of four links is masked, as the paper states: the share of \
             packets that senders retransmit because all copies were lost is {}. But a discard can \
             have an effect without losing a packet. The copy that replaces a discarded one comes \
             from another queue; if three later packets overtake it, TCP assumes that it is lost \
             and halves its window (RFC 5681, 3.2). The share of spurious retransmissions, of \
             packets that had arrived, is {}. With four links almost all retransmissions are of \
             this kind, with drop-tail as with RED; the difference is the queue length at that \
             time. The number of window reductions in 100 s is {}; the sum of windows over the \
             capacity before them is {}. Packets are not reordered before TCP; whether RED would be \
             masked if they were was not run.",
            each(Downloaded::lost, 5),
            each(|run| run.spurious, 5),
            each(|run| run.falls, 1),
            each(|run| run.before, 2),
        ),
    }
}

/// The sum of the windows over time, for drop-tail and RED.
fn windows(rows: &[DownloadRuns]) -> Plot {
    let series = |row: &DownloadRuns| {
        let run = row.runs.first()?;
        let point = |(number, &sum): (usize, &f64)| Point {
            x: (number + 1) as f64 * INTERVAL.as_secs_f64(),
            y: sum,
            ci95: None,
        };
        Some(thin(Series {
            name: row.title.to_owned(),
            points: run.window_sums.iter().enumerate().map(point).collect(),
            ..Series::default()
        }))
    };
    let shown = &rows[..6];
    let runs = shown.iter().filter_map(|row| row.runs.first());
    let most = runs
        .flat_map(|run| &run.window_sums)
        .copied()
        .fold(0.0, f64::max);
    let panel = |(title, both): (&str, &[DownloadRuns])| Plot {
        title: title.to_owned(),
        x: axis("time", "s"),
        y: Axis {
            range: Some([0.0, 1.05 * most]),
            ..axis("sum of windows over capacity", "")
        },
        series: both.iter().filter_map(series).collect(),
        ..Plot::default()
    };
    let titles = ["One link", "Four links", "Four links, ECN"];
    Plot {
        id: "windows".to_owned(),
        title: "Sum of five congestion windows over the capacity of a round trip".to_owned(),
        panels: titles.into_iter().zip(shown.chunks(2)).map(panel).collect(),
        ..Plot::default()
    }
}

fn table(rows: &[DownloadRuns]) -> FigureTable {
    let row = |row: &DownloadRuns| {
        let of = |of: fn(&Downloaded) -> f64, digits| text(&row.samples(of), digits);
        vec![
            row.title.to_owned(),
            of(|run| run.overflow, 3),
            of(|run| run.offered, 3),
            of(|run| run.dropped, 4),
            of(|run| run.repeated, 5),
            of(Downloaded::lost, 5),
            of(|run| run.spurious, 5),
            of(|run| run.falls, 1),
            of(|run| run.before, 2),
            of(|run| run.goodput, 3),
            of(|run| run.jain, 3),
            of(|run| run.late, 2),
        ]
    };
    figure_table(
        "downloads",
        "Five downloads packet by packet",
        &[
            "setting",
            "windows over capacity",
            "load of a link over its rate",
            "dropped there",
            "sent again",
            "because all copies were lost",
            "though a copy had come",
            "halvings of a flow's window in 100 s",
            "windows over capacity before one",
            "goodput over the rate of a link",
            "Jain's index",
            "share of the last one in its first 50 s",
        ],
        rows.iter().map(row).collect(),
    )
}
