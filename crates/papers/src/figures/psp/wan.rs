//! The live tests over a wide-area network (Figs. 1, 2), on a modelled one.
//!
//! A drop-tail queue alone does not deliver less when more is offered. Here the bottleneck is a
//! node whose processor is interrupted by each arriving packet, even one that it then drops, and
//! forwards packets in the remaining time: the receive livelock of Mogul and Ramakrishnan,
//! "Eliminating Receive Livelock in an Interrupt-Driven Kernel" (1996).

use super::sweep::microseconds;
use polypath_batch::replica_seeds;
use polypath_report::plot::{Plot, Series};

use crate::jobs::psp::wan::{BOTTLENECK, BUFFER, BURST, ON, Wan, WanRates};

pub(super) use crate::jobs::psp::wan::LINE;

use crate::figures::estimates::{point, text};
use crate::figures::pictures::{figure_table, mbits, share, stated};
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};

pub(super) const FIGURE: Figure = Figure {
    id: "psp.fig1_2",
    title: "Throughput and loss over a modelled WAN",
    claims: &["psp.fig1_2.wan", "psp.fig1.shape"],
    make,
};

/// The share of time with a burst, fitted to the loss of 10 % at 200 us.
const BUSY: f64 = 0.36;
/// The processor time of an arrival in microseconds, fitted to the 62 Mb/s at 0 us.
const INTERRUPT: f64 = 1.9;

const SPACINGS: &[u32] = &[
    0, 25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000,
];

/// Runs of one model by spacing and seed.
struct Model {
    seeds: Vec<u64>,
    runs: Vec<Vec<WanRates>>,
}

impl Model {
    fn of(study: &mut Study<'_>, interrupt: f64, busy: f64) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(5, 10));
        let seconds = study.pick(20, 100);
        let points = SPACINGS
            .iter()
            .flat_map(|&spacing| seeds.iter().map(move |&seed| (spacing, seed)));
        let jobs = points.map(|(spacing, seed)| Wan {
            spacing,
            interrupt,
            busy,
            seconds,
            seed,
        });
        let runs = study.request_all(jobs)?;
        let runs = runs.chunks(seeds.len()).map(<[WanRates]>::to_vec).collect();
        Ok(Self { seeds, runs })
    }

    fn samples(&self, position: usize, of: impl Fn(WanRates) -> f64) -> Vec<Sample> {
        let runs = self.seeds.iter().zip(&self.runs[position]);
        let sample = |(&seed, &run): (&u64, &WanRates)| Sample {
            seed,
            value: of(run),
        };
        runs.map(sample).collect()
    }

    fn series(&self, name: &str, of: impl Fn(WanRates) -> f64) -> Series {
        let spacings = SPACINGS.iter().enumerate();
        let points = spacings.filter_map(|(position, &spacing)| {
            point(f64::from(spacing), &self.samples(position, &of))
        });
        Series {
            name: name.to_owned(),
            points: points.collect(),
            ..Series::default()
        }
    }
}

fn delivered(run: WanRates) -> f64 {
    run.delivered
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let asked = [(INTERRUPT, BUSY), (0.0, BUSY), (INTERRUPT, 1e-6)]
        .map(|(interrupt, busy)| Model::of(study, interrupt, busy));
    let [model, without, quiet] = asked;
    let (model, without, quiet) = (model?, without?, quiet?);
    let kinds = [
        ("interrupts and bursts", &model),
        ("no interrupts", &without),
        ("no bursts", &quiet),
    ];
    let rates = [0, 1, 2].map(|index| study.stated("psp.fig1_2.wan", index));
    Ok(Findings {
        plots: vec![throughput(&kinds, rates), losses(&kinds)],
        tables: vec![table(&kinds)],
        measurements: measurements(&model),
        parameters: parameters(),
        caveats: caveats(&kinds),
        notes: NOTES.iter().map(ToString::to_string).collect(),
        ..Findings::default()
    })
}

/// The spacings in microseconds at which the paper states numbers (1.1, 2).
const STATED: [f64; 3] = [0.0, 100.0, 200.0];

/// The losses that the paper states there (1.1), which are not in the ledger.
const LOSSES: [f64; 3] = [0.9, 0.35, 0.1];

fn throughput(kinds: &[(&str, &Model)], rates: [Option<f64>; 3]) -> Plot {
    let series = kinds
        .iter()
        .map(|(name, model)| model.series(name, delivered));
    let points = STATED.iter().zip(rates);
    let points = points.filter_map(|(x, y)| Some((x, y?)));
    Plot {
        id: "fig1".to_owned(),
        title: "Delivered throughput to the receiver".to_owned(),
        x: microseconds(),
        y: mbits("delivered"),
        series: series.collect(),
        stated: points.map(|(&x, y)| stated(kinds[0].0, x, y)).collect(),
        ..Plot::default()
    }
}

fn losses(kinds: &[(&str, &Model)]) -> Plot {
    let series = kinds
        .iter()
        .map(|(name, model)| model.series(name, WanRates::loss));
    let points = STATED.iter().zip(LOSSES);
    Plot {
        id: "fig2".to_owned(),
        title: "Packet loss".to_owned(),
        x: microseconds(),
        y: share("loss"),
        series: series.collect(),
        stated: points.map(|(&x, y)| stated(kinds[0].0, x, y)).collect(),
        ..Plot::default()
    }
}

const NOTES: &[&str] = &[
    "Fitted: the processor time of an arrival at the bottleneck, to 62 Mb/s at 0 us; the share of \
     time with bursts, to the loss of 10 % at 200 us. Predicted: throughput and loss at 100 us, \
     that 50 us delivers more than 0 us, and the spacing at which the loss ends.",
    "Without interrupts the delivered rate does not fall towards 0 us: a FIFO forwards at its rate, \
     however much is offered.",
];

/// The caveat on the fitted values, and the purpose of the model.
fn caveats(kinds: &[(&str, &Model)]) -> Vec<ClaimRemark> {
    let at = |model: &Model, spacing: f64, of: fn(WanRates) -> f64, digits| {
        let position = SPACINGS
            .iter()
            .position(|&at| f64::from(at).total_cmp(&spacing).is_eq());
        position.map_or_else(String::new, |at| text(&model.samples(at, of), digits))
    };
    let losses = STATED.iter().zip(LOSSES).map(|(&spacing, paper)| {
        let ours = at(kinds[0].1, spacing, WanRates::loss, 3);
        format!("{ours} at {spacing} us ({paper} in the paper)")
    });
    let losses: Vec<String> = losses.collect();
    let without = kinds[1].1;
    vec![
        ClaimRemark {
            claim: "psp.fig1_2.wan",
            text: format!(
                "Fitted to the paper: the rate at 0 us, by the time of an interrupt, and the loss \
                 at 200 us, which determines the rate there, by the share of time with bursts. Only \
                 the rate at 100 us is predicted. The losses, which are not judged: {}.",
                losses.join(", "),
            ),
        },
        ClaimRemark {
            claim: "psp.fig1.shape",
            text: format!(
                "The processor with interrupts was chosen so that the rate is less at 0 us than at \
                 its peak; the position of the peak is predicted. Without interrupts {} Mb/s are \
                 delivered at 0 us, {} at 50 us and {} at 100 us.",
                at(without, 0.0, delivered, 1),
                at(without, 50.0, delivered, 1),
                at(without, 100.0, delivered, 1),
            ),
        },
    ]
}

fn measurements(model: &Model) -> Vec<Measurement> {
    let mut all = Vec::new();
    for (spacing, quantity) in [(0, "at 0 us"), (100, "at 100 us"), (200, "at 200 us")] {
        let position = SPACINGS.iter().position(|&known| known == spacing);
        let samples = position.map_or(Vec::new(), |at| model.samples(at, delivered));
        all.push(Measurement::of(
            "psp.fig1_2.wan",
            quantity,
            "Mb/s",
            "wan",
            &samples,
        ));
    }
    for (position, &spacing) in SPACINGS.iter().enumerate() {
        let of = |quantity: &str, unit: &str, samples: &[Sample]| {
            Measurement::of("psp.fig1.shape", quantity, unit, "wan", samples).over(
                "spacing",
                "us",
                f64::from(spacing),
            )
        };
        all.push(of("delivered", "Mb/s", &model.samples(position, delivered)));
        all.push(of(
            "loss",
            "ratio",
            &model.samples(position, WanRates::loss),
        ));
    }
    all
}

fn table(kinds: &[(&str, &Model)]) -> FigureTable {
    let row = |(position, spacing): (usize, &u32)| {
        let mut row = vec![spacing.to_string()];
        row.push(text(&kinds[0].1.samples(position, |run| run.sent), 1));
        for (_, model) in kinds {
            row.push(text(&model.samples(position, delivered), 2));
            row.push(text(&model.samples(position, WanRates::loss), 4));
        }
        row
    };
    let mut columns = vec!["spacing us".to_owned(), "sent Mb/s".to_owned()];
    for (name, _) in kinds {
        columns.push(format!("{name}: delivered Mb/s"));
        columns.push(format!("{name}: loss"));
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows = SPACINGS.iter().enumerate().map(row).collect();
    figure_table(
        "wan",
        "The modelled WAN by the sender's spacing",
        &columns,
        rows,
    )
}

fn parameters() -> Vec<[String; 2]> {
    [
        (
            "packet",
            "1500 B, Ethernet; the sizes implied by 1.1 are in table `implied` of \
                    psp.sensitivity"
                .to_owned(),
        ),
        (
            "sender's line",
            format!("{LINE} Mb/s, OC-12: 62 Mb/s at a loss of 90 %"),
        ),
        (
            "bottleneck",
            format!("{BOTTLENECK} Mb/s, {BUFFER} packets; chosen"),
        ),
        (
            "other traffic",
            format!("bursts at {BURST} Mb/s (DS-3) of {ON} s in the mean; chosen"),
        ),
        (
            "share of time with bursts",
            format!("{BUSY}; fitted to the loss at 200 us"),
        ),
        (
            "interrupt",
            format!("{INTERRUPT} us per arrival; fitted to the rate at 0 us"),
        ),
    ]
    .map(|(name, value)| [name.to_owned(), value])
    .to_vec()
}
