//! A varying number of connections (Figs. 7, 8).

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::Plot;

use super::super::runs::{GROUP, Runs, Scheme, kbits};
use super::fixed::SIX;
use super::{Experiment, STEP, beside, caveat, in_others, rates, settings, sums_of};
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, seconds};
use crate::jobs::multitcp::parameters::{adjust, chosen, table_3, varied};

pub(in crate::figures::multitcp) const FIG_7: Figure = Figure {
    id: "multitcp.fig7",
    title: "A varying number of connections with a target of 800 kb/s over a modelled access link",
    claims: &[VARIED],
    make: fig7,
};
pub(in crate::figures::multitcp) const FIG_8: Figure = Figure {
    id: "multitcp.fig8",
    title: "A varying number of connections of at most 480 kb/s each with a target of 1.6 Mb/s",
    claims: &[LIMITED],
    make: fig8,
};

const VARIED: &str = "multitcp.fig7.varied_800k";
const LIMITED: &str = "multitcp.fig8.varied_1600k";

/// The round-trip time in ms: not stated, and of no consequence for one to four connections.
const RTT: u32 = 70;
/// The access link in kb/s: fifteen transfers leave a sixteenth of it, 720 kb/s.
const SEVEN: Experiment = Experiment {
    target: 800,
    access: 11_520,
    transfers: [6, 9],
    rtt: RTT,
    ..SIX
};
/// The access link in kb/s: eight transfers leave a ninth of it, 400 kb/s.
const EIGHT: Experiment = Experiment {
    target: 1600,
    access: 3600,
    limit: Some(480),
    transfers: [4, 4],
    periods: [(301, 601), (601, 1000)],
    rtt: RTT,
    ..SIX
};

/// One connection under Algorithm 1, and a varying number, also with other alpha and f.
fn varied_schemes(experiment: Experiment) -> [Scheme; 5] {
    let varied = |control| experiment.stream(varied(control));
    [
        ("c1", experiment.stream(adjust(1, chosen()))),
        (CHOSEN, varied(chosen())),
        ("smooth0", varied(table_3(0.0, chosen().spike))),
        ("f10", varied(table_3(0.9, 10.0))),
        ("smooth0.f10", varied(table_3(0.0, 10.0))),
    ]
}

const NAMES: [(&str, &str); 5] = [
    ("c1", "1 connection"),
    (CHOSEN, "varied"),
    ("smooth0", "varied, alpha 0"),
    ("f10", "varied, f 10"),
    ("smooth0.f10", "varied, alpha 0, f 10"),
];
/// The name of [`chosen`].
const CHOSEN: &str = "varied";

fn fig7(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let measurements = |runs: &Runs| {
        let mut all = both(VARIED, SEVEN, runs);
        all.extend(curves(runs));
        all
    };
    varied_findings(study, SEVEN, VARIED, "fig7", measurements)
}

fn fig8(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let measurements = |runs: &Runs| both(LIMITED, EIGHT, runs);
    varied_findings(study, EIGHT, LIMITED, "fig8", measurements)
}

fn both(claim: &str, experiment: Experiment, runs: &Runs) -> Vec<Measurement> {
    let congested = experiment.congested();
    vec![
        kbits(
            claim,
            "throughput.varied",
            &runs.throughput(CHOSEN, congested),
        ),
        kbits(claim, "throughput.c1", &runs.throughput("c1", congested)),
    ]
}

/// Connections and windows over time.
fn curves(runs: &Runs) -> Vec<Measurement> {
    let mut all = Vec::new();
    for from in (0..1000).step_by(STEP) {
        let at = from as f64 + STEP as f64 / 2.0;
        let period = (from, from + STEP);
        let mean = |samples: &[Sample], quantity: &str, unit: &str| {
            Measurement::of(VARIED, quantity, unit, GROUP, samples).over("time", "s", at)
        };
        let numbers = runs.connections(CHOSEN, period);
        all.push(mean(&numbers, "connections", "connections"));
        all.push(mean(&runs.windows(CHOSEN, period), "windows", "segments"));
    }
    all
}

fn varied_findings(
    study: &mut Study<'_>,
    experiment: Experiment,
    claim: &'static str,
    id: &str,
    measurements: impl Fn(&Runs) -> Vec<Measurement>,
) -> Result<Findings, Pending> {
    let schemes = varied_schemes(experiment);
    let lab = experiment.in_lab(study, &schemes[..2]);
    let others = in_others(study, experiment, &schemes)?;
    let (runs, lab) = (&others[0].1, lab?);
    let drawn = [NAMES[0], NAMES[1], NAMES[3]];
    let periods = experiment.periods;
    let mut tables = vec![settings(&others, &NAMES, periods)];
    tables.extend(
        lab.as_ref()
            .map(|lab| beside(lab, runs, &NAMES[..2], periods)),
    );
    Ok(Findings {
        plots: vec![
            rates(&format!("{id}a"), runs, &drawn),
            sums_of(&format!("{id}b"), runs, &drawn),
            numbers(&format!("{id}c"), runs),
        ],
        tables,
        measurements: measurements(runs),
        in_lab: lab.as_ref().map_or_else(Vec::new, &measurements),
        reasons: vec![ClaimRemark {
            claim,
            text: reason(experiment, runs),
        }],
        caveats: vec![caveat(
            claim,
            " Table III has a range of alpha, 0 to .9: the verdict is for .9, as in Tables I and \
             II. It lacks f: the verdict is for 4, cf less 1, since with more Algorithm 2 stops \
             connections whenever the target is missed for long; table `settings` has 0 and 10.",
        )],
        parameters: experiment.parameters(
            "Algorithm 3, which starts with one connection (chosen); delta 6 RTT, alpha .9 of the \
             range 0 to .9, lambda 3000 B/s, beta 1, cf 5: stated (Table III), which lacks f: cf - \
             1",
        ),
        ..Findings::default()
    })
}

fn reason(experiment: Experiment, runs: &Runs) -> String {
    let congested = experiment.congested();
    let throughputs = NAMES.map(|(scheme, name)| {
        format!(
            "{name}: {} kb/s",
            text(&runs.throughput(scheme, congested), 0)
        )
    });
    let rates = experiment
        .periods
        .map(|period| text(&runs.throughput(CHOSEN, period), 0));
    let counts = experiment
        .periods
        .map(|period| text(&runs.connections(CHOSEN, period), 1));
    let transfers: u32 = experiment.transfers.iter().sum();
    format!(
        "From {} s on {}. The varying number has {} kb/s with the first transfers and {} with all, \
         with {} and {} connections; four equal shares of the link with all transfers are {} kb/s. \
         The ratio of Algorithm 2 must rise by more than beta for each further connection and stays \
         below cf, so there are at most four. If it reaches cf (f 10), all connections but one are \
         stopped; since the sum of windows does not fall while the target is missed, none is \
         started again.",
        congested.0,
        throughputs.join(", "),
        rates[0],
        rates[1],
        counts[0],
        counts[1],
        experiment.access * 4 / (4 + transfers),
    )
}

fn numbers(id: &str, runs: &Runs) -> Plot {
    let series = [NAMES[1], NAMES[3]];
    let series =
        series.map(|(scheme, name)| runs.series(scheme, name, STEP, |run| &run.connections));
    Plot {
        id: id.to_owned(),
        title: "Connections, means over 10 s".to_owned(),
        x: seconds(),
        y: axis("connections", ""),
        series: series.to_vec(),
        ..Plot::default()
    }
}
