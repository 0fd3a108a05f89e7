//! The growth of the spacing (2.1).

use polypath_batch::replica_seeds;
use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, SEED, Study};
use polypath_core::spacing::{Attribution, Counting};
use polypath_scenario::network::traffic::spaced::Control;

use super::super::parameters::READINGS;
use super::Runs;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::psp::merge::{Merge, Protocol, Span, name_of};
use crate::jobs::psp::trace::{RateTrace, Trace};

pub(in crate::figures::psp) const FIGURE: Figure = Figure {
    id: "psp.seven_rtts",
    title: "Round-trip times with loss until the spacing grows from 0 to more than 2000 us",
    claims: &[CLAIM],
    make: growth,
};

const CLAIM: &str = "psp.seven_rtts";
/// A number of senders that still has losses when each has a spacing of 2000 us.
const MANY: u32 = 64;
/// The duration of a run.
const SECONDS: u32 = 4;
/// The upper end of the range of the paper's ideal spacing, in microseconds.
const BOUND: f64 = 2000.0;

fn growth(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let seeds = replica_seeds(SEED, study.pick(2, 5));
    let span = Span {
        seconds: SECONDS,
        warm_up: 0,
    };
    let asked = [Attribution::Latest, Attribution::WhenSent].map(|attribution| {
        let protocol = Protocol {
            control: Control::AdHoc,
            attribution,
            counting: Counting::Range,
        };
        let job = |&seed: &u64| Trace(Merge::adaptive(MANY, protocol, span, seed));
        (protocol, study.request_all(seeds.iter().map(job)))
    });
    let mut readings = Vec::new();
    for (protocol, traces) in asked {
        let seeds = seeds.clone();
        readings.push(Runs {
            senders: MANY,
            protocol,
            seeds,
            traces: traces?,
        });
    }
    let rows = readings.iter().map(growth_row).collect();
    Ok(Findings {
        tables: vec![figure_table(
            "growth",
            "Feedbacks with loss, one per round-trip time, until the spacing exceeds 2000 us",
            &[
                "a loss belongs to",
                "minimum of the senders that passed",
                "maximum of them",
                "all feedbacks since the first loss, maximum of the senders",
                "passed",
                "did not pass",
                "maximum spacing of those us",
            ],
            rows,
        )],
        measurements: vec![Measurement::of(
            CLAIM,
            "feedbacks",
            "RTT",
            "latest",
            &readings[0].samples(|traces| feedbacks(traces).fold(0.0, f64::max)),
        )],
        caveats: vec![growth_caveat(&readings)],
        notes: vec![
            READINGS.to_owned(),
            "The number is that of the slowest of the senders that passed. If a loss is attributed \
             to the spacing at which its packet was sent, a reaction takes effect two round-trip \
             times later, and the growth takes twice as long.".to_owned(),
        ],
        parameters: Merge::adaptive(MANY, readings[0].protocol, span, 0).parameters("chosen"),
        ..Findings::default()
    })
}

/// The definition of a round-trip time with loss, and the result of the other interpretation.
fn growth_caveat(readings: &[Runs]) -> ClaimRemark {
    let most = |runs: &Runs| text(&runs.samples(|c| feedbacks(c).fold(0.0, f64::max)), 1);
    let elapsed = |runs: &Runs| text(&runs.samples(longest), 1);
    let never = |runs: &Runs| {
        let [passed, not] = passed(runs);
        format!("{not} of {}", passed + not)
    };
    let [latest, when_sent] = readings else {
        return ClaimRemark {
            claim: CLAIM,
            text: String::new(),
        };
    };
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "This follows from Fig. 4, read literally (`latest`): each feedback with loss doubles \
             the spacing, and 50 us doubled six times exceed 2000 us, in any network. The runs show \
             that it occurs. A round-trip time with loss is a feedback that reports loss; including \
             those without loss in between, the slowest sender needs {}. `when-sent`, which the \
             other figures use, needs {}, and {} including those. Senders whose losses end before \
             they pass 2000 us have no number: {} with `latest`, {} with `when-sent`; table \
             `growth` has their final spacings.",
            elapsed(latest),
            most(when_sent),
            elapsed(when_sent),
            never(latest),
            never(when_sent),
        ),
    }
}

/// The number of feedbacks of each sender until it passes the bound; without those that never do.
fn feedbacks(traces: &[RateTrace]) -> impl Iterator<Item = f64> {
    let known = traces.iter().filter_map(|trace| trace.feedbacks_to(BOUND));
    known.map(|number| number as f64)
}

/// The maximum number of feedbacks, with or without loss, of a sender from its first loss on.
fn longest(traces: &[RateTrace]) -> f64 {
    let known = traces.iter().filter_map(|trace| trace.rounds_to(BOUND));
    known.map(|number| number as f64).fold(0.0, f64::max)
}

/// The numbers of senders in all runs that passed the bound, and that did not.
fn passed(runs: &Runs) -> [usize; 2] {
    let all: usize = runs.traces.iter().map(Vec::len).sum();
    let passed = runs.traces.iter().map(|c| feedbacks(c).count()).sum();
    [passed, all - passed]
}

/// The maximum spacing of a sender that did not pass the bound, in microseconds.
fn where_they_stay(runs: &Runs) -> Option<f64> {
    let all = runs.traces.iter().flatten();
    let others = all.filter(|trace| trace.feedbacks_to(BOUND).is_none());
    let spacings = others.flat_map(|trace| trace.first.iter().map(|(_, spacing)| *spacing));
    spacings.reduce(f64::max)
}

fn growth_row(runs: &Runs) -> Vec<String> {
    let [passed, not] = passed(runs);
    vec![
        name_of(runs.protocol.attribution).replace('"', ""),
        text(&runs.samples(|c| feedbacks(c).fold(f64::MAX, f64::min)), 1),
        text(&runs.samples(|c| feedbacks(c).fold(0.0, f64::max)), 1),
        text(&runs.samples(longest), 1),
        passed.to_string(),
        not.to_string(),
        where_they_stay(runs).map_or("-".to_owned(), |spacing| format!("{spacing:.0}")),
    ]
}
