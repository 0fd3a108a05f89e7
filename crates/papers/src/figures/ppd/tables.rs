//! Tables 1 and 2: delta T over the load.

use polypath_claims::{
    ClaimRemark, FigureTable, Findings, Measurement, Pending, Sample, Scale, Study,
};
use polypath_report::plot::{Look, Plot, Point, Series, Stated};

use super::pairs::{HOPS, measured};
use super::parameters;
use super::threshold::{Switches, matrices, reasons, switches};
use crate::figures::estimates::{estimate, shown};
use crate::figures::pictures::axis;
use crate::jobs::ppd::setting::Setting;

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

/// A load, with the mean and the number of pairs of each run.
type Line = (f64, Vec<(Sample, usize)>);

/// The values of a table, with either number of links.
type Columns = [Vec<Line>; 2];

fn columns(study: &mut Study<'_>, table: &Table) -> Result<Columns, Pending> {
    // A quick study needs only the table itself.
    let quick = study.scale() == Scale::Quick;
    let [six, five] = HOPS.map(|hops| {
        if quick && hops != HOPS[0] {
            return Vec::new();
        }
        let rows = table.loads.iter();
        rows.map(|load| (*load, measured(study, hops, table.mbits, *load)))
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
        tables: vec![FigureTable {
            id: format!("{}-values", table.id),
            title: format!("Delta T of packet pairs, {} Mbit/s", table.mbits),
            columns: heads.map(str::to_owned).to_vec(),
            rows: (0..table.loads.len()).map(line).collect(),
        }],
        measurements: columns[0].iter().map(measurement).collect(),
        parameters: parameters::of_pairs(&Setting::of_links(HOPS[0], table.mbits)),
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
        ..Plot::default()
    }
}

/// Table 1, its dependence on the distance of the background traffic, and the effect of the
/// threshold.
pub(super) fn table1(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let columns = columns(study, &TABLE1);
    let switches = switches(study);
    let matrices = matrices(study);
    let (columns, switches) = (columns?, switches?);
    let mut found = findings(study, &TABLE1, &columns);
    let matrices = matrices?;
    found
        .reasons
        .extend(reasons(&matrices, &found.tables[0], &switches));
    found.tables.push(matrices);
    let claim = "ppd.delta_t.falls_with_load";
    for (quantity, n) in [("delta_t.load0", 0), ("delta_t.load99", 5)] {
        let samples: Vec<Sample> = columns[0][n].1.iter().map(|(sample, _)| *sample).collect();
        found
            .measurements
            .push(Measurement::of(claim, quantity, "ms", quantity, &samples));
    }
    found.tables.push(switches_table(&switches));
    for counted in switches {
        let quantity = format!("switches.threshold_{}dt", counted.threshold);
        let (claim, group) = (
            "ppd.delta_t.fewer_switches",
            format!("switches.{}", counted.load),
        );
        let measured = Measurement::of(claim, &quantity, "count", &group, &counted.samples);
        found
            .measurements
            .push(measured.over("load", "", counted.load));
    }
    Ok(found)
}

fn switches_table(switches: &[Switches]) -> FigureTable {
    let line = |counted: &Switches| {
        vec![
            format!("{:.2}", counted.load),
            format!("{} delta T", counted.threshold),
            shown(estimate(&counted.samples), 2),
        ]
    };
    let columns = ["load of both paths", "threshold", "switches a transfer"];
    FigureTable {
        id: "switches".to_owned(),
        title: "Path switches of PPD-TCP3 in a transfer of 100 kB".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: switches.iter().map(line).collect(),
    }
}

/// Table 2.
pub(super) fn table2(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let columns = columns(study, &TABLE2)?;
    let mut found = findings(study, &TABLE2, &columns);
    let rows = found.tables[0].rows.iter();
    let by_load = rows.map(|row| format!("{} ({}) at {}", row[2], row[3], row[0]));
    let text = format!(
        "The paper states neither the sources of links of 1 Mbit/s nor the destinations of flows. \
         Delta T over six links (over five, if run) is in ms, by load: {}.",
        by_load.collect::<Vec<_>>().join(", ")
    );
    found.reasons.push(ClaimRemark {
        claim: "ppd.delta_t.table2",
        text,
    });
    Ok(found)
}
