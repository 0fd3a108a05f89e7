//! Equation 1, Tables 1 and 2: delta T by packet pairs, and what the threshold does.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use polypath_report::plot::{Look, Plot, Point, Series, Stated};
use polypath_scenario::Scheme;
use serde::Serialize;

use super::curves::axis;
use super::fig3::STATED;
use super::plan::{FILE, Plan, Size, calibrate, estimate, even, mean, seeds, shown};
use super::setting::{Setting, Topology, Traffic};
use super::sounding::{DATA, PROBE, Path};
use crate::{Findings, Job, JobError, Measurement, Pending, Reason, Sample, Scale, Sheet, Study};

/// The links between the PPD nodes by which the paper counts (eq. 1), and those of its Fig. 2 as it is drawn.
const HOPS: [u32; 2] = [6, 5];

/// A table of the paper.
struct Table {
    id: &'static str,
    mbits: u64,
    /// The loads of its columns; its values are in the ledger.
    loads: [f64; 6],
}

const TABLE1: Table = Table {
    id: "table1",
    mbits: 10,
    loads: [0.0, 0.67, 0.75, 0.84, 0.95, 0.99],
};

const TABLE2: Table = Table {
    id: "table2",
    mbits: 1,
    loads: [0.0, 0.68, 0.77, 0.85, 0.94, 0.99],
};

/// Packet pairs on the second path.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pairs {
    setting: Setting,
    traffic: Traffic,
    count: u32,
    /// From one pair to the next, in ms.
    every: u32,
    seed: u64,
}

impl Job for Pairs {
    /// What each pair measured that came through, in ms.
    type Output = Vec<f64>;
    const KIND: &'static str = "ppd.pairs.2";

    fn cost(&self) -> f64 {
        (f64::from(self.count * self.every) / 1e3 + 100.0) / 400.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<f64>, JobError> {
        let mut path = Path::new(&self.setting, &self.traffic, self.seed)?;
        let every = Duration::from_millis(self.every.into());
        let mut spans = Vec::new();
        for _ in 0..self.count {
            spans.extend(path.next_pair(every));
            parts.fetch_add(PARTS / u64::from(self.count), Ordering::Relaxed);
        }
        Ok(spans.iter().map(|span| 1e3 * span.as_secs_f64()).collect())
    }
}

/// The mean delta T of each run at a load in ms, and the number of its pairs, of which there is one at least.
fn measured(
    study: &mut Study<'_>,
    (hops, mbits): (u32, u64),
    load: f64,
) -> Result<Vec<(Sample, usize)>, Pending> {
    measured_in(study, &Setting::of_links(hops, mbits), mbits, load)
}

/// The same in a setting of links of this rate.
fn measured_in(
    study: &mut Study<'_>,
    setting: &Setting,
    mbits: u64,
    load: f64,
) -> Result<Vec<(Sample, usize)>, Pending> {
    let (count, replicas) = study.pick((500, 4), (4000, 4));
    let (traffic, count, replicas) = if load > 0.0 {
        let found = calibrate(study, setting, &[load])?;
        (Some([even(&found[0]); 2]), count, replicas)
    } else {
        (None, 10, 1)
    };
    // Pairs take 0.3 % of the slower links at the most: 33 kbit/s of 10 Mbit/s, 3.3 kbit/s of 1.
    let every = if mbits < 10 { 2500 } else { 250 };
    let jobs = seeds(replicas).into_iter().map(|seed| Pairs {
        setting: setting.clone(),
        traffic,
        count,
        every,
        seed,
    });
    let spans = study.ask_all(jobs)?;
    let sample = |(seed, spans): (u64, Vec<f64>)| {
        let value = mean(&spans);
        (!spans.is_empty()).then_some((Sample { seed, value }, spans.len()))
    };
    let runs = seeds(replicas).into_iter().zip(spans);
    Ok(runs.filter_map(sample).collect())
}

/// Equation 1 in ms.
fn equation_1(hops: u32, mbits: u64) -> f64 {
    let rate = Rate::from_mbits(mbits);
    let time = |size: u32| rate.transmission_time(Bytes(size.into())).as_secs_f64();
    1e3 * (time(DATA) - time(PROBE)) * f64::from(hops)
}

/// Equation 1, and pairs on idle paths.
pub(super) fn eq1(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let mut rows = Vec::new();
    let mut measurements = Vec::new();
    for mbits in [10, 1] {
        for hops in HOPS {
            let samples = measured(study, (hops, mbits), 0.0);
            rows.push((mbits, hops, samples));
        }
    }
    let mut lines = Vec::new();
    for (mbits, hops, samples) in rows {
        let (sample, _) = samples?[0];
        lines.push(vec![
            mbits.to_string(),
            hops.to_string(),
            format!("{:.3}", equation_1(hops, mbits)),
            format!("{:.3}", sample.value),
        ]);
        if hops == HOPS[0] {
            let quantity = format!("delta_t.{mbits}");
            let claim = "ppd.delta_t.analytic";
            measurements.push(Measurement::of(claim, &quantity, "ms", "idle", &[sample]));
        }
    }
    let columns = ["rate Mbit/s", "links", "equation 1 ms", "measured pair ms"];
    Ok(Findings {
        sheets: vec![Sheet {
            id: "eq1".to_owned(),
            title: "Delta T on idle paths".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: lines,
        }],
        measurements,
        notes: vec![
            "Equation 1 counts six links between the PPD nodes, and Fig. 2 as it is drawn has five. A pair arrives later than \
             equation 1 by the transmission of its probe on one link, since its data packet waits for that."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// A load, and the mean of each run with the number of its pairs.
type Line = (f64, Vec<(Sample, usize)>);

/// What a table comes to, with either number of links.
type Columns = [Vec<Line>; 2];

fn columns(study: &mut Study<'_>, table: &Table) -> Result<Columns, Pending> {
    // A glance needs no more than the table itself.
    let quick = study.scale() == Scale::Quick;
    let [six, five] = HOPS.map(|hops| {
        if quick && hops != HOPS[0] {
            return Vec::new();
        }
        let rows = table.loads.iter();
        rows.map(|load| (*load, measured(study, (hops, table.mbits), *load)))
            .collect::<Vec<_>>()
    });
    let complete = |column: Vec<(f64, Result<_, Pending>)>| -> Result<Vec<Line>, Pending> {
        let rows = column.into_iter();
        rows.map(|(load, samples)| Ok((load, samples?))).collect()
    };
    Ok([complete(six)?, complete(five)?])
}

fn findings(study: &Study<'_>, table: &Table, columns: &Columns) -> Findings {
    let samples =
        |row: &[(Sample, usize)]| -> Vec<Sample> { row.iter().map(|(s, _)| *s).collect() };
    let claim = format!("ppd.delta_t.{}", table.id);
    let paper = |n: usize| study.stated(&claim, n);
    let measurement = |(load, row): &Line| {
        let group = format!("{}.{load}", table.id);
        let quantity = format!("delta_t.{load}");
        Measurement::of(&claim, &quantity, "ms", &group, &samples(row))
    };
    let line = |n: usize| {
        let load = table.loads[n];
        let paper = paper(n).map_or("-".to_owned(), |ms| format!("{ms:.1}"));
        let of = |column: &[Line]| {
            let line = column.get(n);
            shown(line.and_then(|line| estimate(&samples(&line.1))), 2)
        };
        let pairs: usize = columns[0][n].1.iter().map(|(_, pairs)| pairs).sum();
        vec![
            format!("{load:.2}"),
            paper,
            of(&columns[0]),
            of(&columns[1]),
            pairs.to_string(),
        ]
    };
    let heads = [
        "load",
        "paper ms",
        "six links ms",
        "five links ms",
        "pairs over six links",
    ];
    Findings {
        plots: vec![plot(table, columns, &paper)],
        sheets: vec![Sheet {
            id: table.id.to_owned(),
            title: format!("Delta T of packet pairs, {} Mbit/s", table.mbits),
            columns: heads.map(str::to_owned).to_vec(),
            rows: (0..table.loads.len()).map(line).collect(),
        }],
        measurements: columns[0].iter().map(measurement).collect(),
        ..Findings::default()
    }
}

fn plot(table: &Table, columns: &Columns, paper: &dyn Fn(usize) -> Option<f64>) -> Plot {
    let columns = columns.iter().filter(|column| !column.is_empty());
    let series = columns
        .zip(["six links", "five links"])
        .map(|(column, name)| Series {
            name: name.to_owned(),
            points: column
                .iter()
                .filter_map(|(x, row)| {
                    let samples: Vec<Sample> = row.iter().map(|(sample, _)| *sample).collect();
                    let estimate = estimate(&samples)?;
                    Some(Point {
                        x: *x,
                        y: estimate.mean,
                        ci95: estimate.ci95,
                    })
                })
                .collect(),
            look: Look::Line,
        });
    Plot {
        id: table.id.to_owned(),
        title: format!("Delta T over the load, {} Mbit/s", table.mbits),
        x: axis("load", ""),
        y: axis("delta T", "ms"),
        series: series.collect(),
        stated: table
            .loads
            .iter()
            .enumerate()
            .filter_map(|(n, x)| Some((*x, paper(n)?)))
            .map(|(x, y)| Stated {
                of: String::new(),
                x,
                y,
            })
            .collect(),
    }
}

/// Table 1, what it owes to who sends to whom, and what the threshold does.
pub(super) fn table1(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let columns = columns(study, &TABLE1);
    let switches = switches(study);
    let matrices = matrices(study);
    let (columns, switches) = (columns?, switches?);
    let mut found = findings(study, &TABLE1, &columns);
    let matrices = matrices?;
    found
        .reasons
        .extend(reasons_of_table1(&matrices, &switches));
    found.sheets.push(matrices);
    let claim = "ppd.delta_t.falls_with_load";
    for (quantity, n) in [("delta_t.load0", 0), ("delta_t.load99", 5)] {
        let samples: Vec<Sample> = columns[0][n].1.iter().map(|(sample, _)| *sample).collect();
        found
            .measurements
            .push(Measurement::of(claim, quantity, "ms", quantity, &samples));
    }
    let line = |(threshold, samples): &(u32, Vec<Sample>)| {
        vec![format!("{threshold} delta T"), shown(estimate(samples), 2)]
    };
    found.sheets.push(Sheet {
        id: "switches".to_owned(),
        title: format!("Path switches of PPD-TCP3 in a transfer of 100 kB, both paths at {STATED}"),
        columns: ["threshold", "switches a transfer"]
            .map(str::to_owned)
            .to_vec(),
        rows: switches.iter().map(line).collect(),
    });
    for (threshold, samples) in switches {
        let quantity = format!("switches.threshold_{threshold}dt");
        let claim = "ppd.delta_t.fewer_switches";
        found.measurements.push(Measurement::of(
            claim,
            &quantity,
            "count",
            "threshold",
            &samples,
        ));
    }
    Ok(found)
}

/// How far the traffic goes that the pairs meet, in the words of the scenario.
const MATRICES: [&str; 3] = ["spread", "nearest", "farthest"];

/// Delta T over six links of 10 Mbit/s by who sends to whom.
fn matrices(study: &mut Study<'_>) -> Result<Sheet, Pending> {
    let load = STATED;
    let rows = MATRICES.map(|which| {
        let mut setting = Setting::of_links(HOPS[0], TABLE1.mbits);
        // The table itself has the first.
        if which != MATRICES[0] {
            for path in ["path1", "path2"] {
                setting = setting.with(&format!("background.{path}.destinations"), which);
            }
        }
        (which, measured_in(study, &setting, TABLE1.mbits, load))
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
fn reasons_of_table1(matrices: &Sheet, switches: &[(u32, Vec<Sample>)]) -> Vec<Reason> {
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

/// Table 2.
pub(super) fn table2(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let columns = columns(study, &TABLE2)?;
    Ok(findings(study, &TABLE2, &columns))
}

/// The path switches a transfer of PPD-TCP3, by threshold, in each run.
fn switches(study: &mut Study<'_>) -> Result<Vec<(u32, Vec<Sample>)>, Pending> {
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
    let samples = |(threshold, row): (u32, Result<super::plan::Row, Pending>)| {
        let each = row?.each(Scheme::PpdTcp3, |run| {
            Some(f64::from(run.switches) / run.times.len() as f64)
        });
        Ok((threshold, each))
    };
    rows.into_iter().map(samples).collect()
}
