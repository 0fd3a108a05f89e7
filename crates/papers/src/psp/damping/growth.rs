//! How fast the spacing grows (2.1).

use polypath_batch::replica_seeds;
use polypath_core::spacing::{Attribution, Counting};
use polypath_scenario::network::spaced::Control;

use super::super::merge::parameters::READINGS;
use super::super::merge::{Merge, Protocol, Span, name_of};
use super::super::pictures::sheet;
use super::super::sweep::text;
use super::super::trace::{Course, Trace};
use super::Runs;
use crate::figure::{Figure, Findings, Reason};
use crate::measurement::Measurement;
use crate::study::{Pending, SEED, Study};

pub(in crate::psp) const FIGURE: Figure = Figure {
    id: "psp.seven_rtts",
    title: "How many round-trip times of loss take the spacing from 0 beyond 2000 us",
    claims: &[CLAIM],
    make: growth,
};

const CLAIM: &str = "psp.seven_rtts";
/// So many senders lose still when each has a spacing of 2000 us.
const MANY: u32 = 64;
/// How long a run lasts.
const SECONDS: u32 = 4;
/// The greatest of the spacings among which the paper's ideal one lies, in microseconds.
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
        (protocol, study.ask_all(seeds.iter().map(job)))
    });
    let mut readings = Vec::new();
    for (protocol, courses) in asked {
        let seeds = seeds.clone();
        readings.push(Runs {
            senders: MANY,
            protocol,
            seeds,
            courses: courses?,
        });
    }
    let rows = readings.iter().map(growth_row).collect();
    Ok(Findings {
        sheets: vec![sheet(
            "growth",
            "Feedbacks that tell of loss, one each round-trip time, until the spacing is above 2000 us",
            &["a loss belongs to", "least of 64 senders", "greatest of 64 senders"],
            rows,
        )],
        measurements: vec![Measurement::of(
            CLAIM,
            "feedbacks",
            "RTT",
            "latest",
            &readings[0].samples(|courses| feedbacks(courses).fold(0.0, f64::max)),
        )],
        caveats: vec![growth_caveat(&readings)],
        notes: vec![
            READINGS.to_owned(),
            "The number is that of the slowest of 64 senders, read as Fig. 4 says literally: each feedback that tells of loss doubles the spacing. Where a loss belongs to the spacing that its packet was sent with, a reaction shows two round-trip times later, and it takes twice as long.".to_owned(),
        ],
        parameters: Merge::adaptive(MANY, readings[0].protocol, span, 0).parameters("chosen"),
        ..Findings::default()
    })
}

/// What counts as a round-trip time of loss, and what the other reading gives.
fn growth_caveat(readings: &[Runs]) -> Reason {
    let most = |runs: &Runs| text(&runs.samples(|c| feedbacks(c).fold(0.0, f64::max)), 1);
    let never = |runs: &Runs| {
        let all: usize = runs.courses.iter().map(Vec::len).sum();
        let passed: usize = runs.courses.iter().map(|c| feedbacks(c).count()).sum();
        format!("{} of {all}", all - passed)
    };
    let [latest, when_sent] = readings else {
        return Reason {
            claim: CLAIM,
            text: String::new(),
        };
    };
    Reason {
        claim: CLAIM,
        text: format!(
            "Judged is the reading `latest`, the literal one of Fig. 4; `when-sent`, which the other figures have, takes {} for the slowest sender. A round-trip \
             time of loss is a feedback that tells of loss: one comes each round-trip time, and those that tell of none are not \
             counted. Senders that do not pass 2000 us in {SECONDS} s have no number: {} with `latest`, {} with `when-sent`.",
            most(when_sent),
            never(latest),
            never(when_sent),
        ),
    }
}

/// How many feedbacks each sender took; none of one that never got there.
fn feedbacks(courses: &[Course]) -> impl Iterator<Item = f64> {
    let known = courses
        .iter()
        .filter_map(|course| course.feedbacks_to(BOUND));
    known.map(|number| number as f64)
}

fn growth_row(runs: &Runs) -> Vec<String> {
    vec![
        name_of(runs.protocol.attribution).replace('"', ""),
        text(&runs.samples(|c| feedbacks(c).fold(f64::MAX, f64::min)), 1),
        text(&runs.samples(|c| feedbacks(c).fold(0.0, f64::max)), 1),
    ]
}
