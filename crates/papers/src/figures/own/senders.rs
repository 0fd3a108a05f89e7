//! Many senders near capacity: the selector `delay-growth` beside the mechanisms of the
//! delay-centric paper.

use polypath_batch::replica_seeds;
use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study};

use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::delay_centric::mechanism::PURE;
use crate::jobs::own::senders::{Chooser, SenderRun, SenderRuns};

pub(super) const FIGURE: Figure = Figure {
    id: "own.senders",
    title: "6, 100 and 1000 senders at a utilisation of .99, by the paper's selectors and delay-growth",
    claims: &[DELAY, SWITCHES, HEARTBEATS],
    make,
};

const DELAY: &str = "own.senders.delay";
const SWITCHES: &str = "own.senders.switches";
const HEARTBEATS: &str = "own.senders.heartbeats";

/// The utilisation in percent.
const UTILISATION: u32 = 99;
/// Numbers of senders, with the number of runs of each in a quick and a full study.
const SENDERS: [(u32, [u32; 2]); 3] = [(6, [40, 200]), (100, [8, 40]), (1000, [6, 20])];

/// The runs of one number of senders.
struct Group {
    senders: u32,
    runs: Vec<(Chooser, Vec<SenderRun>)>,
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let groups = SENDERS.map(|(senders, [few, many])| {
        let seeds = replica_seeds(SEED, study.pick(few, many));
        let runs = Chooser::ALL.map(|chooser| {
            let runs = study.request(&SenderRuns {
                senders,
                utilisation: UTILISATION,
                chooser,
                seeds: seeds.clone(),
            });
            (chooser, runs)
        });
        (senders, runs)
    });
    let groups = groups.into_iter().map(|(senders, runs)| {
        let runs = runs.into_iter().map(|(chooser, runs)| Ok((chooser, runs?)));
        let runs = runs.collect::<Result<_, Pending>>()?;
        Ok(Group { senders, runs })
    });
    let groups = groups.collect::<Result<Vec<_>, Pending>>()?;
    Ok(Findings {
        tables: vec![table(&groups)],
        measurements: groups.iter().flat_map(Group::measurements).collect(),
        parameters: vec![
            ["senders", SETTING].map(ToOwned::to_owned),
            ["best", BEST].map(ToOwned::to_owned),
        ],
        ..Findings::default()
    })
}

const SETTING: &str = "scenarios/delay-centric.toml: 19 s after a warm-up of 1 s; rates and queues of \
                       the links scaled with the number of senders; every mechanism with heartbeats \
                       of 250 B every .5 to 1.5 s";
const BEST: &str = "the paper's mechanism with the lowest mean delay for that number of senders";

/// Delays in ms, switches and heartbeats of a sender per second.
type Quantity = fn(&SenderRun) -> f64;
const QUANTITIES: [Quantity; 3] = [
    |run| run.delay * 1e3,
    |run| run.switches,
    |run| run.heartbeats,
];

impl Group {
    fn samples(&self, chooser: Chooser, of: Quantity) -> Vec<Sample> {
        let runs = self.runs.iter().filter(|(known, _)| *known == chooser);
        let sample = |run: &SenderRun| Sample {
            seed: run.seed,
            value: of(run),
        };
        runs.flat_map(|(_, runs)| runs).map(sample).collect()
    }

    /// The paper's mechanism with the lowest mean delay.
    fn best(&self) -> Chooser {
        let mean = |chooser: &Chooser| {
            let delays = self.samples(*chooser, QUANTITIES[0]);
            estimate(&delays).map_or(f64::INFINITY, |delay| delay.mean)
        };
        let all = Chooser::ALL.into_iter();
        let papers = all.filter(|of| matches!(of, Chooser::Paper(_)));
        let best = papers.min_by(|a, b| mean(a).total_cmp(&mean(b)));
        best.unwrap_or(Chooser::Paper(PURE))
    }

    fn measurements(&self) -> Vec<Measurement> {
        let measured = |claim: &str, name: &str, unit: &str, chooser: Chooser, of: Quantity| {
            let group = format!("{} senders", self.senders);
            let samples = self.samples(chooser, of);
            let measured = Measurement::of(claim, name, unit, &group, &samples);
            measured.over("senders", "", f64::from(self.senders))
        };
        let [delay, switches, heartbeats] = QUANTITIES;
        let mut all: Vec<Measurement> = Chooser::ALL
            .iter()
            .map(|chooser| {
                let name = format!("delay.{}", chooser.name());
                measured(DELAY, &name, "ms", *chooser, delay)
            })
            .collect();
        for (name, chooser) in [("growth", Chooser::Growth), ("best", self.best())] {
            let [of_switches, of_heartbeats] =
                ["switches", "heartbeats"].map(|what| format!("{what}.{name}"));
            all.push(measured(SWITCHES, &of_switches, "1/s", chooser, switches));
            all.push(measured(
                HEARTBEATS,
                &of_heartbeats,
                "1/s",
                chooser,
                heartbeats,
            ));
        }
        all
    }
}

fn table(groups: &[Group]) -> FigureTable {
    let mut rows = Vec::new();
    for group in groups {
        for chooser in Chooser::ALL {
            let lost = group.samples(chooser, |run| run.lost * 100.0);
            let [delay, switches, heartbeats] = QUANTITIES;
            let mut row = vec![group.senders.to_string(), chooser.name().replace('_', " ")];
            row.push(text(&group.samples(chooser, delay), 1));
            row.push(text(&group.samples(chooser, switches), 4));
            row.push(text(&group.samples(chooser, heartbeats), 3));
            row.push(text(&lost, 2));
            rows.push(row);
        }
    }
    figure_table(
        "senders",
        "Senders near capacity",
        &[
            "senders",
            "selector",
            "mean delay ms",
            "switches of a sender 1/s",
            "heartbeats of a sender 1/s",
            "lost %",
        ],
        rows,
    )
}
