//! Fig. 3: transfer times over two paths of equal load.

use polypath_claims::{ClaimRemark, Findings, Measurement, Pending, Sample, Scale, Study};
use polypath_report::plot::Stated;
use polypath_report::statistics::Estimate;
use polypath_scenario::Scheme;

use super::curves::{path_load, times_plots, times_table};
use super::harm::{LockStepRuns, harm_table};
use super::loads::loads_table;
use super::parameters;
use super::plan::{FILE, LoadPoint, Plan, Size, calibrate, name, size, title};
use super::sensitivity;
use crate::figures::estimates::{mean, shown};
use crate::jobs::ppd::setting::{Setting, Topology};

/// The load at which the paper states its figures.
pub(super) const STATED: f64 = 0.95;

/// The schemes in the order in which the ledger has the paper's mean transfer times at that load
/// (5.1).
const STATED_ORDER: [Scheme; 4] = [
    Scheme::Tcp,
    Scheme::PpdTcp1,
    Scheme::PpdTcp3,
    Scheme::PpdTcp2,
];

/// The loads of Fig. 3, and the sample sizes.
fn loads(scale: Scale) -> Vec<(f64, Size)> {
    scale.pick(
        vec![
            (0.6, size(10, 4, 3)),
            (0.8, size(3, 10, 5)),
            (STATED, size(8, 3, 50)),
        ],
        vec![
            (0.6, size(25, 20, 3)),
            (0.7, size(8, 60, 3)),
            (0.8, size(8, 60, 5)),
            (0.85, size(10, 60, 6)),
            (0.9, size(16, 50, 11)),
            (0.925, size(20, 40, 19)),
            (STATED, size(50, 30, 50)),
            (0.97, size(40, 10, 120)),
            (0.99, size(40, 6, 400)),
        ],
    )
}

/// Transfers of 100 kB by all schemes at each load of Fig. 3.
pub(super) fn rows(study: &mut Study<'_>) -> Result<Vec<LoadPoint>, Pending> {
    let setting = Setting::new(Topology::Apart);
    let loads = loads(study.scale());
    let targets: Vec<f64> = loads.iter().map(|(load, _)| *load).collect();
    let found = calibrate(study, &setting, &targets)?;
    let plans = loads.iter().zip(&found).map(|((load, size), found)| Plan {
        experiment: "fig3",
        setting: &setting,
        traffic: Some([found.idle; 2]),
        load: *load,
        bytes: FILE,
        size: *size,
    });
    let rows: Vec<_> = plans.map(|plan| plan.run_all(study)).collect();
    rows.into_iter().collect()
}

/// The row of the load at which the paper states its figures, which is always run.
pub(super) fn stated_row(rows: &[LoadPoint]) -> &LoadPoint {
    let stated = rows.iter().find(|row| (row.load - STATED).abs() < 1e-9);
    stated.unwrap_or(&rows[0])
}

/// Fig. 3.
pub(super) fn fig3(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study);
    let reasons = sensitivity::reasons(study);
    let (rows, reasons) = (rows?, reasons?);
    let plots = times_plots(
        "fig3",
        "Transfer of 100 kB, both paths equally loaded",
        &rows,
        path_load,
        stated(study),
    );
    let targets: Vec<f64> = rows.iter().map(|row| row.load).collect();
    let loads = loads_table(
        study,
        "fig3-loads",
        &Setting::new(Topology::Apart),
        &targets,
    )?;
    let mut measurements = at_stated(&rows);
    measurements.extend(rising(&rows));
    Ok(Findings {
        plots,
        tables: vec![
            times_table("fig3", &rows),
            harm_table("fig3-harm", rows.iter().filter_map(LockStepRuns::of_row)),
            loads,
        ],
        measurements,
        reasons,
        caveats: caveats(&rows),
        notes: vec![counted_how(&rows)],
        parameters: parameters::of(&Setting::new(Topology::Apart), FILE),
        ..Findings::default()
    })
}

/// The caveats of the verdicts.
fn caveats(rows: &[LoadPoint]) -> Vec<ClaimRemark> {
    let row = stated_row(rows);
    let pairs = row.times(Scheme::PpdTcp1).into_iter();
    let pairs = pairs.zip(row.times(Scheme::PpdTcp3));
    let differences: Vec<f64> = pairs.map(|(one, three)| one.value - three.value).collect();
    let difference = shown(Estimate::of(&differences), 2);
    let order = format!(
        "`>=` holds if it is not refuted, and does not bound the difference of PPD-TCP1 and \
         PPD-TCP3. The time of PPD-TCP1 minus that of PPD-TCP3 is {difference} s at a load of \
         {STATED}."
    );
    let fitted = "The bursts of the background are those of the ns-2 setting that a search found \
                  for 35 s of plain TCP: that time is fitted, and those of the three schemes are \
                  predictions.";
    let rises = "The times are those of all loads; a slope is that from the lowest of them to .95, \
                 at which the paper states figures.";
    [
        ("ppd.fig3.order", order),
        ("ppd.fig3.at_95", fitted.to_owned()),
        ("ppd.fig3.rises_with_load", rises.to_owned()),
    ]
    .map(|(claim, text)| ClaimRemark { claim, text })
    .to_vec()
}

fn stated(study: &Study<'_>) -> Vec<Stated> {
    let points = STATED_ORDER.iter().enumerate();
    points
        .filter_map(|(n, scheme)| {
            Some(Stated {
                of: title(*scheme).to_owned(),
                x: STATED,
                y: study.stated("ppd.fig3.at_95", n)?,
            })
        })
        .collect()
}

fn at_stated(rows: &[LoadPoint]) -> Vec<Measurement> {
    let row = stated_row(rows);
    let of = |claim: &str, scheme: Scheme| {
        let quantity = format!("transfer.{}", name(scheme));
        Measurement::of(claim, &quantity, "s", "fig3", &row.times(scheme))
    };
    let order = Scheme::ALL.map(|scheme| of("ppd.fig3.order", scheme));
    let values = STATED_ORDER.map(|scheme| of("ppd.fig3.at_95", scheme));
    order.into_iter().chain(values).collect()
}

/// The times at each load, and their slope from the lowest load to the stated one.
fn rising(rows: &[LoadPoint]) -> Vec<Measurement> {
    let claim = "ppd.fig3.rises_with_load";
    let mut found = Vec::new();
    for scheme in Scheme::ALL {
        let quantity = format!("transfer.{}", name(scheme));
        for row in rows {
            let group = format!("fig3.{}", row.load);
            let times = Measurement::of(claim, &quantity, "s", &group, &row.times(scheme));
            found.push(times.over("load", "", row.load));
        }
        let slopes = slopes(&rows[0], stated_row(rows), scheme);
        let quantity = format!("slope.{}", name(scheme));
        found.push(Measurement::of(
            claim,
            &quantity,
            "s",
            "fig3.slope",
            &slopes,
        ));
    }
    found
}

/// The slope of the time in seconds per unit of load, from one row to another. Their replicas are
/// independent: those of the second row, which has at least as many, are assigned to those of the
/// first in turn.
fn slopes(low: &LoadPoint, high: &LoadPoint, scheme: Scheme) -> Vec<Sample> {
    let (low_times, high_times) = (low.times(scheme), high.times(scheme));
    let count = low_times.len();
    let slope = |(n, at_low): (usize, &Sample)| {
        let dealt = high_times.iter().skip(n).step_by(count);
        let dealt: Vec<f64> = dealt.map(|sample| sample.value).collect();
        Sample {
            seed: at_low.seed,
            value: (mean(&dealt) - at_low.value) / (high.load - low.load),
        }
    };
    low_times.iter().enumerate().map(slope).collect()
}

fn counted_how(rows: &[LoadPoint]) -> String {
    let runs = rows
        .iter()
        .flat_map(|row| &row.schemes)
        .flat_map(|(_, runs)| runs);
    let (count, lost) = runs.fold((0, 0), |(count, lost), run| {
        (count + run.times.len(), lost + run.timed_out as usize)
    });
    format!(
        "{lost} of {count} transfers timed out after an hour and count as an hour; intervals are \
         those of the means of replicas."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_load_is_run_at_either_scale() {
        for scale in [Scale::Quick, Scale::Full] {
            let loads = loads(scale);
            assert!(loads.iter().any(|(load, _)| *load == STATED), "{scale:?}");
        }
    }

    /// Each replica of the second row is assigned to one of the first, and all count.
    #[test]
    fn slopes_come_from_all_replicas() {
        let row = |load: f64, times: &[f64]| LoadPoint {
            load,
            seeds: (0..times.len() as u64).collect(),
            schemes: vec![(
                Scheme::Tcp,
                times
                    .iter()
                    .map(|time| crate::jobs::ppd::transfers::SchemeResult {
                        times: vec![*time],
                        ..Default::default()
                    })
                    .collect(),
            )],
            in_lock_step: true,
        };
        let (low, high) = (row(0.5, &[1.0, 2.0]), row(0.75, &[3.0, 5.0, 4.0, 6.0]));
        let slopes: Vec<f64> = slopes(&low, &high, Scheme::Tcp)
            .iter()
            .map(|s| s.value)
            .collect();
        assert_eq!(slopes, [10.0, 14.0]);
    }
}
