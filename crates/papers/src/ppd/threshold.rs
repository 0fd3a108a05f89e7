//! What delta T owes to who sends to whom, and what the threshold does with it.

use polypath_scenario::Scheme;

use super::fig3::STATED;
use super::pairs::{HOPS, measured_in};
use super::plan::{FILE, Plan, Row, Size, calibrate, estimate, even, shown};
use super::setting::{Setting, Topology};
use crate::{Pending, Reason, Sample, Sheet, Study};

/// The rate of the links, in Mbit/s.
const MBITS: u64 = 10;

/// How far the traffic goes that the pairs meet, in the words of the scenario.
const MATRICES: [&str; 3] = ["spread", "nearest", "farthest"];

/// Delta T over six links of 10 Mbit/s by who sends to whom.
pub(super) fn matrices(study: &mut Study<'_>) -> Result<Sheet, Pending> {
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
    Ok(Sheet {
        id: "table1-matrix".to_owned(),
        title: format!("Delta T at a load of {load} by the flows that end first at a node"),
        columns: ["destinations", "six links ms"].map(str::to_owned).to_vec(),
        rows: lines,
    })
}

/// Why claims of Table 1 differ, by the other sheets of it.
pub(super) fn reasons(matrices: &Sheet, switches: &[(u32, Vec<Sample>)]) -> Vec<Reason> {
    let each = matrices.rows.iter().map(|row| row.join(": "));
    let matrix = format!(
        "The mean depends on how long cross traffic stays with a pair, which the paper does not state. At a load of {STATED} it is, \
         by the flows that end first at a node, in ms: {}.",
        each.collect::<Vec<_>>().join("; ")
    );
    let each = switches.iter().map(|(threshold, samples)| {
        format!("{} at {threshold} delta T", shown(estimate(samples), 1))
    });
    let threshold = format!(
        "A transfer has as many switches as there are losses and long queues on the active path, of hundreds of ms, against which \
         another delta T of some ms is little: {}.",
        each.collect::<Vec<_>>().join(", ")
    );
    [
        ("ppd.delta_t.table1", &matrix),
        ("ppd.delta_t.falls_with_load", &matrix),
        ("ppd.delta_t.fewer_switches", &threshold),
    ]
    .map(|(claim, text)| Reason {
        claim,
        text: text.clone(),
    })
    .to_vec()
}

/// The path switches a transfer of PPD-TCP3, by threshold, in each run.
pub(super) fn switches(study: &mut Study<'_>) -> Result<Vec<(u32, Vec<Sample>)>, Pending> {
    let setting = Setting::new(Topology::Apart);
    let found = calibrate(study, &setting, &[STATED])?;
    let (replicas, count) = study.pick((12, 5), (24, 20));
    let rows: Vec<_> = [1, 2]
        .into_iter()
        .map(|threshold: u32| {
            let setting = setting
                .clone()
                .with("overlay.threshold", &format!("{threshold}.0"));
            let plan = Plan {
                setting: &setting,
                traffic: Some([even(&found[0]); 2]),
                load: STATED,
                bytes: FILE,
                size: Size {
                    replicas,
                    count,
                    about: 20,
                },
            };
            (threshold, plan.run(study, &[Scheme::PpdTcp3]))
        })
        .collect();
    let samples = |(threshold, row): (u32, Result<Row, Pending>)| {
        let each = row?.each(Scheme::PpdTcp3, |run| {
            Some(f64::from(run.switches) / run.times.len() as f64)
        });
        Ok((threshold, each))
    };
    rows.into_iter().map(samples).collect()
}
