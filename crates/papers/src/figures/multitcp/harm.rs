//! The goodput that other transfers lose to the stream, compared with the same number of plain
//! connections.

use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, Study};

use super::fig4::{LATE, MID, schemes, setting};
use super::runs::{Runs, Scheme, kbits, seeds};
use super::sensitivity;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::multitcp::parameters::{chosen, varied};
use crate::jobs::multitcp::setting::{Stream, StreamCarrier};

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.harm",
    title: "Throughput of the transfers of Fig. 4 with the stream and with plain transfers",
    claims: &[CLAIM],
    make,
};

const CLAIM: &str = "multitcp.harm";

/// One plain transfer, and five connections.
const PLAIN: &str = "1 plain transfer";
const FIVE: &str = "5 connections";

fn all_schemes() -> Vec<Scheme> {
    let [one, two, five] = schemes();
    let by = |by| Stream { by, ..one.1 };
    let plain = |count| by(StreamCarrier::Transfers(count));
    vec![
        ("nothing", by(StreamCarrier::Nothing)),
        ("1 connection, window 8", one.1),
        (PLAIN, plain(1)),
        ("2 connections", two.1),
        ("2 plain transfers", plain(2)),
        (FIVE, five.1),
        ("5 plain transfers", plain(5)),
        (
            "varied connections, Table III",
            by(StreamCarrier::Controller(varied(chosen()))),
        ),
    ]
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let schemes = all_schemes();
    let seeds = seeds(study);
    let runs = Runs::of(study, &schemes, &seeds, |stream, seed| {
        setting(20, stream, seed)
    });
    let rows = sensitivity::rows(study);
    let runs = runs?;
    Ok(Findings {
        tables: vec![table(&runs, &schemes)],
        measurements: measurements(&runs),
        caveats: vec![sensitivity::caveat(CLAIM, &rows?)],
        notes: vec![
            "Plain transfers replace the stream with endless Reno connections with a window of 20 \
             segments: the difference of their throughput to the target is the bandwidth that the \
             controller leaves to others."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The goodput of the transfers beside five connections, and beside a plain one.
fn measurements(runs: &Runs) -> Vec<Measurement> {
    let mut all = Vec::new();
    for (name, scheme) in [("c5", FIVE), ("plain", PLAIN)] {
        for (when, period) in [("mid", MID), ("late", LATE)] {
            let quantity = format!("cross.{name}.{when}");
            all.push(kbits(CLAIM, &quantity, &runs.cross(scheme, period)));
        }
    }
    all
}

fn table(runs: &Runs, schemes: &[Scheme]) -> FigureTable {
    let row = |(name, _): &Scheme| {
        let mut row = vec![(*name).to_owned()];
        for (period, count) in [(MID, 15.0), (LATE, 20.0)] {
            let each = runs.samples(name, |run| {
                let (from, to) = period;
                crate::jobs::multitcp::time_series::TimeSeries::mean(&run.cross, from, to)
                    .map(|all| all / count)
            });
            row.push(text(&runs.throughput(name, period), 0));
            row.push(text(&runs.cross(name, period), 0));
            row.push(text(&each, 1));
        }
        row
    };
    figure_table(
        "harm",
        "Throughput in kb/s of the stream and of the other transfers",
        &[
            "in the place of the stream",
            "it has, 15 TCPs",
            "15 TCPs have together",
            "each",
            "it has, 20 TCPs",
            "20 TCPs have together",
            "each",
        ],
        schemes.iter().map(row).collect(),
    )
}
