//! The height of the spike after a burst, by the factor f.

use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_core::connections::ControlConfig;

use super::fig4::{in_bursts, overshoot, schemes, setting};
use super::runs::{Runs, Scheme, kbits, seeds};
use super::sensitivity;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::multitcp::parameters::{adjust, table_1};
use crate::jobs::multitcp::setting::{Stream, StreamCarrier};

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.spikes",
    title: "The overshoot of two connections after the bursts of Fig. 4, by f",
    claims: &[CLAIM],
    make,
};

const CLAIM: &str = "multitcp.spike_factor";
/// The name of each scheme, and its f.
const FACTORS: [(&str, f64); 3] = [("f2", 2.0), ("f6", 6.0), ("f10", 10.0)];

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let [_, (_, two), _] = schemes();
    let schemes: [Scheme; 3] = FACTORS.map(|(name, spike)| {
        let control = ControlConfig { spike, ..table_1() };
        let by = StreamCarrier::Controller(adjust(2, control));
        (name, Stream { by, ..two })
    });
    let seeds = seeds(study);
    let runs = Runs::of(study, &schemes, &seeds, |stream, seed| {
        setting(20, stream, seed)
    });
    let rows = sensitivity::rows(study);
    let runs = runs?;
    let measurement = |(name, _): (&str, f64)| -> Measurement {
        let spike = runs.samples(name, overshoot);
        kbits(CLAIM, &format!("overshoot.{name}"), &spike)
    };
    Ok(Findings {
        tables: vec![table(&runs)],
        measurements: FACTORS.map(measurement).to_vec(),
        caveats: vec![sensitivity::caveat(CLAIM, &rows?)],
        ..Findings::default()
    })
}

fn table(runs: &Runs) -> FigureTable {
    let row = |(name, spike): (&str, f64)| {
        vec![
            spike.to_string(),
            text(&runs.samples(name, overshoot), 0),
            text(&runs.samples(name, |run| in_bursts(&run.windows)), 1),
            text(&runs.samples(name, |run| in_bursts(&run.throughput)), 1),
        ]
    };
    figure_table(
        "factors",
        "Overshoot after the bursts, and in them the sum of windows and the throughput",
        &["f", "overshoot kb/s", "windows in bursts", "in bursts kb/s"],
        FACTORS.map(row).to_vec(),
    )
}
