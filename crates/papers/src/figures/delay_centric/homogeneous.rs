//! The mechanisms without background (Figs. 2 to 5).

mod reasons;
pub(super) mod tables;

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Study};
use polypath_report::plot::Plot;

use super::lab;
use super::modes::{Threshold, WHAT};
use super::pictures::{mean_of, milliseconds, modes_of, utilisation};
use super::sweep::{
    ALONE, CRITICAL, IN_ALL, Load, Quantity, Sweep, delays, of, only, ratio, share, switches,
};
use super::variants::compared;
use crate::jobs::delay_centric::mechanism::{
    GUARD, MECHANISMS, Mechanism, PREDICTIVE, PREDICTIVE_GUARD, PURE,
};
use crate::jobs::delay_centric::runs::Run;
use crate::jobs::delay_centric::testbed::{SOURCES, Testbed};

pub(super) const PURE_FIGURE: Figure = Figure {
    id: "delay_centric.fig2",
    title: "Pure delay-centric: mean delay and its two modes",
    claims: &["delay_centric.fig2.unstable", EVEN],
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
    claims: &["delay_centric.fig4.predictive", LESS],
    make: |study| make(study, PREDICTIVE),
};
pub(super) const PREDICTIVE_GUARD_FIGURE: Figure = Figure {
    id: "delay_centric.fig5",
    title: "Predictive with guard time and fast heartbeats",
    claims: &["delay_centric.fig5.predictive_guard", VOIP],
    make: |study| make(study, PREDICTIVE_GUARD),
};

/// The claims of the text that these figures answer, too.
const EVEN: &str = "delay_centric.even_below_75";
const LESS: &str = "delay_centric.predictive_switches_less";
const VOIP: &str = "delay_centric.voip";

/// The minimum number of runs for a statement on a mode.
const MIN_RUNS: usize = 5;

/// The sweeps of the mechanisms (i) to (iv), in both interpretations of 3000 packets.
struct Sweeps {
    each: Vec<Sweep>,
    in_all: Vec<Sweep>,
    threshold: Threshold,
    /// Those of [`Sweeps::each`] in the lab, with their own threshold.
    lab: Option<(Vec<Sweep>, Threshold)>,
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
        let lab = lab::sweeps(study, &MECHANISMS, ALONE);
        Ok(Self {
            each: each.into_iter().collect::<Result<_, _>>()?,
            in_all: in_all.into_iter().collect::<Result<_, _>>()?,
            threshold: threshold?,
            lab: lab?.map(|sweeps| {
                let threshold = Threshold::between(&sweeps);
                (sweeps, threshold)
            }),
        })
    }

    fn each(&self, mechanism: Mechanism) -> &Sweep {
        of(&self.each, mechanism)
    }

    fn in_all(&self, mechanism: Mechanism) -> &Sweep {
        of(&self.in_all, mechanism)
    }
}

fn make(study: &mut Study<'_>, mechanism: Mechanism) -> Result<Findings, Pending> {
    let (sweeps, variants) = (Sweeps::of(study), compared(study));
    let (sweeps, variants) = (sweeps?, variants?);
    let sweep = sweeps.each(mechanism);
    let claim = claim(mechanism);
    let as_reason = |text| vec![ClaimRemark { claim, text }];
    let mut all_tables = vec![
        tables::shares(sweep, sweeps.threshold),
        tables::starts(sweep, sweeps.threshold),
    ];
    let lab = sweeps.lab.as_ref();
    all_tables.extend(lab.map(|(lab, threshold)| {
        let simulated = lab::Simulated {
            sweeps: &sweeps.each,
            threshold: sweeps.threshold,
        };
        lab::table(&[of(lab, mechanism)], *threshold, simulated)
    }));
    Ok(Findings {
        plots: plots(&sweeps, mechanism),
        tables: all_tables,
        measurements: measurements(&sweeps.each, sweeps.threshold, mechanism),
        in_lab: lab.map_or_else(Vec::new, |(lab, threshold)| {
            measurements(lab, *threshold, mechanism)
        }),
        reasons: [
            as_reason(reasons::reason(&sweeps, &variants, mechanism)),
            reasons::of_text(&sweeps, &variants, mechanism),
        ]
        .concat(),
        caveats: as_reason(reasons::caveat(&sweeps, &variants, mechanism)),
        parameters: Testbed::parameters(ALONE),
        notes: vec![format!("{WHAT} It is {}.", sweeps.threshold.text())],
        ..Findings::default()
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
    let mut of_each = picture(sweeps.each(mechanism), "", "a source");
    let in_lab = sweeps.lab.iter();
    let in_lab = in_lab.map(|(lab, _)| mean_of(of(lab, mechanism), "overall mean in the lab"));
    of_each.series.extend(in_lab);
    vec![
        of_each,
        picture(sweeps.in_all(mechanism), "-in-all", "in all"),
    ]
}

fn measurements(sweeps: &[Sweep], threshold: Threshold, mechanism: Mechanism) -> Vec<Measurement> {
    let claim = claim(mechanism);
    let sweep = of(sweeps, mechanism);
    let curve = |mechanism: Mechanism, claim: &str, from: u32| {
        let name = format!("delay.{}", mechanism.name());
        of(sweeps, mechanism).curve(Quantity::delay(claim, &name), from.., delays)
    };
    let delay = |mechanism: Mechanism, from: u32| curve(mechanism, claim, from);
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
            let curve = sweep.curve(Quantity::delay(claim, "delay"), .., delays);
            let uneven = count(EVEN, "uneven_share.pure");
            let uneven = sweep.curve(uneven, ..CRITICAL, |runs| share(runs, is_uneven));
            [vec![at(66), at(90)], curve, uneven].concat()
        }
        GUARD => [delay(GUARD, 0), delay(PURE, 0)].concat(),
        PREDICTIVE => {
            let delays = [PREDICTIVE, PURE].map(|of| delay(of, CRITICAL));
            let modes = upper_modes(sweeps, threshold, [PREDICTIVE, PURE]);
            let less = [PREDICTIVE, PURE].map(|mechanism| {
                let name = format!("switches.{}", mechanism.name());
                of(sweeps, mechanism).curve(count(LESS, &name), CRITICAL.., switches)
            });
            [delays.concat(), modes, less.concat()].concat()
        }
        _ => {
            let is_upper = |run: &_| threshold.is_upper(run);
            let unstable = count(claim, "unstable_share.predictive_guard");
            let shares = sweep.curve(unstable, .., |runs| share(runs, is_upper));
            let delays = [PREDICTIVE_GUARD, PREDICTIVE].map(|of| delay(of, CRITICAL));
            [shares, delays.concat(), curve(PREDICTIVE_GUARD, VOIP, 0)].concat()
        }
    }
}

/// A quantity without a unit.
const fn count<'a>(claim: &'a str, name: &'a str) -> Quantity<'a> {
    let unit = "";
    Quantity { claim, name, unit }
}

/// Whether a path has more than half of the sources and one at the end.
fn is_uneven(run: &Run) -> bool {
    run.ended_left.max(SOURCES - run.ended_left) > SOURCES / 2 + 1
}

/// The means of the runs in the upper mode of two mechanisms, if each has enough of them; each
/// mean is its own group, since the runs differ.
fn upper_modes(sweeps: &[Sweep], threshold: Threshold, pair: [Mechanism; 2]) -> Vec<Measurement> {
    let mut all = Vec::new();
    let utilisations = of(sweeps, pair[0]).utilisations.iter();
    for &at in utilisations.filter(|at| **at > CRITICAL) {
        let upper = pair.map(|mechanism| {
            let runs = of(sweeps, mechanism).at(at);
            delays(&only(runs, |run| threshold.is_upper(run)))
        });
        if upper.iter().any(|samples| samples.len() < MIN_RUNS) {
            continue;
        }
        for (mechanism, samples) in pair.iter().zip(upper) {
            let name = format!("upper_mode.{}", mechanism.name());
            let group = format!("{} at {}, upper mode", mechanism.name(), ratio(at));
            let claim = PREDICTIVE_FIGURE.claims[0];
            let measured = Measurement::of(claim, &name, "ms", &group, &samples);
            all.push(measured.over("rho", "", ratio(at)));
        }
    }
    all
}
