//! Fig. 4: transfer times where path 2 has 20 % less load.

use polypath_scenario::Scheme;

use super::curves::{times_plot, times_sheet};
use super::fig3::{STATED, rows, size, stated_row};
use super::loads::loads_sheet;
use super::parameters;
use super::plan::{FILE, Plan, Row, Size, calibrate, even};
use super::setting::{Setting, Topology};
use crate::{Findings, Measurement, Pending, Sample, Study};

/// What path 2 of Fig. 4 carries of the load of path 1.
const LIGHTER: f64 = 0.8;

/// The loads of path 1 in Fig. 4, and how much is run at each.
fn loads_of_fig4(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(STATED, size(10, 4, 15))],
        vec![
            (0.8, size(8, 60, 4)),
            (0.9, size(12, 40, 7)),
            (STATED, size(50, 10, 15)),
            (0.99, size(30, 10, 30)),
        ],
    )
}

/// Fig. 4.
pub(super) fn fig4(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let balanced = rows(study);
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
            setting: &setting,
            traffic: Some([even(one), even(two)]),
            load: *load,
            bytes: FILE,
            size: *size,
        });
    let rows: Vec<_> = plans
        .map(|plan| plan.run(study, &Scheme::ALL[1..]))
        .collect();
    let mut rows = rows.into_iter().collect::<Result<Vec<Row>, _>>()?;
    let balanced = balanced?;
    let measurements = unbalanced(&rows, &balanced);
    // Plain TCP sees nothing of path 2: its curve is that of Fig. 3.
    for row in &mut rows {
        let same = balanced
            .iter()
            .find(|other| (other.load - row.load).abs() < 1e-9);
        if let Some(tcp) = same.and_then(|same| same.schemes.first()) {
            row.schemes.insert(0, tcp.clone());
        }
    }
    Ok(Findings {
        plots: vec![times_plot(
            "fig4",
            "Transfer of 100 kB, path 2 with 20 % less load",
            &rows,
        )],
        sheets: vec![
            times_sheet("fig4", &rows),
            loads_sheet(study, "fig4-loads", &setting, &targets)?,
        ],
        measurements,
        parameters: parameters::of(Topology::Apart),
        ..Findings::default()
    })
}

fn unbalanced(rows: &[Row], balanced: &[Row]) -> Vec<Measurement> {
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
