//! What follows from the choices that the paper leaves open.

use super::damping::{DAMPED, READINGS};
use super::fairness::{Pairs, SPAN, deviation, jain, mean};
use super::merge::{Media, Merge, Protocol, name_of};
use super::pictures::sheet;
use super::sweep::{estimate, text};
use super::trace::Course;
use crate::figure::{Reason, Sheet};
use crate::measurement::Sample;
use crate::study::{Pending, Study};

/// Two damped senders in one setting.
pub(super) struct Setting {
    name: String,
    jain: Vec<Sample>,
    least: Vec<Sample>,
    most: Vec<Sample>,
    /// The deviation of the sending rate over its mean.
    swing: Vec<Sample>,
    loss: Vec<Sample>,
}

/// Two damped senders over links, buffers, packets and readings other than those of the figures, which come first.
///
/// # Errors
/// Where runs are missing.
pub(super) fn fair_rows(study: &mut Study<'_>) -> Result<Vec<Setting>, Pending> {
    let base = Merge::adaptive(2, DAMPED, SPAN, 0);
    let mut settings = vec![("as in the figures".to_owned(), base.clone())];
    for (attribution, counting) in &READINGS[1..] {
        let protocol = Protocol {
            attribution: *attribution,
            counting: *counting,
            ..DAMPED
        };
        let names = format!("{}, {}", name_of(attribution), name_of(counting));
        settings.push((
            names.replace('"', ""),
            Merge::adaptive(2, protocol, SPAN, 0),
        ));
    }
    for spread in [0, 1, 1000] {
        let media = Media::Adaptive {
            senders: 2,
            protocol: DAMPED,
            late: 0,
            spread,
        };
        let name = format!("both start within {spread} us");
        settings.push((
            name,
            Merge {
                media,
                ..base.clone()
            },
        ));
    }
    for senders in [4, 8, 16] {
        settings.push((
            format!("{senders} senders"),
            Merge::adaptive(senders, DAMPED, SPAN, 0),
        ));
    }
    for buffer in [5, 20, 50, 100, 500] {
        settings.push((
            format!("buffer {buffer}"),
            Merge {
                buffer,
                ..base.clone()
            },
        ));
    }
    for packet in [500, 1000, 1400, 1500] {
        settings.push((
            format!("packet {packet} B"),
            Merge {
                packet,
                ..base.clone()
            },
        ));
    }
    for shared in [45, 100, 120, 190] {
        settings.push((
            format!("shared link {shared} Mb/s"),
            Merge {
                shared,
                ..base.clone()
            },
        ));
    }
    let asked: Vec<_> = settings
        .into_iter()
        .map(|(name, merge)| {
            let pairs = Pairs::of(study, |seed| Merge {
                seed,
                ..merge.clone()
            });
            (name, pairs)
        })
        .collect();
    let rows = asked
        .into_iter()
        .map(|(name, pairs)| Ok(Setting::of(name, &pairs?)));
    rows.collect()
}

impl Setting {
    fn of(name: String, pairs: &Pairs) -> Self {
        let rate = |from: f64, choose: fn(f64, f64) -> f64| {
            pairs.samples(|courses| courses.iter().map(|c| c.mean).fold(from, choose))
        };
        Self {
            name,
            jain: pairs.samples(jain),
            least: rate(f64::MAX, f64::min),
            most: rate(0.0, f64::max),
            swing: pairs.samples(|courses: &[Course]| deviation(courses) / mean(courses)),
            loss: pairs.samples(|courses| super::damping::mean_of(courses, |c| c.loss)),
        }
    }
}

pub(super) fn fair_sheet(rows: &[Setting]) -> Sheet {
    let row = |setting: &Setting| {
        vec![
            setting.name.clone(),
            text(&setting.jain, 3),
            text(&setting.least, 1),
            text(&setting.most, 1),
            text(&setting.swing, 3),
            text(&setting.loss, 4),
        ]
    };
    sheet(
        "fairness",
        "Two damped senders in other settings",
        &[
            "setting",
            "Jain's index",
            "slower one Mb/s",
            "faster one Mb/s",
            "deviation / mean",
            "loss",
        ],
        rows.iter().map(row).collect(),
    )
}

/// Why two damped senders do not share.
pub(super) fn fairness_reason(claim: &'static str, rows: &[Setting]) -> Reason {
    let mean = |samples: &[Sample]| estimate(samples).map_or(0.0, |known| known.mean);
    let (own, others) = (&rows[0], &rows[1..]);
    let fair: Vec<String> = others
        .iter()
        .filter(|setting| mean(&setting.jain) >= FAIR)
        .map(|setting| format!("{} ({})", setting.name, text(&setting.jain, 3)))
        .collect();
    let fair = match fair.as_slice() {
        [] => "none".to_owned(),
        known => known.join("; "),
    };
    Reason {
        claim,
        text: format!(
            "No rule of the protocol moves two senders towards each other. A step of 2 us raises a rate r by r^2 x 2 us \
             over the bits of a packet, so that the faster one gains more; the loss that follows takes back the step \
             of whoever lost; and a doubling keeps the ratio of the spacings. Of 155 Mb/s one comes to keep {} Mb/s, \
             its whole access link, where no step is left that a loss could revert, and the other has {} Mb/s: Jain's \
             index {} without TCP. Other start times, readings of the protocol, buffers, packets and rates of the \
             shared link (sheet `fairness` of psp.fig16_17), {} settings in all, bring it to {FAIR} in the mean in: {fair}. \
             With small packets a step is a larger part of the interval, rates swing more, and their means come closer. With \
             a shared link as fast as one access link it is a lockout: both send at full rate, and half of it is lost.",
            text(&own.most, 1),
            text(&own.least, 1),
            text(&own.jain, 3),
            others.len(),
        ),
    }
}

/// Jain's index on the fairness line, as the claim has it.
const FAIR: f64 = 0.99;
