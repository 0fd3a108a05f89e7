//! The mechanisms without background (Figs. 2 to 5).

mod reasons;
pub(super) mod tables;

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Study};
use polypath_report::plot::Plot;

use super::modes::{Threshold, WHAT};
use super::pictures::{milliseconds, modes_of, utilisation};
use super::sweep::{ALONE, CRITICAL, IN_ALL, Load, Quantity, Sweep, delays, only, ratio, share};
use super::variants::compared;
use crate::jobs::delay_centric::mechanism::{
    GUARD, MECHANISMS, Mechanism, PREDICTIVE, PREDICTIVE_GUARD, PURE,
};
use crate::jobs::delay_centric::testbed::Testbed;

pub(super) const PURE_FIGURE: Figure = Figure {
    id: "delay_centric.fig2",
    title: "Pure delay-centric: mean delay and its two modes",
    claims: &["delay_centric.fig2.unstable"],
    make: |study| make(study, PURE),
};
pub(super) const GUARD_FIGURE: Figure = Figure {
    id: "delay_centric.fig3",
    title: "Guard time with fast heartbeats",
    claims: &["delay_centric.fig3.guard_time"],
    make: |study| make(study, GUARD),
};
pub(super) const PREDICTIVE_FIGURE: Figure = Figure {
    id: "delay_centric.fig4",
    title: "Predictive delay-centric",
    claims: &["delay_centric.fig4.predictive"],
    make: |study| make(study, PREDICTIVE),
};
pub(super) const PREDICTIVE_GUARD_FIGURE: Figure = Figure {
    id: "delay_centric.fig5",
    title: "Predictive with guard time and fast heartbeats",
    claims: &["delay_centric.fig5.predictive_guard"],
    make: |study| make(study, PREDICTIVE_GUARD),
};

/// The minimum number of runs for a statement on a mode.
const MIN_RUNS: usize = 5;

/// The sweeps of the mechanisms (i) to (iv), in both interpretations of 3000 packets.
struct Sweeps {
    each: Vec<Sweep>,
    in_all: Vec<Sweep>,
    threshold: Threshold,
}

impl Sweeps {
    fn of(study: &mut Study<'_>) -> Result<Self, Pending> {
        let in_all = Load {
            packets: IN_ALL,
            ..ALONE
        };
        let [each, in_all] =
            [ALONE, in_all].map(|load| MECHANISMS.map(|m| Sweep::of(study, m, load)));
        let threshold = Threshold::of(study);
        Ok(Self {
            each: each.into_iter().collect::<Result<_, _>>()?,
            in_all: in_all.into_iter().collect::<Result<_, _>>()?,
            threshold: threshold?,
        })
    }

    fn each(&self, mechanism: Mechanism) -> &Sweep {
        position(&self.each, mechanism)
    }

    fn in_all(&self, mechanism: Mechanism) -> &Sweep {
        position(&self.in_all, mechanism)
    }
}

fn position(sweeps: &[Sweep], mechanism: Mechanism) -> &Sweep {
    let found = sweeps.iter().find(|sweep| sweep.mechanism == mechanism);
    found.expect("all mechanisms are run")
}

fn make(study: &mut Study<'_>, mechanism: Mechanism) -> Result<Findings, Pending> {
    let (sweeps, variants) = (Sweeps::of(study), compared(study));
    let (sweeps, variants) = (sweeps?, variants?);
    let sweep = sweeps.each(mechanism);
    let claim = claim(mechanism);
    let as_reason = |text| vec![ClaimRemark { claim, text }];
    Ok(Findings {
        plots: plots(&sweeps, mechanism),
        tables: vec![
            tables::shares(sweep, sweeps.threshold),
            tables::starts(sweep, sweeps.threshold),
        ],
        measurements: measurements(&sweeps, mechanism),
        reasons: as_reason(reasons::reason(&sweeps, &variants, mechanism)),
        caveats: as_reason(reasons::caveat(&sweeps, &variants, mechanism)),
        parameters: Testbed::parameters(ALONE),
        notes: vec![format!("{WHAT} It is {}.", sweeps.threshold.text())],
    })
}

fn claim(mechanism: Mechanism) -> &'static str {
    match mechanism {
        PURE => PURE_FIGURE.claims[0],
        GUARD => GUARD_FIGURE.claims[0],
        PREDICTIVE => PREDICTIVE_FIGURE.claims[0],
        _ => PREDICTIVE_GUARD_FIGURE.claims[0],
    }
}

fn plots(sweeps: &Sweeps, mechanism: Mechanism) -> Vec<Plot> {
    let picture = |sweep: &Sweep, id: &str, packets: &str| Plot {
        id: format!("{}{id}", mechanism.name().replace('_', "-")),
        title: format!("Mean delay, {}, 3000 packets {packets}", mechanism.title()),
        x: utilisation(),
        y: milliseconds(),
        series: modes_of(sweep, sweeps.threshold, MIN_RUNS),
        ..Plot::default()
    };
    vec![
        picture(sweeps.each(mechanism), "", "a source"),
        picture(sweeps.in_all(mechanism), "-in-all", "in all"),
    ]
}

fn measurements(sweeps: &Sweeps, mechanism: Mechanism) -> Vec<Measurement> {
    let claim = claim(mechanism);
    let sweep = sweeps.each(mechanism);
    let delay = |of: Mechanism, from: u32| {
        let name = format!("delay.{}", of.name());
        sweeps
            .each(of)
            .curve(Quantity::delay(claim, &name), from, delays)
    };
    match mechanism {
        PURE => {
            let at = |utilisation: u32| {
                let runs = delays(sweep.at(utilisation));
                Measurement::of(
                    claim,
                    &format!("delay.rho{utilisation}"),
                    "ms",
                    "runs",
                    &runs,
                )
            };
            let curve = sweep.curve(Quantity::delay(claim, "delay"), 0, delays);
            [vec![at(66), at(90)], curve].concat()
        }
        GUARD => [delay(GUARD, 0), delay(PURE, 0)].concat(),
        PREDICTIVE => {
            let delays = [PREDICTIVE, PURE].map(|of| delay(of, CRITICAL));
            [delays.concat(), upper_modes(sweeps, [PREDICTIVE, PURE])].concat()
        }
        _ => {
            let is_upper = |run: &_| sweeps.threshold.is_upper(run);
            let quantity = Quantity {
                claim,
                name: "unstable_share.predictive_guard",
                unit: "",
            };
            let shares = sweep.curve(quantity, 0, |runs| share(runs, is_upper));
            let delays = [PREDICTIVE_GUARD, PREDICTIVE].map(|of| delay(of, CRITICAL));
            [shares, delays.concat()].concat()
        }
    }
}

/// The means of the runs in the upper mode of two mechanisms, if each has enough of them; each
/// mean is its own group, since the runs differ.
fn upper_modes(sweeps: &Sweeps, pair: [Mechanism; 2]) -> Vec<Measurement> {
    let mut all = Vec::new();
    for &at in sweeps
        .each(pair[0])
        .utilisations
        .iter()
        .filter(|at| **at > CRITICAL)
    {
        let upper = pair.map(|of| {
            let runs = sweeps.each(of).at(at);
            delays(&only(runs, |run| sweeps.threshold.is_upper(run)))
        });
        if upper.iter().any(|samples| samples.len() < MIN_RUNS) {
            continue;
        }
        for (of, samples) in pair.iter().zip(upper) {
            let name = format!("upper_mode.{}", of.name());
            let group = format!("{} at {}, upper mode", of.name(), ratio(at));
            let claim = PREDICTIVE_FIGURE.claims[0];
            let measured = Measurement::of(claim, &name, "ms", &group, &samples);
            all.push(measured.over("rho", "", ratio(at)));
        }
    }
    all
}
