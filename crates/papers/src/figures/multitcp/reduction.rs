//! The cost of a loss for one connection or several: equations 1 to 4 (4.1, Fig. 2) and simulated
//! losses.

use polypath_batch::replica_seeds;
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};
use polypath_core::connections::equations;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_report::plot::{Plot, Series};

use crate::figures::estimates::{estimate, point, text};
use crate::figures::pictures::{axis, figure_table};
use crate::jobs::multitcp::losses::{Losses, Reduced};
use crate::jobs::multitcp::parameters::SEGMENT;

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.fig2",
    title: "The cost of single losses for one, two and more connections",
    claims: &[
        "multitcp.eq1",
        "multitcp.eq2",
        "multitcp.eq3",
        "multitcp.eq4",
    ],
    make,
};

/// The window of each connection in segments: the smallest of [`WINDOWS`] at which fast recovery,
/// which the equations neglect, costs less than a tenth of what they count.
const EACH: u32 = 256;
const MTU: Bytes = Bytes(SEGMENT as u64);
/// The connections, and how many of them lose a packet.
const CASES: [(u32, u32); 6] = [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)];
/// Windows of one connection in segments.
const WINDOWS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

struct Case {
    connections: u32,
    losing: u32,
    window: u32,
    /// The round-trip time of a segment, in seconds.
    round_trip: f64,
    runs: Vec<(u64, Reduced)>,
}

impl Case {
    fn of(
        study: &mut Study<'_>,
        connections: u32,
        losing: u32,
        window: u32,
    ) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(3, 10));
        let losses = Losses {
            connections,
            losing,
            window,
            variant: "reno",
            seed: SEED,
        };
        let jobs = seeds.iter().map(|&seed| Losses { seed, ..losses });
        let runs = study.request_all(jobs.collect::<Vec<_>>())?;
        Ok(Self {
            connections,
            losing,
            window,
            round_trip: losses.round_trip(),
            runs: seeds.into_iter().zip(runs).collect(),
        })
    }

    fn samples(&self, of: impl Fn(&Reduced) -> f64) -> Vec<Sample> {
        let sample = |(seed, run): &(u64, Reduced)| Sample {
            seed: *seed,
            value: of(run),
        };
        self.runs.iter().map(sample).collect()
    }

    /// The reduction of transferred data, over equation 4.
    fn ratio(&self) -> Vec<Sample> {
        let Self {
            connections,
            losing,
            window,
            ..
        } = *self;
        let model = equations::reduction_of_several(window, MTU, connections, losing);
        self.samples(|run| run.bytes / model)
    }

    /// The throughput without loss, over equation 1.
    fn throughput(&self) -> Vec<Sample> {
        let rtt = Duration::from_secs_f64(self.round_trip);
        let model = equations::throughput(self.window, MTU, rtt);
        self.samples(|run| model.map_or(0.0, |model| run.throughput / model.as_f64()))
    }

    /// The reduction of transferred data over that of another case, for each run.
    fn share_of(&self, other: &Self) -> Vec<Sample> {
        let pairs = self.runs.iter().zip(&other.runs);
        let share = |((seed, run), (_, other)): (&(u64, Reduced), &(u64, Reduced))| Sample {
            seed: *seed,
            value: run.bytes / other.bytes,
        };
        pairs.map(share).collect()
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.connections.to_string(),
            self.losing.to_string(),
            self.window.to_string(),
            text(&self.samples(|run| run.bytes / 1e6), 3),
            text(&self.ratio(), 3),
        ]
    }
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let several =
        CASES.map(|(connections, losing)| Case::of(study, connections, losing, connections * EACH));
    let single = WINDOWS.map(|window| Case::of(study, 1, 1, window));
    let several = several.into_iter().collect::<Result<Vec<_>, _>>()?;
    let single = single.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Findings {
        plots: vec![picture(&single)],
        tables: vec![table("losses", &several), table("windows", &single)],
        measurements: measurements(&several, &single),
        reasons: vec![reason(EQ2, &single), reason(EQ4, &single)],
        caveats: vec![caveat(EQ2), caveat(EQ3), caveat(EQ4)],
        parameters: parameters(),
        notes: vec![
            "A reduction is the difference of the data transferred by a run with losses, at its \
             end, when all windows have grown again, to the same run without. The value of eq. 4 is \
             that of the case furthest from 1 (table `losses`)."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The claims on the reduction.
const EQ2: &str = "multitcp.eq2";
const EQ3: &str = "multitcp.eq3";
const EQ4: &str = "multitcp.eq4";

/// The cost of a loss beyond the equations, which grows with the window, not with its square.
fn reason(claim: &'static str, single: &[Case]) -> ClaimRemark {
    let each = single.iter().map(|case| {
        let window = f64::from(case.window);
        let more = case.samples(|run| {
            let model = equations::reduction_of_several(case.window, MTU, 1, 1);
            (run.bytes - model) / (window * MTU.0 as f64)
        });
        let (ratio, more) = (text(&case.ratio(), 3), text(&more, 2));
        format!("{ratio} and {more} with a window of {}", case.window)
    });
    let each: Vec<String> = each.collect();
    ClaimRemark {
        claim,
        text: format!(
            "Fast recovery, which the equations leave out, costs a losing connection a further \
             number of windows, whatever the window: so its share falls as windows grow. The cost \
             of a loss for one connection over equation 2, and the additional cost in windows: {}.",
            each.join(", ")
        ),
    }
}

fn caveat(claim: &'static str) -> ClaimRemark {
    ClaimRemark {
        claim,
        text: format!(
            "The equations neglect fast recovery, which costs some windows more. The verdict is for \
             connections with {EACH} segments each, where that is small; table `windows` has the \
             range of windows from {} to {} segments.",
            WINDOWS[0],
            WINDOWS[WINDOWS.len() - 1],
        ),
    }
}

fn measurements(several: &[Case], single: &[Case]) -> Vec<Measurement> {
    let of = |claim: &str, quantity: &str, samples: &[Sample]| {
        Measurement::of(claim, quantity, "ratio", "losses", samples)
    };
    let ([alone, two, both, ..], Some(whole)) = (several, one_of(single, 2 * EACH)) else {
        return Vec::new();
    };
    let furthest = furthest(several).map_or(Vec::new(), Case::ratio);
    vec![
        of(
            "multitcp.eq1",
            "throughput over W MTU / RTT",
            &alone.throughput(),
        ),
        of(EQ2, "reduction over W^2 MTU / 8", &alone.ratio()),
        of(
            EQ3,
            "one loss, over that of one connection",
            &two.share_of(whole),
        ),
        of(
            EQ3,
            "two losses, over that of one connection",
            &both.share_of(whole),
        ),
        of(EQ4, "reduction over n W^2 MTU / (8 N^2)", &furthest),
    ]
}

/// A single connection with this window.
fn one_of(single: &[Case], window: u32) -> Option<&Case> {
    single.iter().find(|case| case.window == window)
}

/// The case whose reduction is furthest from equation 4.
fn furthest(cases: &[Case]) -> Option<&Case> {
    let distance = |case: &&Case| {
        let mean = estimate(&case.ratio()).map_or(0.0, |ratio| ratio.mean);
        (mean - 1.0).abs()
    };
    cases
        .iter()
        .max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn table(id: &str, cases: &[Case]) -> FigureTable {
    figure_table(
        id,
        "The cost of losses, and the cost over equation 4",
        &[
            "connections",
            "losing one packet",
            "window, all together",
            "reduction MB",
            "over equation 4",
        ],
        cases.iter().map(Case::row).collect(),
    )
}

fn picture(single: &[Case]) -> Plot {
    let points = single
        .iter()
        .filter_map(|case| point(f64::from(case.window), &case.ratio()));
    let mut x = axis("window", "segments");
    x.is_log = true;
    Plot {
        id: "fig2".to_owned(),
        title: "The cost of a loss for one connection, over equation 2".to_owned(),
        x,
        y: axis("reduction over W^2 MTU / 8", ""),
        series: vec![Series {
            name: "simulated Reno".to_owned(),
            points: points.collect(),
            ..Series::default()
        }],
        ..Plot::default()
    }
}

fn parameters() -> Vec<[String; 2]> {
    [
        ("MTU", format!("{SEGMENT} B; stated (4.1)")),
        ("window", format!("{EACH} segments for each connection; the ledger's note (W >= 128)")),
        ("TCP", "Reno, each connection on its own link with 10 % more than its rate; chosen: only \
                 the window limits it".to_owned()),
        ("round-trip time", "50 ms of propagation; chosen, the ratios do not depend on it".to_owned()),
        ("loss", "one packet of each losing connection, at a moment within a round-trip time that the seed draws".to_owned()),
    ]
    .map(|(name, value)| [name.to_owned(), value])
    .to_vec()
}
