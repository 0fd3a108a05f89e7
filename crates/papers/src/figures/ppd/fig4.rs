//! Fig. 4: transfer times where path 2 has 20 % less load.

use polypath_claims::{ClaimRemark, Findings, Measurement, Pending, Sample, Study};
use polypath_scenario::Scheme;

use super::curves::{path_load, times_plots, times_table};
use super::fig3::{STATED, rows, stated_row};
use super::harm::{LockStepRuns, harm_table};
use super::loads::loads_table;
use super::parameters;
use super::plan::{FILE, LoadPoint, Plan, Size, calibrate, size, title};
use crate::figures::estimates::{estimate, shown};
use crate::jobs::ppd::setting::{Setting, Topology};

/// The load of path 2 in Fig. 4 over that of path 1.
const LIGHTER: f64 = 0.8;

/// The loads of path 1 in Fig. 4, and the sample sizes.
fn loads_of_fig4(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(STATED, size(10, 4, 15))],
        vec![
            (0.8, size(8, 60, 4)),
            (0.9, size(12, 40, 7)),
            (STATED, size(50, 30, 15)),
            (0.99, size(30, 10, 30)),
        ],
    )
}

/// Transfers by the schemes that use path 2, and the target loads of path 2.
fn lighter(study: &mut Study<'_>) -> Result<(Vec<LoadPoint>, Vec<f64>), Pending> {
    let setting = Setting::new(Topology::Apart);
    let loads = loads_of_fig4(study);
    let first: Vec<f64> = loads.iter().map(|(load, _)| *load).collect();
    let targets: Vec<f64> = first
        .iter()
        .map(|load| (load * LIGHTER * 1e3).round() / 1e3)
        .collect();
    let first = calibrate(study, &setting, &first);
    let second = calibrate(study, &setting, &targets);
    let (first, second) = (first?, second?);
    let found = first.iter().zip(&second);
    let plans = loads
        .iter()
        .zip(found)
        .map(|((load, size), (one, two))| Plan {
            experiment: "fig4",
            setting: &setting,
            traffic: Some([one.idle, two.idle]),
            load: *load,
            bytes: FILE,
            size: *size,
        });
    let rows: Vec<_> = plans
        .map(|plan| plan.run(study, &Scheme::ALL[1..]))
        .collect();
    Ok((rows.into_iter().collect::<Result<_, _>>()?, targets))
}

/// Fig. 4.
pub(super) fn fig4(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let balanced = rows(study);
    let lighter = lighter(study);
    let ((mut rows, targets), balanced) = (lighter?, balanced?);
    let setting = Setting::new(Topology::Apart);
    let measurements = unbalanced(&rows, &balanced);
    let harm = harm_table("fig4-harm", rows.iter().filter_map(LockStepRuns::of_row));
    let reasons = reasons(&rows, &balanced);
    // Plain TCP does not use path 2: its curve is that of Fig. 3.
    for row in &mut rows {
        let same = balanced
            .iter()
            .find(|other| (other.load - row.load).abs() < 1e-9);
        if let Some(tcp) = same.and_then(|same| same.schemes.first()) {
            row.schemes.insert(0, tcp.clone());
        }
    }
    Ok(Findings {
        plots: times_plots(
            "fig4",
            "Transfer of 100 kB, path 2 with 20 % less load",
            &rows,
            path_load,
            Vec::new(),
        ),
        tables: vec![
            times_table("fig4", &rows),
            harm,
            loads_table(study, "fig4-loads", &setting, &targets)?,
        ],
        measurements,
        reasons,
        parameters: parameters::of(&Setting::new(Topology::Apart), FILE),
        ..Findings::default()
    })
}

/// The reason for differing claims: the times of the schemes here and over equal paths.
fn reasons(rows: &[LoadPoint], balanced: &[LoadPoint]) -> Vec<ClaimRemark> {
    let (row, even) = (stated_row(rows), stated_row(balanced));
    let each = Scheme::ALL[1..].iter().map(|scheme| {
        let [here, there] = [row, even].map(|row| shown(estimate(&row.times(*scheme)), 2));
        let switches: u32 = row.of(*scheme).iter().map(|run| run.switches).sum();
        let transfers: usize = row.of(*scheme).iter().map(|run| run.times.len()).sum();
        let each = f64::from(switches) / transfers.max(1) as f64;
        format!(
            "{} {here} s instead of {there} s ({each:.1} switches per transfer)",
            title(*scheme)
        )
    });
    let text = format!(
        "At a load of {STATED} of path 1, the transfer times with path 2 less loaded, and with \
         equal loads, are: {}. Table `fig4-loads` has the measured loads of path 2.",
        each.collect::<Vec<_>>().join(", ")
    );
    [
        "ppd.fig4.probes_win_unbalanced",
        "ppd.fig4.duplicates_win_most",
    ]
    .map(|claim| ClaimRemark {
        claim,
        text: text.clone(),
    })
    .to_vec()
}

fn unbalanced(rows: &[LoadPoint], balanced: &[LoadPoint]) -> Vec<Measurement> {
    let (row, even) = (stated_row(rows), stated_row(balanced));
    let of = |claim, quantity, group, samples: Vec<Sample>| {
        Measurement::of(claim, quantity, "s", group, &samples)
    };
    let (probes, most) = (
        "ppd.fig4.probes_win_unbalanced",
        "ppd.fig4.duplicates_win_most",
    );
    vec![
        of(probes, "transfer.ppd3", "fig4", row.times(Scheme::PpdTcp3)),
        of(probes, "transfer.ppd1", "fig4", row.times(Scheme::PpdTcp1)),
        of(
            most,
            "transfer.ppd2.unbalanced",
            "fig4",
            row.times(Scheme::PpdTcp2),
        ),
        of(
            most,
            "transfer.ppd2.balanced",
            "fig3",
            even.times(Scheme::PpdTcp2),
        ),
    ]
}
