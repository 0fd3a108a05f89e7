//! Early discard on one link and on several, packet by packet (section II), and the cure there.

mod downloads;

use polypath_report::plot::{Plot, Point, Series};

use self::downloads::{Downloaded, Downloads, INTERVAL, Queue};
use super::setting::LINKS;
use crate::estimates::text;
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::pictures::{axis, sheet, thin};
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.red",
    title: "Five TCP downloads packet by packet: drop-tail and RED, one link and four, naive and cured",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.red_is_masked";

/// What is run, and its quantity in the rule.
fn settings() -> Vec<(&'static str, &'static str, Downloads)> {
    let of = Downloads::new;
    vec![
        (
            "overflow.droptail.single_link",
            "one link, drop-tail",
            of(1, Queue::DropTail),
        ),
        (
            "overflow.red.single_link",
            "one link, RED",
            of(1, Queue::Red),
        ),
        (
            "overflow.droptail",
            "four links, drop-tail",
            of(LINKS, Queue::DropTail),
        ),
        ("overflow.red", "four links, RED", of(LINKS, Queue::Red)),
        (
            "",
            "four links, drop-tail, cured",
            of(LINKS, Queue::DropTail).cured(),
        ),
        ("", "four links, RED, cured", of(LINKS, Queue::Red).cured()),
        (
            "",
            "one link, RED of ns-2's thresholds",
            of(1, Queue::RedOfNs2),
        ),
        (
            "",
            "four links, RED of ns-2's thresholds",
            of(LINKS, Queue::RedOfNs2),
        ),
        (
            "",
            "four links of equal rates, drop-tail",
            of(LINKS, Queue::DropTail).alike(),
        ),
        (
            "",
            "four links of equal rates, RED",
            of(LINKS, Queue::Red).alike(),
        ),
    ]
}

struct Row {
    quantity: &'static str,
    says: &'static str,
    runs: Vec<Downloaded>,
}

impl Row {
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
    for (quantity, says, downloads) in settings() {
        asked.push((quantity, says, downloads.ask(study, seeds)));
    }
    let mut rows = Vec::new();
    for (quantity, says, runs) in asked {
        rows.push(Row {
            quantity,
            says,
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
        sheets: vec![table(&rows)],
        caveats: vec![caveat(&rows)],
        reasons: vec![reason(&rows)],
        parameters: Downloads::parameters(),
        ..Findings::default()
    })
}

fn overflow_of(rows: &[Row], says: &str) -> String {
    let row = rows.iter().find(|row| row.says == says);
    row.map_or_else(String::new, |row| text(&row.samples(|run| run.overflow), 2))
}

fn caveat(rows: &[Row]) -> Reason {
    let of = |says| overflow_of(rows, says);
    Reason {
        claim: CLAIM,
        text: format!(
            "Overflow is the mean sum of all congestion windows over what a link carries in a round trip without queues: \
             what is sent in a round trip, against the capacity. The links' rates differ by a tenth of a percent each: \
             drop-tail queues of equal links that get the same packets drop the same ones, so that four are as one ({}, \
             one link {}).",
            of("four links of equal rates, drop-tail"),
            of("one link, drop-tail"),
        ),
    }
}

fn reason(rows: &[Row]) -> Reason {
    let red = rows.iter().find(|row| row.quantity == "overflow.red");
    let share =
        |of: fn(&Downloaded) -> f64| red.map_or_else(String::new, |row| text(&row.samples(of), 4));
    let of = |says| overflow_of(rows, says);
    Reason {
        claim: CLAIM,
        text: format!(
            "RED is not masked from TCP's own loss detection: with it the windows are {} on one link and {} on four, with \
             drop-tail {} and {}. On four links RED drops {} of the packets of each, of which all four would lose but the \
             fourth power; yet senders repeat {} of theirs. The copy that replaces a lost one comes out of another \
             queue, which random drops and fades have made longer or shorter; where three later packets overtake it, TCP \
             takes it for lost (RFC 5681, 3.2). In the round model, where nothing is overtaken, it is masked.",
            of("one link, RED"),
            of("four links, RED"),
            of("one link, drop-tail"),
            of("four links, drop-tail"),
            share(|run| run.dropped),
            share(|run| run.repeated),
        ),
    }
}

/// The sum of the windows over time.
fn windows(rows: &[Row]) -> Plot {
    let series = |row: &Row| {
        let run = row.runs.first()?;
        let point = |(number, &sum): (usize, &f64)| Point {
            x: (number + 1) as f64 * INTERVAL.as_secs_f64(),
            y: sum,
            ci95: None,
        };
        Some(thin(Series {
            name: row.says.to_owned(),
            points: run.course.iter().enumerate().map(point).collect(),
            ..Series::default()
        }))
    };
    Plot {
        id: "windows".to_owned(),
        title: "Sum of five congestion windows over the capacity of a round trip".to_owned(),
        x: axis("time", "s"),
        y: axis("sum of windows over capacity", ""),
        series: rows.iter().take(6).filter_map(series).collect(),
        ..Plot::default()
    }
}

fn table(rows: &[Row]) -> Sheet {
    let row = |row: &Row| {
        let of = |of: fn(&Downloaded) -> f64, digits| text(&row.samples(of), digits);
        vec![
            row.says.to_owned(),
            of(|run| run.overflow, 3),
            of(|run| run.offered, 3),
            of(|run| run.dropped, 4),
            of(|run| run.repeated, 5),
            of(|run| run.goodput, 3),
            of(|run| run.jain, 3),
            of(|run| run.late, 2),
        ]
    };
    sheet(
        "downloads",
        "Five downloads packet by packet",
        &[
            "setting",
            "windows over capacity",
            "offered to a link over its rate",
            "dropped there",
            "sent again",
            "goodput over the rate of a link",
            "Jain's index",
            "the last one's share in its first 50 s",
        ],
        rows.iter().map(row).collect(),
    )
}
