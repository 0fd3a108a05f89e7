//! Consequences of the algorithms alone: balanced windows (4.2.1), and the connection of each
//! packet (4.2.3).

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Sample, Study};
use polypath_core::connections::{Striper, StriperInput, StriperOutput};
use polypath_core::machine::Machine;
use polypath_core::time::Time;

use super::fig4;
use super::runs::Runs;
use crate::figures::pictures::figure_table;

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.striping",
    title: "Balanced windows, and packets striped over connections that are not blocked",
    claims: &[BALANCED, STRIPING],
    make,
};

const BALANCED: &str = "multitcp.windows_balanced";
const STRIPING: &str = "multitcp.striping";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let runs = fig4::runs(study, 20)?;
    let order = example();
    let by = |connection| order.iter().find(|sent| sent.connection == connection);
    let mut measurements = vec![Measurement::of(
        BALANCED,
        "maximum difference",
        "segments",
        "runs",
        &greatest_differences(&runs),
    )];
    for connection in [2, 3, 1] {
        let sequence = by(connection).map_or(0.0, |sent| sent.sequence as f64);
        let quantity = format!("TCP{connection}");
        measurements.push(Measurement::exact(STRIPING, &quantity, "packets", sequence));
    }
    let row =
        |sent: &StriperOutput| vec![sent.sequence.to_string(), format!("TCP{}", sent.connection)];
    Ok(Findings {
        tables: vec![figure_table(
            "example",
            "The example of 4.2.3: TCP1 is blocked until its turn comes again",
            &["packet", "sent by"],
            order.iter().map(row).collect(),
        )],
        measurements,
        caveats: vec![ClaimRemark {
            claim: BALANCED,
            text: "The controller stores only the sum of windows, from which it derives windows \
                   that differ by at most one: the runs show this, and tests of polypath-core show \
                   that Algorithm 1 as printed, window by window, gives the same result."
                .to_owned(),
        }],
        notes: vec![
            "Balance is measured over all decisions of the controllers of Fig. 4, as the maximum \
             difference between two windows."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The maximum difference between two windows, for two and five connections, in each
/// run.
fn greatest_differences(runs: &Runs) -> Vec<Sample> {
    let [two, five] =
        ["c2", "c5"].map(|scheme| runs.samples(scheme, |run| Some(f64::from(run.difference))));
    let pairs = two.iter().zip(&five);
    pairs
        .map(|(two, five)| Sample {
            value: two.value.max(five.value),
            ..*two
        })
        .collect()
}

/// The example of 4.2.3, computed by the striper: five connections, of which the first is blocked
/// for the first four packets.
fn example() -> Vec<StriperOutput> {
    let mut striper = Striper::default();
    let writable = |connection, room| StriperInput::Writable { connection, room };
    let mut inputs: Vec<StriperInput> = (2..=5).map(|tcp| writable(tcp, 10)).collect();
    inputs.insert(0, writable(1, 0));
    inputs.push(StriperInput::Data(4));
    inputs.push(writable(1, 10));
    inputs.push(StriperInput::Data(5));
    let mut order = Vec::new();
    for input in inputs {
        striper.handle_input(Time::ZERO, input, &mut |sent| order.push(sent));
    }
    order
}
