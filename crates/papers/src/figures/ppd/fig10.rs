//! Fig. 10: the estimated delay of a data packet on the inactive path, and the delay that it would
//! have had.

use polypath_claims::{FigureTable, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::{Look, Plot, Point, Series};
use polypath_report::statistics::quantile;

use super::parameters;
use super::plan::{calibrate, seeds};
use crate::figures::pictures::axis;
use crate::jobs::ppd::moments::{Delays, Moments};
use crate::jobs::ppd::setting::Setting;

/// The rates of the second path in Mbit/s, their names in the measurements, and loads of
/// Tables 1 and 2.
const RATES: [Rate; 2] = [
    Rate {
        mbits: 10,
        name: "mbit10",
        loads: [0.67, 0.84, 0.95],
    },
    Rate {
        mbits: 1,
        name: "mbit1",
        loads: [0.68, 0.85, 0.94],
    },
];

/// A rate of the second path, with the loads of Table 1 or 2.
struct Rate {
    mbits: u32,
    name: &'static str,
    loads: [f64; 3],
}

/// The results for one rate, by load and run.
struct RateResults {
    name: &'static str,
    mbits: u32,
    loads: [f64; 3],
    runs: Vec<(f64, u64, Delays)>,
}

/// Fig. 10.
pub(super) fn fig10(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let asked: Vec<_> = RATES.map(|rate| moments(study, &rate)).into();
    let found = asked.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Findings {
        plots: found.iter().map(plot).collect(),
        tables: vec![table(&found)],
        measurements: found.iter().flat_map(measurements).collect(),
        notes: vec![
            "At each moment the running network is copied twice: the probe is sent in one copy and \
             a data packet in the other. The estimate is the delay of the probe plus delta T of the \
             last pair. Moments at which one of the two was lost are left out."
                .to_owned(),
        ],
        parameters: RATES
            .iter()
            .flat_map(|rate| parameters::of_pairs(&Setting::of_links(6, rate.mbits.into())))
            .collect(),
        ..Findings::default()
    })
}

fn moments(study: &mut Study<'_>, rate: &Rate) -> Result<RateResults, Pending> {
    let &Rate { mbits, name, loads } = rate;
    let setting = Setting::of_links(6, mbits.into());
    let found = calibrate(study, &setting, &loads)?;
    let (count, replicas) = study.pick((60, 1), (150, 2));
    let seeds = |load: f64| seeds(&format!("fig10/{mbits}/{load}"), replicas);
    let jobs = loads.iter().zip(&found).flat_map(|(load, found)| {
        let traffic = Some([found.idle; 2]);
        let setting = &setting;
        seeds(*load).into_iter().map(move |seed| Moments {
            setting: setting.clone(),
            traffic,
            count,
            seed,
        })
    });
    let runs = study.request_all(jobs)?;
    let keys = loads
        .iter()
        .flat_map(|load| seeds(*load).into_iter().map(|seed| (*load, seed)));
    Ok(RateResults {
        name,
        mbits,
        loads,
        runs: keys
            .zip(runs)
            .map(|((load, seed), run)| (load, seed, run))
            .collect(),
    })
}

/// Both curves with a position for each moment; the moments of a run form a group.
fn measurements(found: &RateResults) -> Vec<Measurement> {
    let claim = "ppd.fig10.virtual_delay";
    let mut all = Vec::new();
    let mut position = 0.0;
    for (load, seed, run) in &found.runs {
        let group = format!("fig10.{}.{load}.{seed}", found.name);
        for (estimated, actual) in run {
            for (quantity, value) in [("estimated", *estimated), ("actual", *actual)] {
                let quantity = format!("{quantity}.{}", found.name);
                let sample = Sample { seed: *seed, value };
                let measured = Measurement::of(claim, &quantity, "ms", &group, &[sample]);
                all.push(measured.over("moment", "", position));
            }
            position += 1.0;
        }
    }
    all.sort_by(|a, b| b.quantity.cmp(&a.quantity));
    all
}

fn plot(found: &RateResults) -> Plot {
    let series = found.loads.map(|load| {
        let runs = found
            .runs
            .iter()
            .filter(|(at, ..)| (at - load).abs() < 1e-9);
        let moments = runs.flat_map(|(_, _, run)| run);
        Series {
            name: format!("load {load}"),
            points: moments
                .map(|(estimated, actual)| Point {
                    x: *actual,
                    y: *estimated,
                    ci95: None,
                })
                .collect(),
            look: Look::Dots,
        }
    });
    let all = || series.iter().flat_map(|series| &series.points);
    let least = all().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let most = all().map(|point| point.x).fold(0.0, f64::max);
    let same = Series {
        name: "equal".to_owned(),
        points: [least.min(most), most]
            .map(|x| Point {
                x,
                y: x,
                ci95: None,
            })
            .to_vec(),
        look: Look::Trace,
    };
    Plot {
        id: format!("fig10-{}", found.name),
        title: format!("End-to-end delay of data packets, {} Mbit/s", found.mbits),
        x: axis("actual delay", "ms"),
        y: axis("estimated delay", "ms"),
        series: series.into_iter().chain([same]).collect(),
        stated: Vec::new(),
        ..Plot::default()
    }
}

fn table(found: &[RateResults]) -> FigureTable {
    let rows = found.iter().flat_map(|found| {
        found.loads.iter().map(move |load| {
            let runs = found
                .runs
                .iter()
                .filter(|(at, ..)| (at - load).abs() < 1e-9);
            let moments: Vec<(f64, f64)> =
                runs.flat_map(|(_, _, run)| run.iter().copied()).collect();
            let errors: Vec<f64> = moments.iter().map(|(e, a)| (e - a).abs() / a).collect();
            let median =
                quantile(&errors, 0.5).map_or("-".to_owned(), |m| format!("{:.1}", 100.0 * m));
            vec![
                found.mbits.to_string(),
                format!("{load}"),
                moments.len().to_string(),
                median,
            ]
        })
    });
    let columns = [
        "rate Mbit/s",
        "load",
        "moments",
        "median of abs(estimated - actual) / actual %",
    ];
    FigureTable {
        id: "fig10".to_owned(),
        title: "Difference of the estimated delay from the actual one".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
