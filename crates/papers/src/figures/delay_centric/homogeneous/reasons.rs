//! Reasons for differing claims on the mechanisms without background, and caveats of their
//! verdicts.

use polypath_claims::ClaimRemark;

use super::super::sweep::{self, delays, only, ratio, share};
use super::super::variants::{
    COMPARED, Compared, THRESHOLD, extremes, in_variant, lower, lower_delays, switches_in_variant,
};
use super::{EVEN, LESS, Sweeps, VOIP};
use crate::figures::estimates::text;
use crate::jobs::delay_centric::mechanism::{GUARD, Mechanism, PREDICTIVE, PREDICTIVE_GUARD, PURE};
use crate::jobs::delay_centric::runs::Run;
use crate::jobs::delay_centric::testbed::SOURCES;

/// The caveats of a verdict: the interpretation that is judged, and its sensitivity.
pub(super) fn caveat(sweeps: &Sweeps, variants: &[Compared], mechanism: Mechanism) -> String {
    let reading = reading(sweeps, mechanism);
    match mechanism {
        GUARD => format!(
            "{reading} The initial paths rather than guard times cause the two modes. {} {}",
            by_start(sweeps, PURE),
            by_start(sweeps, GUARD)
        ),
        PREDICTIVE => format!(
            "{reading} It needs long queues: with 50 packets, pure and predictive have {} ms.",
            in_variant(variants, "queue of 50 packets", [PURE, PREDICTIVE])
        ),
        _ => reading,
    }
}

/// The interpretation that is judged, and the results of the other.
fn reading(sweeps: &Sweeps, mechanism: Mechanism) -> String {
    let other = if mechanism == PURE { PREDICTIVE } else { PURE };
    let at = |of: Mechanism| {
        let runs = sweeps.in_all(of);
        let each = COMPARED.map(|at| format!("{} at {}", text(&delays(runs.at(at)), 0), ratio(at)));
        format!("{}: {} ms", of.title(), each.join(", "))
    };
    format!(
        "The verdict is for the interpretation that each source sends 3000 packets, in some 18 s. \
         With 3000 in total, a run lasts 3 s, which is shorter than many guard times, and mean \
         delays are {}; {}. Each source starts on a random path: the paper's lower mode of almost 0 \
         ms needs runs that start evenly. The upper mode starts at {}.",
        at(mechanism),
        at(other),
        sweeps.threshold.text()
    )
}

/// The reason for which a claim differs, with the settings tried.
pub(super) fn reason(sweeps: &Sweeps, variants: &[Compared], mechanism: Mechanism) -> String {
    match mechanism {
        GUARD => format!(
            "During a guard time no source leaves an overloaded path: with four of six sources, its \
             queue grows by a third of a second in each second at .99, for 1 to 4 s. Afterwards \
             three and three sources do not empty it, so the others leave, too. {} {} {}",
            switches(sweeps, [PURE, GUARD]),
            guard_time(variants, [PURE, GUARD]),
            settings(variants, [PURE, GUARD])
        ),
        PREDICTIVE_GUARD => {
            let pair = [PREDICTIVE, PREDICTIVE_GUARD];
            format!(
                "At the end of a guard time a source evaluates the whole rule again, trends \
                 included. Mostly it stays and waits again, while heartbeats load the other path. \
                 {} {} {} {}",
                switches(sweeps, pair),
                guard_time(variants, pair),
                by_start(sweeps, PREDICTIVE_GUARD),
                settings(variants, pair)
            )
        }
        _ => format!(
            "Just above .75, means depend on a few unstable runs, and few seeds give little \
             evidence (tables `modes` and `starts`). {}",
            settings(variants, [PURE, PREDICTIVE])
        ),
    }
}

/// The reasons for which the claims of the paper's text differ.
pub(super) fn of_text(
    sweeps: &Sweeps,
    variants: &[Compared],
    mechanism: Mechanism,
) -> Vec<ClaimRemark> {
    let reason = match mechanism {
        PURE => (EVEN, by_start(sweeps, PURE)),
        PREDICTIVE => (LESS, switches_more(sweeps, variants)),
        PREDICTIVE_GUARD => (VOIP, by_start(sweeps, PREDICTIVE_GUARD)),
        _ => return Vec::new(),
    };
    let (claim, text) = reason;
    vec![ClaimRemark { claim, text }]
}

/// The cause of the predictive rule's switches.
fn switches_more(sweeps: &Sweeps, variants: &[Compared]) -> String {
    let at = |at: u32| {
        let each = [true, false].map(|is_upper| {
            let of_mode = [PURE, PREDICTIVE].map(|of| {
                let is = |run: &Run| sweeps.threshold.is_upper(run) == is_upper;
                text(&sweep::switches(&only(sweeps.each(of).at(at), is)), 1)
            });
            of_mode.join(" and ")
        });
        let [upper, lower] = each;
        format!(
            "at {} {upper} in the upper mode, {lower} in the lower",
            ratio(at)
        )
    };
    format!(
        "The predictive rule has no hysteresis: once both queues are longer than its threshold, any \
         lower average with the better trend is enough, and the averages of the current path follow \
         each ACK; the reactive rule asks for 10 ms. It switches more in the runs in which queues \
         are long, and hardly in the others: switches of a run by pure and predictive, {}. With the \
         threshold of the paper's text, 150 ms, which queues exceed less often, predictive has {}.",
        COMPARED.map(at).join("; "),
        switches_in_variant(variants, THRESHOLD, PREDICTIVE)
    )
}

fn guard_time(variants: &[Compared], pair: [Mechanism; 2]) -> String {
    let (lower, all) = lower(variants, pair);
    let extremes = extremes(variants, pair).unwrap_or_default();
    format!(
        "The heartbeats of a source in guard time add .1 Mb/s to the other path. The mean is lower \
         with a guard time than without in {lower} of {all} settings and utilisations that were \
         run; the ratio of both is {extremes}. Two changes that are not in the paper's text lower \
         it: a guard time that follows a switch, so that the first sources to detect an overload \
         leave immediately; and even starts with small heartbeats, so that a guard time only waits \
         until a random variation has passed."
    )
}

/// The mean delays of both mechanisms in the figures, and the settings in which the second has the
/// lower one; the tables have the other settings.
fn settings(variants: &[Compared], pair: [Mechanism; 2]) -> String {
    let [a, b] = pair.map(Mechanism::title);
    let at = |at| {
        format!(
            "Mean delays of {a} and {b} at {} in ms, in the figures and in settings where the \
             latter is lower: {}.",
            ratio(at),
            lower_delays(variants, pair, at)
        )
    };
    let all = "Tables `mean-delays-90` and `mean-delays-99` of delay_centric.sensitivity have all settings.";
    format!("{} {all}", COMPARED.map(at).join(" "))
}

/// The path switches of a run, without guard time and with it.
fn switches(sweeps: &Sweeps, pair: [Mechanism; 2]) -> String {
    let at = |at: u32| {
        let [without, with] = pair.map(|of| {
            let runs = sweeps.each(of).at(at);
            text(&sweep::switches(runs), 1)
        });
        format!("{without} and {with} at {}", ratio(at))
    };
    let each = COMPARED.map(at).join(", ");
    format!("The number of switches of all sources in a run, without and with it: {each}.")
}

/// The effect of the initial paths on which runs are unstable.
fn by_start(sweeps: &Sweeps, mechanism: Mechanism) -> String {
    let is_upper = |run: &Run| sweeps.threshold.is_upper(run);
    let at = |at: u32| {
        let shares = [true, false].map(|even| {
            let is = |run: &Run| (run.began_left == SOURCES / 2) == even;
            let runs = only(sweeps.each(mechanism).at(at), is);
            text(&share(&runs, is_upper), 2)
        });
        let [even, uneven] = shares;
        format!(
            "at {} {even} of the runs that start three and three, {uneven} of the others",
            ratio(at)
        )
    };
    let each = COMPARED.map(at).join("; ");
    format!(
        "Shares in the upper mode by the start, {}: {each}.",
        mechanism.title()
    )
}
