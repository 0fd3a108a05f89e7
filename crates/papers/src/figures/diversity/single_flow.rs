//! One flow on one fading link (Fig. 2).

use polypath_batch::replica_seeds;
use polypath_claims::{Figure, Findings, Measurement, Pending, SEED, Sample, Study};
use polypath_report::plot::{Plot, Point, Series};
use polypath_sim::round_model::{Fading, RoundModelConfig};

use super::parameters::parameters;
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::diversity::run::{Runs, samples};
use crate::jobs::diversity::setting::RTT;

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.fig2",
    title: "One flow on a fading link: throughput, with a renewal analysis",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.fig2.single_flow";

/// The capacity in packets per round trip: 1 Mb/s and packets of 1250 bytes.
const CAPACITY: u32 = 10;
/// Mean times between the starts of fades, in tenths of a second: the paper's range of up times, 1
/// to 100 s.
const CYCLES: [u32; 7] = [10, 20, 50, 100, 200, 500, 1000];
/// Mean down times, in hundredths of a second: the ends of the paper's range.
const DOWN: [u32; 2] = [1, 100];

/// The process with this mean time between the starts of fades.
fn process(cycle: u32, down: u32) -> Fading {
    let (cycle, down) = (f64::from(cycle) / 10.0, f64::from(down) / 100.0);
    Fading {
        up: (cycle - down) / RTT,
        down: down / RTT,
    }
}

/// Throughput over capacity by renewal: after a fade the window is 1 in the first round in which
/// the link is up, then grows by one per round, up to the capacity.
///
/// With g fades per round, the link is up throughout a round in which the window would be k + 1
/// with probability exp(-g (k + 1)) since the start of the first round; a fade ends anywhere within
/// a round, so the link is still up at the start of the next one with probability (1 - exp(-g)) /
/// g.
fn renewal(fading: Fading) -> f64 {
    let g = 1.0 / fading.up;
    let windows = (-g).exp() * (1.0 - (-g * f64::from(CAPACITY)).exp()) / (1.0 - (-g).exp());
    windows / g / (fading.up + fading.down) / f64::from(CAPACITY)
}

/// The same in continuous time, with a window that grows continuously from 1, as in reference [5]
/// of the paper.
fn fluid(fading: Fading) -> f64 {
    let g = 1.0 / fading.up;
    let growing = (1.0 - (-g * f64::from(CAPACITY - 1)).exp()) / g;
    (1.0 + growing) / g / (fading.up + fading.down) / f64::from(CAPACITY)
}

/// The throughput at each mean time between the starts of fades.
struct Curve {
    down: u32,
    points: Vec<(u32, Vec<Sample>)>,
}

fn curve(study: &mut Study<'_>, down: u32) -> Result<Curve, Pending> {
    let (seeds, rounds) = (study.pick(3, 10), study.pick(100_000, 500_000));
    let cycles = CYCLES.iter().filter(|cycle| **cycle * 10 > down);
    let mut asked = Vec::new();
    for &cycle in cycles {
        let config = RoundModelConfig {
            fading: Some(process(cycle, down)),
            ..RoundModelConfig::paper(1, 1, CAPACITY)
        };
        let runs = Runs {
            rounds,
            shows: false,
            seeds: replica_seeds(SEED, seeds),
            ..Runs::new(config, 1)
        };
        asked.push((cycle, runs.request(study)));
    }
    let mut points = Vec::new();
    for (cycle, runs) in asked {
        points.push((
            cycle,
            samples(&runs?, crate::jobs::diversity::run::RunResult::goodput),
        ));
    }
    Ok(Curve { down, points })
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let curves = DOWN.map(|down| curve(study, down));
    let [short, long] = curves;
    let curves = [short?, long?];
    let config = RoundModelConfig {
        fading: Some(process(CYCLES[0], DOWN[0])),
        ..RoundModelConfig::paper(1, 1, CAPACITY)
    };
    Ok(Findings {
        plots: vec![picture(&curves)],
        tables: vec![table(&curves)],
        measurements: curves[0].measurements(),
        parameters: parameters(&config),
        notes: vec![
            "The paper states neither the capacity nor which of the two rates varies; E[x] = \
             1/gamma + 1/nu. The verdict is for nu = 100/s; the plot also has nu = 1/s. The renewal \
             curve is computed for whole round trips, as in the simulation; the fluid curve is for \
             continuous time, as in [5]."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

impl Curve {
    fn name(&self) -> String {
        format!("down for {:.2} s", f64::from(self.down) / 100.0)
    }

    fn measurements(&self) -> Vec<Measurement> {
        let mut all = Vec::new();
        for (cycle, samples) in &self.points {
            let at = |of: Measurement| of.over("Ex", "s", f64::from(*cycle) / 10.0);
            for quantity in ["throughput", "simulated"] {
                let of = Measurement::of(CLAIM, quantity, "ratio", "runs", samples);
                all.push(at(of));
            }
            let analysed = renewal(process(*cycle, self.down));
            let exact = Measurement::exact(CLAIM, "renewal", "ratio", analysed);
            all.push(at(exact));
        }
        all
    }

    fn simulated(&self) -> Series {
        let point = |(cycle, samples): &(u32, Vec<Sample>)| {
            let found = estimate(samples)?;
            Some(Point {
                x: f64::from(*cycle) / 10.0,
                y: found.mean,
                ci95: found.ci95,
            })
        };
        Series {
            name: format!("simulated, {}", self.name()),
            points: self.points.iter().filter_map(point).collect(),
            ..Series::default()
        }
    }

    fn analysed(&self, name: &str, of: fn(Fading) -> f64) -> Series {
        let point = |(cycle, _): &(u32, Vec<Sample>)| Point {
            x: f64::from(*cycle) / 10.0,
            y: of(process(*cycle, self.down)),
            ci95: None,
        };
        thin(Series {
            name: format!("{name}, {}", self.name()),
            points: self.points.iter().map(point).collect(),
            ..Series::default()
        })
    }
}

fn picture(curves: &[Curve]) -> Plot {
    let mut x = axis("E[x]", "s");
    x.is_log = true;
    let series = curves.iter().flat_map(|curve| {
        [
            curve.simulated(),
            curve.analysed("renewal", renewal),
            curve.analysed("fluid", fluid),
        ]
    });
    Plot {
        id: "fig2".to_owned(),
        title: "One flow on a fading link".to_owned(),
        x,
        y: axis("throughput over capacity", ""),
        series: series.collect(),
        ..Plot::default()
    }
}

fn table(curves: &[Curve]) -> polypath_claims::FigureTable {
    let rows = curves.iter().flat_map(|curve| {
        curve.points.iter().map(|(cycle, samples)| {
            let fading = process(*cycle, curve.down);
            vec![
                format!("{:.2}", f64::from(curve.down) / 100.0),
                format!("{:.1}", f64::from(*cycle) / 10.0),
                text(samples, 4),
                format!("{:.4}", renewal(fading)),
                format!("{:.4}", fluid(fading)),
            ]
        })
    });
    figure_table(
        "throughput",
        "Throughput over capacity",
        &[
            "mean time down s",
            "E[x] s",
            "simulated",
            "renewal",
            "fluid",
        ],
        rows.collect(),
    )
}
