//! Fig. 8: paths that share a fast link. Fig. 9: the shared link is the bottleneck.

use polypath_scenario::Scheme;

use super::curves::{path_load, ratio, times_plots, times_sheet};
use super::harm::{Together, harm_sheet};
use super::loads::loads_sheet;
use super::parameters;
use super::plan::{FILE, Plan, Row, Size, calibrate, estimate, mean, name, shown, title};
use super::setting::{Setting, Topology};
use crate::{Findings, Measurement, Pending, Reason, Sample, Sheet, Study};

/// The load at which the figures are compared.
const HIGH: f64 = 0.95;

const fn size(replicas: u32, count: u32, about: u32) -> Size {
    Size {
        replicas,
        count,
        about,
    }
}

/// The loads of the links that are not shared in Fig. 8, and how much is run at each.
fn loads(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(HIGH, size(12, 4, 40))],
        vec![
            (0.6, size(6, 30, 3)),
            (0.8, size(8, 30, 5)),
            (0.9, size(12, 30, 10)),
            (HIGH, size(24, 15, 40)),
        ],
    )
}

/// The same for Fig. 9, as loads that the sources give over a shared link of 20 Mbit/s.
fn loads_of_fig9(study: &Study<'_>) -> Vec<(f64, Size)> {
    study.pick(
        vec![(0.85, size(12, 4, 12))],
        vec![
            (0.6, size(6, 30, 4)),
            (0.7, size(8, 30, 6)),
            (0.75, size(12, 20, 12)),
            (0.8, size(24, 15, 30)),
            (0.85, size(16, 10, 80)),
        ],
    )
}

fn rows(
    study: &mut Study<'_>,
    experiment: &str,
    loads: &[(f64, Size)],
    setting: &Setting,
) -> Result<Vec<Row>, Pending> {
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

fn fast(study: &mut Study<'_>) -> Result<Vec<Row>, Pending> {
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
            ("fig8", "Transfer of 100 kB, 20 Mbit/s shared"),
            &rows,
            path_load,
            Vec::new(),
        ),
        sheets: vec![
            times_sheet("fig8", &rows),
            harm_sheet("fig8-harm", rows.iter().filter_map(Together::of_row)),
            loads_sheet(
                study,
                "fig8-loads",
                &Setting::new(Topology::Shared),
                &targets,
            )?,
        ],
        measurements: Scheme::ALL.map(times).to_vec(),
        reasons: vec![reason_of_fig8(&rows)],
        parameters: parameters::of(&Setting::new(Topology::Shared), FILE),
        ..Findings::default()
    })
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
    // "The load is measured between nodes N1 and N2" (Fig. 9).
    for row in &mut slow {
        row.load = shared_load(row);
    }
    let high = &fast[fast.len() - 1];
    let near = |row: &&Row| (row.load - measured(high)).abs();
    let nearest = slow.iter().min_by(|a, b| near(a).total_cmp(&near(b)));
    let nearest = nearest.unwrap_or(&slow[0]);
    let claim = "ppd.fig9.shared_bottleneck";
    let others = Scheme::ALL[1..].iter();
    let gains = others.flat_map(|scheme| {
        [("fig9", nearest), ("fig8", high)].map(|(figure, row)| {
            let quantity = format!("gain.{figure}.{}", name(*scheme));
            Measurement::of(claim, &quantity, "ratio", figure, &gains(row, *scheme))
        })
    });
    let measurements = gains.collect();
    Ok(Findings {
        plots: times_plots(
            ("fig9", "Transfer of 100 kB, 15 Mbit/s shared"),
            &slow,
            |run| run.shared.map_or(0.0, |loads| loads[0]),
            Vec::new(),
        ),
        sheets: vec![
            times_sheet("fig9", &slow),
            harm_sheet("fig9-harm", slow.iter().filter_map(Together::of_row)),
            gains_sheet(&fast, &slow),
        ],
        measurements,
        reasons: vec![reason(high, nearest)],
        caveats: vec![Reason {
            claim,
            text: format!(
                "The paper names no load at which gains are compared. Here that of Fig. 9 is at a measured load of {:.3} between N1 \
                 and N2, and that of Fig. 8 at {:.3} on the links that are not shared, as their captions measure it.",
                nearest.load,
                measured(high)
            ),
        }],
        notes: vec![
            "A gain is the share of the time of plain TCP that a scheme saves. Columns of path loads are those of the links that \
             are not shared."
                .to_owned(),
        ],
        parameters: parameters::of(&setting, FILE),
    })
}

/// The measured load of the links that are not shared, over schemes and replicas.
fn measured(row: &Row) -> f64 {
    let runs = row.schemes.iter().flat_map(|(_, runs)| runs);
    mean(&runs.map(path_load).collect::<Vec<_>>())
}

/// The gains of both figures over their loads, and the ratios that say the same.
fn gains_sheet(fast: &[Row], slow: &[Row]) -> Sheet {
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
    Sheet {
        id: "gains".to_owned(),
        title: "Gains of Figs. 8 and 9, each at the load that its caption says".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// Why the claim of Fig. 8 differs, if it does, by these runs.
fn reason_of_fig8(rows: &[Row]) -> Reason {
    let each = rows.iter().map(|row| {
        let ratios = Scheme::ALL[1..].iter();
        let ratios =
            ratios.map(|scheme| format!("{} {}", shown(ratio(row, *scheme), 2), title(*scheme)));
        let list = ratios.collect::<Vec<_>>().join(", ");
        format!("{list} at a measured load of {:.3}", measured(row))
    });
    let high = &rows[rows.len() - 1];
    let text = format!(
        "What remains depends on the load: plain TCP takes so many times as long as each scheme: {}. The shared link from N1 to N2 \
         has a load of {:.3} at the highest.",
        each.collect::<Vec<_>>().join("; "),
        shared_load(high)
    );
    let claim = "ppd.fig8.shared_fast_link";
    Reason { claim, text }
}

/// The mean load of the shared link towards the client, over schemes and replicas.
fn shared_load(row: &Row) -> f64 {
    let runs = row.schemes.iter().flat_map(|(_, runs)| runs);
    let loads: Vec<f64> = runs.filter_map(|run| Some(run.shared?[0])).collect();
    mean(&loads)
}

/// The share of the time of plain TCP that a scheme saves over all replicas, as the jackknife's pseudo-values: a ratio in
/// each replica would be biased, since few transfers make a mean of plain TCP.
fn gains(row: &Row, scheme: Scheme) -> Vec<Sample> {
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

/// Why the claim of Fig. 9 differs, if it does, by these runs.
fn reason(fast: &Row, slow: &Row) -> Reason {
    let each = Scheme::ALL[1..].iter().map(|scheme| {
        let [slow, fast] = [slow, fast].map(|row| {
            let gain = shown(estimate(&gains(row, *scheme)), 2);
            format!("{gain} (TCP / scheme {})", shown(ratio(row, *scheme), 2))
        });
        format!("{} {slow} in place of {fast}", title(*scheme))
    });
    let plain = |row: &Row| shown(estimate(&row.times(Scheme::Tcp)), 1);
    let text = format!(
        "The gain where the shared link is the bottleneck, beside that of Fig. 8, is: {}. It is a share of the time of plain TCP, \
         which is {} s in Fig. 9 and {} s in Fig. 8; sheet `gains` has other loads.",
        each.collect::<Vec<_>>().join(", "),
        plain(slow),
        plain(fast)
    );
    let claim = "ppd.fig9.shared_bottleneck";
    Reason { claim, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ppd::transfers::Carried;

    fn row(times: &[(f64, f64)]) -> Row {
        let of = |time: f64| Carried {
            times: vec![time],
            ..Carried::default()
        };
        let schemes = vec![
            (Scheme::Tcp, times.iter().map(|pair| of(pair.0)).collect()),
            (
                Scheme::PpdTcp1,
                times.iter().map(|pair| of(pair.1)).collect(),
            ),
        ];
        Row {
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
        // The mean of the single gains is 0.4, the gain of the sums 0.8; the jackknife takes its own bias off that.
        assert!(mean > 0.7, "{mixed:?}");
    }
}
