//! Outages of a flow of 50 packets a second when its path goes silent.

use polypath_batch::replica_seeds;
use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study};
use polypath_report::plot::{Plot, Point, Series};
use polypath_report::statistics::quantile;

use crate::figures::estimates::{point, text};
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::own::silences::Silences;

pub(super) const FIGURE: Figure = Figure {
    id: "own.failover",
    title: "Outages when the path that carries the packets goes silent",
    claims: &[OUTAGE, TAKEOVER],
    make,
};

const OUTAGE: &str = "own.failover.outage";
const TAKEOVER: &str = "own.costs.takeover";
/// Round-trip times of both paths in milliseconds.
const RTTS: [u32; 4] = [20, 40, 100, 200];
/// Those with a cost of the other path.
const COSTLY_RTTS: [u32; 2] = [20, 40];
/// The default deadline of the policy in milliseconds.
const DEADLINE: u32 = 200;
/// The silences from which a 99th percentile is taken.
const SILENCES: u32 = 100;

/// The outages over paths of one round-trip time in milliseconds, in groups of [`SILENCES`].
struct Outages {
    rtt: u32,
    /// The deadline of the policy in milliseconds.
    deadline: u32,
    /// The cost of the other path.
    cost: u8,
    seeds: Vec<u64>,
    groups: Vec<Vec<f64>>,
}

impl Outages {
    fn request(study: &mut Study<'_>, rtt: u32, deadline: u32, cost: u8) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(5, 40));
        let groups = study.request_all(seeds.iter().map(|&seed| Silences {
            rtt,
            deadline,
            cost,
            count: SILENCES,
            seed,
        }))?;
        Ok(Self {
            rtt,
            deadline,
            cost,
            seeds,
            groups,
        })
    }

    /// A quantile of each group.
    fn samples(&self, q: f64) -> Vec<Sample> {
        let groups = self.seeds.iter().zip(&self.groups);
        let sample = |(&seed, outages): (&u64, &Vec<f64>)| {
            let value = quantile(outages, q)?;
            Some(Sample { seed, value })
        };
        groups.filter_map(sample).collect()
    }
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    // As in the lab, the deadline allows for repairs.
    let all = RTTS.map(|rtt| Outages::request(study, rtt, DEADLINE.max(2 * rtt), 0));
    let short = Outages::request(study, 200, DEADLINE, 0);
    let costly = COSTLY_RTTS.map(|rtt| Outages::request(study, rtt, DEADLINE, 1));
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    let costly = costly.into_iter().collect::<Result<Vec<_>, _>>()?;
    let short = short?;
    let measurement = |claim, of: &Outages| {
        let quantity = format!("outage.rtt_{}", of.rtt);
        Measurement::of(claim, &quantity, "ms", "silences", &of.samples(0.99))
    };
    let free = all.iter().map(|of| measurement(OUTAGE, of));
    let takeovers = costly.iter().map(|of| measurement(TAKEOVER, of));
    Ok(Findings {
        plots: vec![picture(&all)],
        tables: vec![table(all.iter().chain([&short]).chain(&costly))],
        measurements: free.chain(takeovers).collect(),
        parameters: [
            [
                "silences",
                "2 s in both directions, of the path that carries the packets: scenarios/media-outages.toml \
                 with the flow and the links of `make failover` (1000 B, 100 Mbit/s, equal delays)",
            ],
            [
                "99th percentile of outages",
                "of each hundred silences, as the lab computes it; 5 hundreds, and 40 with --full",
            ],
        ]
        .map(|of| of.map(ToOwned::to_owned))
        .into(),
        notes: vec![
            "The deadline is 200 ms, or twice the round trip if that is more, as in the lab. With \
             200 ms at a round trip of 200 ms (a row of the table that is not judged) no repair \
             arrives in time: an outage ends with the first packet that is sent on the other path."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

fn picture(all: &[Outages]) -> Plot {
    let outages = |name: &str, q: f64| Series {
        name: name.to_owned(),
        points: all
            .iter()
            .filter_map(|of| point(of.rtt.into(), &of.samples(q)))
            .collect(),
        ..Series::default()
    };
    let bound = |of: &Outages| Point {
        x: of.rtt.into(),
        y: f64::from(of.rtt) + 20.0,
        ci95: None,
    };
    let bound = Series {
        name: "the round trip and 20 ms".to_owned(),
        points: all.iter().map(bound).collect(),
        ..Series::default()
    };
    Plot {
        id: "failover".to_owned(),
        title: "Outages of 50 packets a second".to_owned(),
        x: axis("round trip", "ms"),
        y: axis("outage", "ms"),
        series: vec![
            outages("median", 0.5),
            outages("99th percentile", 0.99),
            thin(bound),
        ],
        ..Plot::default()
    }
}

fn table<'a>(all: impl Iterator<Item = &'a Outages>) -> FigureTable {
    let row = |of: &Outages| {
        let mut row = [of.rtt, of.deadline, of.cost.into()]
            .map(|of| of.to_string())
            .to_vec();
        row.extend([0.5, 0.99, 1.0].map(|q| text(&of.samples(q), 1)));
        row.push((of.groups.len() * SILENCES as usize).to_string());
        row
    };
    figure_table(
        "outages",
        "Outages in milliseconds: means over groups of a hundred silences",
        &[
            "round trip, ms",
            "deadline, ms",
            "cost of the other path",
            "median",
            "99th percentile",
            "longest",
            "silences",
        ],
        all.map(row).collect(),
    )
}
