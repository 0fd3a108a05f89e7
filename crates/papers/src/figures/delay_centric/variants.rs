//! Choices that the paper leaves open, and their effect.

use polypath_batch::replica_seeds;
use polypath_claims::{Figure, FigureTable, Findings, Pending, SEED, Study};

use super::sweep::{ALONE, EACH, IN_ALL, LOADED, Load, Sweep, delays, ratio, switches};
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::delay_centric::mechanism::{MECHANISMS, Mechanism, Rule};
use crate::jobs::delay_centric::testbed::{Choices, FirstPaths, Testbed};

pub(super) const FIGURE: Figure = Figure {
    id: "delay_centric.sensitivity",
    title: "What the paper leaves open: queue, start, heartbeats, guard time",
    claims: &[],
    make,
};

/// The utilisations in percent at which variants are compared.
pub(super) const COMPARED: [u32; 2] = [90, 99];

/// A setting that differs from that of the figures in one parameter.
pub(super) struct Variant {
    pub(super) name: &'static str,
    load: Load,
}

/// A variant with its runs, by mechanism.
pub(super) struct Compared {
    name: &'static str,
    sweeps: Vec<Sweep>,
}

const fn with(name: &'static str, choices: Choices) -> Variant {
    Variant {
        name,
        load: Load { choices, ..ALONE },
    }
}

const fn loaded(name: &'static str, choices: Choices) -> Variant {
    Variant {
        name,
        load: Load { choices, ..LOADED },
    }
}

const fn of(name: &'static str, packets: u32) -> Variant {
    Variant {
        name,
        load: Load { packets, ..ALONE },
    }
}

const OURS: Choices = Choices::OURS;

/// The name of the variant with the threshold of the paper's text (II.C).
pub(super) const THRESHOLD: &str = "threshold 150 ms";

/// The variants; the first is that of the figures.
#[rustfmt::skip]
const VARIANTS: &[Variant] = &[
    of("as in the figures", EACH),
    of("3000 packets in all", IN_ALL),
    with("queue of 50 packets", Choices { queue: 50, ..OURS }),
    with("queue of 50 packets, heartbeats of 40 B", Choices { queue: 50, heartbeat: 40, ..OURS }),
    with("all begin on one path", Choices { first: FirstPaths::Listed, ..OURS }),
    with("guard time .1 to .4 s", Choices { guard: [100, 400], ..OURS }),
    with("heartbeats of 40 B", Choices { heartbeat: 40, ..OURS }),
    with("heartbeats that wait for their answer", Choices { waits: true, ..OURS }),
    with("heartbeats of 40 B that wait for their answer", Choices { waits: true, heartbeat: 40, ..OURS }),
    with("hysteresis 50 ms", Choices { hysteresis: 50, ..OURS }),
    with(THRESHOLD, Choices { threshold: 150, ..OURS }),
    with("intervals within 50 %", Choices { jitter: 50, ..OURS }),
    with("guard time after a switch", Choices { holds: true, ..OURS }),
    with("guard time after a switch, heartbeats of 40 B", Choices { holds: true, heartbeat: 40, ..OURS }),
    with("guard time after a switch, heartbeats every 1 s in it", Choices { holds: true, fast: 1000, ..OURS }),
    with("three and three at first, intervals within 80 %", EVEN),
    with("three and three at first, intervals within 80 %, heartbeats of 40 B", Choices { heartbeat: 40, ..EVEN }),
];

/// Settings in which no run starts unstable, and random variation causes short queues.
const EVEN: Choices = Choices {
    first: FirstPaths::Even,
    jitter: 80,
    ..OURS
};

/// The variants with background: the cost of heartbeats in guard time.
#[rustfmt::skip]
const VARIANTS_WITH_BACKGROUND: &[Variant] = &[
    loaded("as in the figures", OURS),
    loaded("heartbeats of 40 B", Choices { heartbeat: 40, ..OURS }),
    loaded("heartbeats that wait for their answer", Choices { waits: true, ..OURS }),
    loaded("heartbeats every 1 s in guard time", Choices { fast: 1000, ..OURS }),
];

/// Requests the runs of all variants without background.
///
/// # Errors
/// If results are missing.
pub(super) fn compared(study: &mut Study<'_>) -> Result<Vec<Compared>, Pending> {
    runs_of(study, VARIANTS)
}

/// Requests the runs of the variants with background.
///
/// # Errors
/// If results are missing.
pub(super) fn compared_with_background(study: &mut Study<'_>) -> Result<Vec<Compared>, Pending> {
    runs_of(study, VARIANTS_WITH_BACKGROUND)
}

fn runs_of(study: &mut Study<'_>, variants: &[Variant]) -> Result<Vec<Compared>, Pending> {
    let seeds = replica_seeds(SEED, study.pick(16, 100));
    let mut asked = Vec::new();
    for variant in variants {
        let sweeps = MECHANISMS
            .map(|mechanism| Sweep::over(study, &COMPARED, &seeds, mechanism, variant.load));
        asked.push((variant.name, sweeps));
    }
    let done = asked.into_iter().map(|(name, sweeps)| {
        let sweeps = sweeps.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Compared { name, sweeps })
    });
    done.collect()
}

impl Compared {
    fn of(&self, mechanism: Mechanism) -> Option<&Sweep> {
        let mut sweeps = self.sweeps.iter();
        sweeps.find(|sweep| sweep.mechanism == mechanism)
    }

    fn mean(&self, mechanism: Mechanism, utilisation: u32) -> Option<f64> {
        let runs = delays(self.of(mechanism)?.at(utilisation));
        estimate(&runs).map(|found| found.mean)
    }

    /// Whether the second of two mechanisms has the lower mean.
    fn is_second_lower(&self, pair: [Mechanism; 2], utilisation: u32) -> bool {
        let [first, second] = pair.map(|mechanism| self.mean(mechanism, utilisation));
        second < first
    }

    fn cell(&self, mechanism: Mechanism, utilisation: u32) -> String {
        let sweep = self.of(mechanism);
        sweep.map_or_else(String::new, |sweep| text(&delays(sweep.at(utilisation)), 0))
    }

    fn switches(&self, mechanism: Mechanism, utilisation: u32) -> String {
        let sweep = self.of(mechanism);
        sweep.map_or_else(String::new, |sweep| {
            text(&switches(sweep.at(utilisation)), 1)
        })
    }
}

/// The switches of a run of a mechanism in a variant, as text.
pub(super) fn switches_in_variant(all: &[Compared], name: &str, mechanism: Mechanism) -> String {
    let compared = find(all, name);
    let at = |at| format!("{} at {}", compared.switches(mechanism, at), ratio(at));
    COMPARED.map(at).join(", ")
}

fn find<'a>(all: &'a [Compared], name: &str) -> &'a Compared {
    let found = all.iter().find(|compared| compared.name == name);
    found.expect("the variant is one of the list")
}

/// The mean delays of two mechanisms in the variants that affect them, as text.
pub(super) fn mean_delays(all: &[Compared], pair: [Mechanism; 2], utilisation: u32) -> String {
    list(relevant(all, pair), pair, utilisation)
}

/// Like that, in the first variant and those in which the second mechanism has the lower mean.
pub(super) fn lower_delays(all: &[Compared], pair: [Mechanism; 2], utilisation: u32) -> String {
    let is_listed = |(number, compared): &(usize, &Compared)| {
        *number == 0 || compared.is_second_lower(pair, utilisation)
    };
    let listed = relevant(all, pair).enumerate().filter(is_listed);
    list(listed.map(|(_, compared)| compared), pair, utilisation)
}

fn list<'a>(
    all: impl Iterator<Item = &'a Compared>,
    pair: [Mechanism; 2],
    utilisation: u32,
) -> String {
    let each = all.map(|compared| {
        let [a, b] = pair.map(|mechanism| compared.cell(mechanism, utilisation));
        format!("{}: {a}, {b}", compared.name)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The mean delays of two mechanisms in the variant of this name, at each utilisation, as text.
pub(super) fn in_variant(all: &[Compared], name: &str, pair: [Mechanism; 2]) -> String {
    let compared = find(all, name);
    let at = |at| {
        let [a, b] = pair.map(|mechanism| compared.cell(mechanism, at));
        format!("{a} and {b} at {}", ratio(at))
    };
    COMPARED.map(at).join(", ")
}

/// The number of variants and utilisations in which the second of two mechanisms has the lower
/// mean, and the total.
pub(super) fn lower(all: &[Compared], pair: [Mechanism; 2]) -> (usize, usize) {
    let each = || relevant(all, pair).flat_map(|compared| COMPARED.map(|at| (compared, at)));
    let is_lower = |(compared, at): &(&Compared, u32)| compared.is_second_lower(pair, *at);
    (each().filter(is_lower).count(), each().count())
}

/// The minimum and maximum ratio of the second's mean to that of the first over all variants, as
/// text.
pub(super) fn extremes(all: &[Compared], pair: [Mechanism; 2]) -> Option<String> {
    let mut ratios = Vec::new();
    for compared in relevant(all, pair) {
        for at in COMPARED {
            let [first, second] = pair.map(|mechanism| compared.mean(mechanism, at));
            if let (Some(first), Some(second)) = (first, second) {
                ratios.push((second / first, compared.name, at));
            }
        }
    }
    let by_ratio = |a: &&(f64, _, _), b: &&(f64, _, _)| a.0.total_cmp(&b.0);
    let (least, most) = (
        ratios.iter().min_by(by_ratio)?,
        ratios.iter().max_by(by_ratio)?,
    );
    let [least, most] =
        [least, most].map(|(value, name, at)| format!("{value:.2} ({name}, at {})", ratio(*at)));
    Some(format!("{least} to {most}"))
}

/// The variants that affect one of the two mechanisms: without a guard time, or with the predictive
/// rule, some repeat the same runs.
fn relevant(all: &[Compared], pair: [Mechanism; 2]) -> impl Iterator<Item = &Compared> {
    let has_guard = pair.iter().any(|mechanism| mechanism.guard);
    let has_hysteresis = pair.iter().any(|of| of.rule == Rule::Reactive);
    let has_threshold = pair.iter().any(|of| of.rule != Rule::Reactive);
    all.iter().filter(move |compared| {
        let is_of = |what: &str| compared.name.contains(what);
        (has_guard || !is_of("guard time"))
            && (has_hysteresis || !is_of("hysteresis"))
            && (has_threshold || !is_of("threshold"))
    })
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let (all, loaded) = (compared(study), compared_with_background(study));
    let (all, loaded) = (all?, loaded?);
    let alone = COMPARED.map(|at| table("mean-delays", "", &all, at));
    let loaded = COMPARED.map(|at| table("beside", " with 40 % of background", &loaded, at));
    let switches = COMPARED.map(|at| switch_table(&all, at));
    Ok(Findings {
        tables: alone.into_iter().chain(loaded).chain(switches).collect(),
        notes: NOTES.iter().map(ToString::to_string).collect(),
        parameters: Testbed::parameters(ALONE),
        ..Findings::default()
    })
}

const NOTES: &[&str] = &[
    "A guard time after a switch permits the first switch immediately and delays the next one; during \
     it, all paths without data have fast heartbeats. In the paper's text it precedes the switch \
     (II.B).",
    "Each row differs from the first only in the named parameter, and has the same seeds. Delays \
     are means over runs, with 95 % intervals.",
    "A queue of 1000 packets holds 2 s of data; it loses packets only if a path is offered twice \
     its rate for that long.",
];

fn switch_table(all: &[Compared], utilisation: u32) -> FigureTable {
    let row = |compared: &Compared| {
        let cells = MECHANISMS.map(|mechanism| compared.switches(mechanism, utilisation));
        let name = compared.name.to_owned();
        std::iter::once(name).chain(cells).collect()
    };
    let heads = MECHANISMS.map(Mechanism::title).into_iter();
    let heads: Vec<&str> = std::iter::once("setting").chain(heads).collect();
    figure_table(
        &format!("switches-{utilisation}"),
        &format!(
            "Switches of all sources in a run at a utilisation of {}",
            ratio(utilisation)
        ),
        &heads,
        all.iter().map(row).collect(),
    )
}

fn table(id: &str, background: &str, all: &[Compared], utilisation: u32) -> FigureTable {
    let row = |compared: &Compared| {
        let cells = MECHANISMS.map(|mechanism| compared.cell(mechanism, utilisation));
        let name = compared.name.to_owned();
        std::iter::once(name).chain(cells).collect()
    };
    let heads = MECHANISMS.map(|mechanism| format!("{} ms", mechanism.title()));
    let heads = std::iter::once("setting").chain(heads.iter().map(String::as_str));
    figure_table(
        &format!("{id}-{utilisation}"),
        &format!(
            "Mean delay at a utilisation of {}{background}",
            ratio(utilisation)
        ),
        &heads.collect::<Vec<&str>>(),
        all.iter().map(row).collect(),
    )
}
