//! Fig. 8: paths that share a fast link.

use polypath_claims::{ClaimRemark, Findings, Measurement, Pending, Study};
use polypath_scenario::Scheme;

use super::curves::{path_load, ratio, times_plots, times_table};
use super::harm::{LockStepRuns, harm_table};
use super::loads::loads_table;
use super::parameters;
use super::plan::{FILE, LoadPoint, Plan, Size, calibrate, name, size, title};
use crate::figures::estimates::{mean, shown};
use crate::jobs::ppd::setting::{Setting, Topology};

/// The load at which the figures are compared.
const HIGH: f64 = 0.95;

/// The loads of the links that are not shared in Fig. 8, and the sample sizes.
fn loads(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(HIGH, size(8, 3, 40))],
        vec![
            (0.6, size(6, 30, 3)),
            (0.8, size(8, 30, 5)),
            (0.9, size(12, 30, 10)),
            (HIGH, size(24, 15, 40)),
        ],
    )
}

/// Transfers by all schemes, with the sources of Fig. 8.
pub(super) fn rows(
    study: &mut Study<'_>,
    experiment: &str,
    loads: &[(f64, Size)],
    setting: &Setting,
) -> Result<Vec<LoadPoint>, Pending> {
    let targets: Vec<f64> = loads.iter().map(|(load, _)| *load).collect();
    // The sources of Fig. 9 are those of Fig. 8: "their scheduling remain fixed" (5.1).
    let found = calibrate(study, &Setting::new(Topology::Shared), &targets)?;
    let plans = loads.iter().zip(&found).map(|((load, size), found)| Plan {
        experiment,
        setting,
        traffic: Some([found.idle; 2]),
        load: *load,
        bytes: FILE,
        size: *size,
    });
    let rows: Vec<_> = plans.map(|plan| plan.run(study, &Scheme::ALL)).collect();
    rows.into_iter().collect()
}

/// The transfers of Fig. 8.
pub(super) fn fast(study: &mut Study<'_>) -> Result<Vec<LoadPoint>, Pending> {
    let loads = loads(study);
    rows(study, "fig8", &loads, &Setting::new(Topology::Shared))
}

/// Fig. 8.
pub(super) fn fig8(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = fast(study)?;
    let high = &rows[rows.len() - 1];
    let targets: Vec<f64> = rows.iter().map(|row| row.load).collect();
    let times = |scheme: Scheme| {
        let quantity = format!("transfer.{}", name(scheme));
        let samples = high.times(scheme);
        Measurement::of(
            "ppd.fig8.shared_fast_link",
            &quantity,
            "s",
            "fig8",
            &samples,
        )
    };
    Ok(Findings {
        plots: times_plots(
            "fig8",
            "Transfer of 100 kB, 20 Mbit/s shared",
            &rows,
            path_load,
            Vec::new(),
        ),
        tables: vec![
            times_table("fig8", &rows),
            harm_table("fig8-harm", rows.iter().filter_map(LockStepRuns::of_row)),
            loads_table(
                study,
                "fig8-loads",
                &Setting::new(Topology::Shared),
                &targets,
            )?,
        ],
        measurements: Scheme::ALL.map(times).to_vec(),
        reasons: vec![reason_of_fig8(&rows)],
        caveats: vec![caveat(high)],
        parameters: parameters::of(&Setting::new(Topology::Shared), FILE),
        ..Findings::default()
    })
}

/// The measured load of the links that are not shared, over schemes and replicas.
pub(super) fn measured(row: &LoadPoint) -> f64 {
    let runs = row.schemes.iter().flat_map(|(_, runs)| runs);
    mean(&runs.map(path_load).collect::<Vec<_>>())
}

/// The reason for which the claim of Fig. 8 differs, from these runs.
fn reason_of_fig8(rows: &[LoadPoint]) -> ClaimRemark {
    let each = rows.iter().map(|row| {
        let ratios = Scheme::ALL[1..].iter();
        let ratios =
            ratios.map(|scheme| format!("{} {}", shown(ratio(row, *scheme), 2), title(*scheme)));
        let list = ratios.collect::<Vec<_>>().join(", ");
        format!("{list} at a measured load of {:.3}", measured(row))
    });
    let text = format!(
        "The gain depends on the load. The time of plain TCP over that of each scheme is: {}.",
        each.collect::<Vec<_>>().join("; ")
    );
    let claim = "ppd.fig8.shared_fast_link";
    ClaimRemark { claim, text }
}

/// The load of the shared link where the claim is judged.
fn caveat(high: &LoadPoint) -> ClaimRemark {
    let [there, back] = shared_loads(high);
    ClaimRemark {
        claim: "ppd.fig8.shared_fast_link",
        text: format!(
            "The paper calls the links that are not shared the bottlenecks. With two of 10 Mbit/s \
             at a load of {:.3} each, the transfers included, the stated 20 Mbit/s of the shared \
             link have a load of {there:.3} to the client and {back:.3} to the server: the shared \
             link is as full as the others.",
            measured(high)
        ),
    }
}

/// The mean load of the shared link towards the client and the server, over schemes and replicas.
pub(super) fn shared_loads(row: &LoadPoint) -> [f64; 2] {
    let runs = || row.schemes.iter().flat_map(|(_, runs)| runs);
    [0, 1].map(|direction| {
        let loads: Vec<f64> = runs()
            .filter_map(|run| Some(run.shared?[direction]))
            .collect();
        mean(&loads)
    })
}

/// The mean of both directions.
pub(super) fn shared_load(row: &LoadPoint) -> f64 {
    mean(&shared_loads(row))
}
