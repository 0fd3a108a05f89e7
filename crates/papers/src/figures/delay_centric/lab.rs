//! The mechanisms in the lab: real sockets in real time, over emulated links.

use polypath_claims::{FigureTable, Pending, Study};

use super::modes::Threshold;
use super::sweep::{LAB_UTILISATIONS, Load, Sweep, delays, of, ratio, share, switches};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::delay_centric::mechanism::Mechanism;
use crate::jobs::delay_centric::runs::Run;

/// The simulated sweeps beside those of the lab, with their threshold.
#[derive(Clone, Copy)]
pub(super) struct Simulated<'a> {
    pub(super) sweeps: &'a [Sweep],
    pub(super) threshold: Threshold,
}

/// Requests the sweeps of mechanisms in the lab; `None` without a lab.
///
/// # Errors
/// If results are missing.
pub(super) fn sweeps(
    study: &mut Study<'_>,
    mechanisms: &[Mechanism],
    load: Load,
) -> Result<Option<Vec<Sweep>>, Pending> {
    let sweeps = mechanisms.iter();
    let sweeps = sweeps.map(|&mechanism| Sweep::in_lab(study, mechanism, load));
    // Each is requested before the first that is missing ends this.
    let sweeps: Vec<_> = sweeps.collect();
    sweeps.into_iter().collect()
}

/// The sweeps in the lab beside the simulation.
pub(super) fn table(lab: &[&Sweep], threshold: Threshold, simulated: Simulated<'_>) -> FigureTable {
    let mut rows = Vec::new();
    for sweep in lab {
        let beside = of(simulated.sweeps, sweep.mechanism);
        for &at in LAB_UTILISATIONS {
            let head = [sweep.mechanism.title().to_owned(), ratio(at).to_string()];
            let lab = sweep.at(at);
            // Those with the same seeds.
            let same = beside.at(at).get(..lab.len()).unwrap_or_default();
            let simulated = cells(same, simulated.threshold);
            let lab = cells(lab, threshold);
            let pairs = simulated.into_iter().zip(lab);
            let cells = pairs.flat_map(|(simulated, lab)| [simulated, lab]);
            rows.push(head.into_iter().chain(cells).collect());
        }
    }
    let columns = [
        "mechanism",
        "utilisation",
        "mean delay ms, simulated",
        "in the lab",
        "share in the upper mode, simulated",
        "in the lab",
        "switches a run, simulated",
        "in the lab",
    ];
    figure_table(
        "lab",
        "Real sockets in real time, beside the simulation with the same seeds",
        &columns,
        rows,
    )
}

/// The mean delay in ms, the share of runs in the upper mode, and the switches of a run.
fn cells(runs: &[Run], threshold: Threshold) -> [String; 3] {
    [
        text(&delays(runs), 1),
        text(&share(runs, |run| threshold.is_upper(run)), 3),
        text(&switches(runs), 1),
    ]
}
