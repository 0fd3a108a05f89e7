//! Why claims on the mechanisms without background differ, and what qualifies their verdicts.

use super::super::bed::SOURCES;
use super::super::mechanism::{GUARD, Mechanism, PREDICTIVE, PREDICTIVE_GUARD, PURE};
use super::super::runs::Run;
use super::super::sweep::{delays, only, ratio, share};
use super::super::variants::{COMPARED, Compared, extremes, lower, told};
use super::Sweeps;
use crate::estimates::text;

/// What qualifies every verdict: the reading that is judged, and what the other gives.
pub(super) fn caveat(sweeps: &Sweeps, mechanism: Mechanism) -> String {
    let other = if mechanism == PURE { PREDICTIVE } else { PURE };
    let at = |of: Mechanism| {
        let runs = sweeps.in_all(of);
        let each = COMPARED.map(|at| format!("{} at {}", text(&delays(runs.at(at)), 0), ratio(at)));
        format!("{}: {} ms", of.title(), each.join(", "))
    };
    format!(
        "Judged is the reading that each source sends 3000 packets, for some 18 s. With 3000 in all, a run lasts 3 s and less \
         than many guard times, and mean delays are {}; {}. Each source begins on a path of its own choice, at random: the \
         paper's lower mode of almost 0 ms needs runs that begin evenly. The upper mode begins at {}.",
        at(mechanism),
        at(other),
        sweeps.threshold.text()
    )
}

/// Why a claim differs, with the settings that were tried.
pub(super) fn reason(sweeps: &Sweeps, variants: &[Compared], mechanism: Mechanism) -> String {
    match mechanism {
        GUARD => format!(
            "{} {}",
            guard_time(variants, [PURE, GUARD]),
            settings(variants, [PURE, GUARD])
        ),
        PREDICTIVE_GUARD => {
            let pair = [PREDICTIVE, PREDICTIVE_GUARD];
            let guard = guard_time(variants, pair);
            format!("{guard} {} {}", by_start(sweeps), settings(variants, pair))
        }
        _ => format!(
            "Just above .75 means come from a few unstable runs, and few seeds prove little (sheets `modes` and `starts`). {}",
            settings(variants, [PURE, PREDICTIVE])
        ),
    }
}

fn guard_time(variants: &[Compared], pair: [Mechanism; 2]) -> String {
    let (lower, all) = lower(variants, pair);
    let extremes = extremes(variants, pair).unwrap_or_default();
    format!(
        "While a guard time lasts nobody leaves a path that is overloaded: with four of six sources its queue grows by a third of \
         a second in each second at .99, for 1 to 4 s, and at its end three and three do not empty it, so that the others leave, \
         too. The heartbeats of a source in guard time are .1 Mb/s more on the other path. The mean is lower with a guard time \
         than without in {lower} of {all} settings and utilisations that were tried; the ratio of both is {extremes}. Two things lower it \
         that the paper's text does not have: a guard time that follows a switch, so that the first to see an overload leave at once; \
         and even starts with heartbeats that hardly load the path, so that all a guard time does is to wait until what varies has passed."
    )
}

/// The mean delays of both in all settings.
fn settings(variants: &[Compared], pair: [Mechanism; 2]) -> String {
    let [a, b] = pair.map(Mechanism::title);
    let at = |at| {
        format!(
            "At {} ({a} and {b}, ms): {}.",
            ratio(at),
            told(variants, pair, at)
        )
    };
    COMPARED.map(at).join(" ")
}

/// How the start decides which runs are unstable.
fn by_start(sweeps: &Sweeps) -> String {
    let is_upper = |run: &Run| sweeps.threshold.is_upper(run);
    let at = |at: u32| {
        let shares = [true, false].map(|even| {
            let is = |run: &Run| (run.began_left == SOURCES / 2) == even;
            let runs = only(sweeps.each(PREDICTIVE_GUARD).at(at), is);
            text(&share(&runs, is_upper), 2)
        });
        let [even, uneven] = shares;
        format!(
            "at {} {even} of those that begin three and three, {uneven} of the others",
            ratio(at)
        )
    };
    let each = COMPARED.map(at).join("; ");
    format!("The start decides which runs are in the upper mode: {each}.")
}
