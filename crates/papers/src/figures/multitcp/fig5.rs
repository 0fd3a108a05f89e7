//! Figure 4 repeated with cross traffic of a longer round-trip time (Fig. 5).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};

use super::fig4::{LATE, LOCKED, MID, parameters, picture, runs, schemes, setting, table};
use super::runs::{Period, Runs, kbits, seeds};
use super::sensitivity::{self, drop_tail};
use crate::figures::estimates::text;

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.fig5",
    title: "Throughput of 1, 2 and 5 connections with traffic of a longer round-trip time",
    claims: &[CLAIM],
    make,
};

const CLAIM: &str = "multitcp.fig5.longer_cross_rtt";
/// The propagation delays of the generator's link in Figs. 4 and 5, in ms.
const DELAYS: [u32; 2] = [20, 40];
/// The time from which other transfers run (5.1.1: "from t = 500 s onward").
const CONGESTED: Period = (MID.0, LATE.1);

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let [short, long] = DELAYS.map(|delay| runs(study, delay));
    let dropping = DELAYS.map(|delay| with_drop_tail(study, delay));
    let rows = sensitivity::rows(study);
    let (short, long) = (short?, long?);
    let [tail_short, tail_long] = dropping;
    let (tail_short, tail_long) = (tail_short?, tail_long?);
    let mut parameters = parameters();
    parameters.push([
        "generator's link".to_owned(),
        "40 ms; stated (5.1.1)".to_owned(),
    ]);
    Ok(Findings {
        plots: vec![picture("fig5", &long, &[])],
        tables: vec![
            table(&long),
            FigureTable {
                id: "drop-tail".to_owned(),
                title: "The same with drop-tail queues and a send overhead up to 1.333 ms"
                    .to_owned(),
                ..table(&tail_long)
            },
        ],
        measurements: measurements(&short, &long),
        reasons: vec![reason([&short, &long], [&tail_short, &tail_long])],
        caveats: vec![sensitivity::caveat(CLAIM, &rows?)],
        parameters,
        notes: vec![
            "The verdict on the order under congestion is for 500 to 1000 s, with the transfers of \
             the longer round-trip time; the earlier bursts of datagrams are those of Fig. 4 \
             (columns of the tables)."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The same if the generator's link fills the last queue, which then drops the stream's packets;
/// with fewer seeds.
fn with_drop_tail(study: &mut Study<'_>, delay: u32) -> Result<Runs, Pending> {
    let few: Vec<u64> = seeds(study).into_iter().take(study.pick(1, 5)).collect();
    Runs::of(study, &schemes(), &few, |stream, seed| {
        let mut dropping = setting(delay, stream, seed);
        drop_tail(&mut dropping, 50);
        dropping
    })
}

fn measurements(short: &Runs, long: &Runs) -> Vec<Measurement> {
    let congested = |runs: &Runs, scheme| runs.throughput(scheme, CONGESTED);
    let of = |quantity: &str, samples: &[_]| kbits(CLAIM, quantity, samples);
    let mut all: Vec<Measurement> = ["c1", "c2", "c5"]
        .map(|scheme| of(&format!("throughput.{scheme}"), &congested(long, scheme)))
        .to_vec();
    all.push(of("throughput.c2.fig5", &congested(long, "c2")));
    all.push(of("throughput.c2.fig4", &congested(short, "c2")));
    all.push(of("throughput.c2.fig5.mid", &long.throughput("c2", MID)));
    all
}

fn reason([short, long]: [&Runs; 2], [tail_short, tail_long]: [&Runs; 2]) -> ClaimRemark {
    let throughput = |runs: &Runs, scheme, period| text(&runs.throughput(scheme, period), 0);
    let [c1, c2, c5] = ["c1", "c2", "c5"].map(|scheme| throughput(long, scheme, CONGESTED));
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "From 500 s on, one, two and five connections have {c1}, {c2} and {c5} kb/s; two have \
             {} in Fig. 4. With 15 transfers two have {} kb/s, and {} in Fig. 4. With drop-tail \
             queues one, two and five have {}, {} and {} kb/s from 500 s on, and two have {} with \
             the shorter delay. {LOCKED}",
            throughput(short, "c2", CONGESTED),
            throughput(long, "c2", MID),
            throughput(short, "c2", MID),
            throughput(tail_long, "c1", CONGESTED),
            throughput(tail_long, "c2", CONGESTED),
            throughput(tail_long, "c5", CONGESTED),
            throughput(tail_short, "c2", CONGESTED),
        ),
    }
}
