//! The dependence of delta T on the distance of the background traffic, and the effect of the
//! threshold.

use polypath_claims::{ClaimRemark, FigureTable, Pending, Sample, Study};
use polypath_scenario::Scheme;

use super::fig3::STATED;
use super::pairs::{HOPS, measured_in};
use super::plan::{FILE, LoadPoint, Plan, Size, calibrate};
use crate::figures::estimates::{estimate, shown};
use crate::jobs::ppd::setting::{Setting, Topology};

/// The rate of the links, in Mbit/s.
const MBITS: u64 = 10;

/// The destinations of the background traffic, as scenario values.
const MATRICES: [&str; 3] = ["spread", "nearest", "farthest"];

/// Delta T over six links of 10 Mbit/s for each destination rule.
pub(super) fn matrices(study: &mut Study<'_>) -> Result<FigureTable, Pending> {
    let load = STATED;
    let rows = MATRICES.map(|which| {
        let mut setting = Setting::of_links(HOPS[0], MBITS);
        // The table itself has the first.
        if which != MATRICES[0] {
            for path in ["path1", "path2"] {
                setting = setting.with(&format!("background.{path}.destinations"), which);
            }
        }
        (which, measured_in(study, &setting, MBITS, load))
    });
    let mut lines = Vec::new();
    for (which, row) in rows {
        let samples: Vec<Sample> = row?.iter().map(|(sample, _)| *sample).collect();
        lines.push(vec![which.to_owned(), shown(estimate(&samples), 2)]);
    }
    Ok(FigureTable {
        id: "table1-matrix".to_owned(),
        title: format!("Delta T at a load of {load} by the flows that end first at a node"),
        columns: ["destinations", "six links ms"].map(str::to_owned).to_vec(),
        rows: lines,
    })
}

/// The reason for which claims of Table 1 differ, from its other tables.
pub(super) fn reasons(
    matrices: &FigureTable,
    table: &FigureTable,
    switches: &[Switches],
) -> Vec<ClaimRemark> {
    let rows = table.rows.iter();
    let by_load: Vec<String> = rows
        .map(|row| format!("{} at {}", row[2], row[0]))
        .collect();
    let each = matrices.rows.iter().map(|row| row.join(": "));
    let matrix = format!(
        "Over six links delta T is in ms, by load: {}. It depends on the number of links that cross \
         traffic shares with a pair, which the paper does not state: at a load of {STATED} it is, \
         by the flows that end first at a node, in ms: {}.",
        by_load.join(", "),
        each.collect::<Vec<_>>().join("; ")
    );
    let each = switches.iter().map(|counted| {
        let count = shown(estimate(&counted.samples), 1);
        format!(
            "{count} at a load of {} with {} delta T",
            counted.load, counted.threshold
        )
    });
    let threshold = format!(
        "The paper does not state the load at which a threshold of two delta T saves switches. The \
         switches per transfer, with intervals: {}.",
        each.collect::<Vec<_>>().join(", ")
    );
    [
        ("ppd.delta_t.table1", &matrix),
        ("ppd.delta_t.falls_with_load", &matrix),
        ("ppd.delta_t.fewer_switches", &threshold),
    ]
    .map(|(claim, text)| ClaimRemark {
        claim,
        text: text.clone(),
    })
    .to_vec()
}

/// The loads of both paths at which switches are counted; the paper names none.
const LOADS: [f64; 3] = [0.6, 0.8, STATED];

/// The path switches per transfer of PPD-TCP3 in each run, at a load and with a threshold in delta
/// T.
pub(super) struct Switches {
    pub(super) load: f64,
    pub(super) threshold: u32,
    pub(super) samples: Vec<Sample>,
}

/// The path switches at each load, with thresholds of one and two delta T.
pub(super) fn switches(study: &mut Study<'_>) -> Result<Vec<Switches>, Pending> {
    let base = Setting::new(Topology::Apart);
    let found = calibrate(study, &base, &LOADS)?;
    let (replicas, count) = study.pick((8, 5), (24, 20));
    let mut rows = Vec::new();
    for (load, found) in LOADS.into_iter().zip(&found) {
        for threshold in [1, 2] {
            let setting = base
                .clone()
                .with("overlay.threshold", &format!("{threshold}.0"));
            let plan = Plan {
                experiment: "switches",
                setting: &setting,
                traffic: Some([found.idle; 2]),
                load,
                bytes: FILE,
                size: Size {
                    replicas,
                    count,
                    about: 20,
                },
            };
            rows.push((load, threshold, plan.run(study, &[Scheme::PpdTcp3])));
        }
    }
    let counted = |(load, threshold, row): (f64, u32, Result<LoadPoint, Pending>)| {
        let samples = row?.each(Scheme::PpdTcp3, |run| {
            Some(f64::from(run.switches) / run.times.len() as f64)
        });
        Ok(Switches {
            load,
            threshold,
            samples,
        })
    };
    rows.into_iter().map(counted).collect()
}
