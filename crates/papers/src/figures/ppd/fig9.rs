//! Fig. 9: the shared link of the paths is the bottleneck.

use polypath_claims::{ClaimRemark, FigureTable, Findings, Measurement, Pending, Sample, Study};
use polypath_scenario::Scheme;

use super::curves::{ratio, times_plots, times_table};
use super::fig8::{fast, measured, rows, shared_load, shared_loads};
use super::harm::{LockStepRuns, harm_table};
use super::parameters;
use super::plan::{FILE, LoadPoint, Size, name, size, title};
use crate::figures::estimates::{estimate, mean, shown};
use crate::jobs::ppd::setting::{Setting, Topology};

const CLAIM: &str = "ppd.fig9.shared_bottleneck";

/// The sample sizes at each load that the sources produce on a shared link of 20 Mbit/s.
fn loads_of_fig9(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(0.85, size(8, 3, 12))],
        vec![
            (0.6, size(6, 30, 4)),
            (0.7, size(8, 30, 6)),
            (0.75, size(12, 20, 12)),
            (0.8, size(24, 15, 30)),
            (0.85, size(16, 10, 80)),
        ],
    )
}

/// Fig. 9.
pub(super) fn fig9(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let fast = fast(study);
    let setting = Setting::new(Topology::Shared)
        .with("path.path1.link.trunk.rate", "15 Mbit/s")
        .with("path.path2.link.trunk.rate", "15 Mbit/s");
    let loads = loads_of_fig9(study);
    let slow = rows(study, "fig9", &loads, &setting);
    let (fast, mut slow) = (fast?, slow?);
    let same = same_sources(&fast, &slow);
    // "The load is measured between nodes N1 and N2" (Fig. 9).
    for row in &mut slow {
        row.load = shared_load(row);
    }
    let high = &fast[fast.len() - 1];
    let near = |row: &&LoadPoint| (row.load - measured(high)).abs();
    let nearest = slow.iter().min_by(|a, b| near(a).total_cmp(&near(b)));
    let nearest = nearest.unwrap_or(&slow[0]);
    Ok(Findings {
        plots: times_plots(
            "fig9",
            "Transfer of 100 kB, 15 Mbit/s shared",
            &slow,
            |run| run.shared.map_or(0.0, |loads| mean(&loads)),
            Vec::new(),
        ),
        tables: vec![
            times_table("fig9", &slow),
            harm_table("fig9-harm", slow.iter().filter_map(LockStepRuns::of_row)),
            gains_table(&fast, &slow),
        ],
        measurements: measurements(high, nearest),
        reasons: vec![reason(high, nearest)],
        caveats: vec![caveat(high, nearest, &same)],
        notes: vec![
            "A gain is the relative reduction of the time of plain TCP. Columns of path loads are \
             those of the links that are not shared."
                .to_owned(),
        ],
        parameters: parameters::of(&setting, FILE),
        ..Findings::default()
    })
}

fn measurements(fast: &LoadPoint, slow: &LoadPoint) -> Vec<Measurement> {
    let others = Scheme::ALL[1..].iter();
    let gains = others.flat_map(|scheme| {
        [("fig9", slow), ("fig8", fast)].map(|(figure, row)| {
            let quantity = format!("gain.{figure}.{}", name(*scheme));
            Measurement::of(CLAIM, &quantity, "ratio", figure, &gains(row, *scheme))
        })
    });
    gains.collect()
}

/// The gains of the schemes with the sources of Fig. 8, at the highest common load of both figures.
fn same_sources(fast: &[LoadPoint], slow: &[LoadPoint]) -> String {
    let both = slow.iter().rev().find_map(|slow| {
        let is_same = |fast: &&LoadPoint| (fast.load - slow.load).abs() < 1e-9;
        Some((fast.iter().find(is_same)?, slow))
    });
    let Some((fast, slow)) = both else {
        return "This run has no sources that both figures share.".to_owned();
    };
    let each = Scheme::ALL[1..].iter().map(|scheme| {
        let [slow, fast] = [slow, fast].map(|row| shown(estimate(&gains(row, *scheme)), 2));
        format!("{} {slow} in place of {fast}", title(*scheme))
    });
    format!(
        "With the same sources in both figures, those of a load of {} on links of 10 Mbit/s, the \
         gains are: {}.",
        fast.load,
        each.collect::<Vec<_>>().join(", ")
    )
}

/// The loads at which gains are compared.
fn caveat(fast: &LoadPoint, slow: &LoadPoint, same: &str) -> ClaimRemark {
    let [there, back] = shared_loads(fast);
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The paper does not state the load at which gains are compared. Here that of Fig. 9 is \
             at a measured load of {:.3} between N1 and N2, and that of Fig. 8 at {:.3} on the \
             links that are not shared, as in the captions; the load of the shared link is \
             {there:.3} and {back:.3} there. {same} A gain is a relative reduction of the time of \
             plain TCP; table `gains` has ratios of times, which differ more.",
            slow.load,
            measured(fast)
        ),
    }
}

/// The gains of both figures over their loads, and the equivalent ratios.
fn gains_table(fast: &[LoadPoint], slow: &[LoadPoint]) -> FigureTable {
    let figures = [("8", fast), ("9", slow)];
    let rows = figures.iter().flat_map(|(figure, rows)| {
        rows.iter().flat_map(move |row| {
            let load = if *figure == "9" {
                row.load
            } else {
                measured(row)
            };
            let line = move |scheme: &Scheme| {
                vec![
                    (*figure).to_owned(),
                    format!("{load:.3}"),
                    title(*scheme).to_owned(),
                    shown(estimate(&gains(row, *scheme)), 3),
                    shown(ratio(row, *scheme), 2),
                ]
            };
            Scheme::ALL[1..].iter().map(line)
        })
    });
    let columns = ["figure", "measured load", "scheme", "gain", "TCP / scheme"];
    FigureTable {
        id: "gains".to_owned(),
        title: "Gains of Figs. 8 and 9, each at the load of its caption".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The share of the time of plain TCP that a scheme saves over all replicas, as the jackknife's
/// pseudo-values: a ratio for each replica would be biased, since few transfers determine a mean of
/// plain TCP.
fn gains(row: &LoadPoint, scheme: Scheme) -> Vec<Sample> {
    let (plain, times) = (row.times(Scheme::Tcp), row.times(scheme));
    let gain = |left_out: Option<usize>| {
        let sum = |samples: &[Sample]| -> f64 {
            let kept = samples
                .iter()
                .enumerate()
                .filter(|(n, _)| Some(*n) != left_out);
            kept.map(|(_, sample)| sample.value).sum()
        };
        1.0 - sum(&times) / sum(&plain)
    };
    let (all, count) = (gain(None), plain.len() as f64);
    let pseudo = |(n, sample): (usize, &Sample)| Sample {
        seed: sample.seed,
        value: count * all - (count - 1.0) * gain(Some(n)),
    };
    plain.iter().enumerate().map(pseudo).collect()
}

/// The reason for which the claim of Fig. 9 differs, from these runs.
fn reason(fast: &LoadPoint, slow: &LoadPoint) -> ClaimRemark {
    let each = Scheme::ALL[1..].iter().map(|scheme| {
        let [slow, fast] = [slow, fast].map(|row| {
            let gain = shown(estimate(&gains(row, *scheme)), 2);
            format!("{gain} (TCP / scheme {})", shown(ratio(row, *scheme), 2))
        });
        format!("{} {slow} in place of {fast}", title(*scheme))
    });
    let plain = |row: &LoadPoint| shown(estimate(&row.times(Scheme::Tcp)), 1);
    let text = format!(
        "The gain with the shared link as the bottleneck, and that of Fig. 8, is: {}. It is a \
         relative reduction of the time of plain TCP, which is {} s in Fig. 9 and {} s in Fig. 8; \
         table `gains` has other loads.",
        each.collect::<Vec<_>>().join(", "),
        plain(slow),
        plain(fast)
    );
    ClaimRemark { claim: CLAIM, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::ppd::transfers::SchemeResult;

    fn row(times: &[(f64, f64)]) -> LoadPoint {
        let of = |time: f64| SchemeResult {
            times: vec![time],
            ..SchemeResult::default()
        };
        let schemes = vec![
            (Scheme::Tcp, times.iter().map(|pair| of(pair.0)).collect()),
            (
                Scheme::PpdTcp1,
                times.iter().map(|pair| of(pair.1)).collect(),
            ),
        ];
        LoadPoint {
            load: 0.9,
            seeds: (0..times.len() as u64).collect(),
            schemes,
            in_lock_step: true,
        }
    }

    #[test]
    fn a_gain_is_that_of_the_means_and_not_the_mean_of_gains() {
        let same = gains(
            &row(&[(10.0, 4.0), (20.0, 8.0), (5.0, 2.0)]),
            Scheme::PpdTcp1,
        );
        assert!(
            same.iter().all(|gain| (gain.value - 0.6).abs() < 1e-9),
            "{same:?}"
        );
        let mixed = gains(&row(&[(90.0, 9.0), (10.0, 11.0)]), Scheme::PpdTcp1);
        let mean = mixed.iter().map(|gain| gain.value).sum::<f64>() / 2.0;
        // The mean of the single gains is 0.4, the gain of the sums 0.8; the jackknife removes its
        // own bias from that.
        assert!(mean > 0.7, "{mixed:?}");
    }
}
