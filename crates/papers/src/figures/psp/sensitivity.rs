//! The effects of the choices that the paper leaves open.

use polypath_claims::{ClaimRemark, FigureTable, Pending, Sample, Study};

use super::damping::{DAMPED, READINGS};
use super::fairness::{Pairs, SPAN, deviation, jain, mean};
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::psp::merge::{ACCESS, Media, Merge, Protocol, SHARED, name_of};
use crate::jobs::psp::trace::RateTrace;

/// Two damped senders in one setting.
pub(super) struct PairResult {
    name: String,
    jain: Vec<Sample>,
    least: Vec<Sample>,
    most: Vec<Sample>,
    /// The deviation of the sending rate over its mean.
    swing: Vec<Sample>,
    loss: Vec<Sample>,
}

/// Two damped senders over links, buffers, packets and interpretations other than those of the
/// figures, which come first.
///
/// # Errors
/// If results are missing.
pub(super) fn fair_rows(study: &mut Study<'_>) -> Result<Vec<PairResult>, Pending> {
    let base = Merge::adaptive(2, DAMPED, SPAN, 0);
    let own = [("as in the figures".to_owned(), base.clone())];
    let all = own
        .into_iter()
        .chain(readings())
        .chain(starts(&base))
        .chain(links(&base));
    rows(study, all)
}

/// Requests two damped senders in each of some settings.
///
/// # Errors
/// If results are missing.
pub(super) fn rows(
    study: &mut Study<'_>,
    settings: impl Iterator<Item = (String, Merge)>,
) -> Result<Vec<PairResult>, Pending> {
    let mut asked = Vec::new();
    for (name, merge) in settings {
        let pairs = Pairs::of(study, |seed| Merge {
            seed,
            ..merge.clone()
        });
        asked.push((name, pairs));
    }
    let rows = asked
        .into_iter()
        .map(|(name, pairs)| Ok(PairResult::of(name, &pairs?)));
    rows.collect()
}

/// The other interpretations of the protocol.
fn readings() -> impl Iterator<Item = (String, Merge)> {
    READINGS[1..].iter().map(|&(attribution, counting)| {
        let protocol = Protocol {
            attribution,
            counting,
            ..DAMPED
        };
        let names = format!("{}, {}", name_of(attribution), name_of(counting));
        let merge = Merge::adaptive(2, protocol, SPAN, 0);
        (names.replace('"', ""), merge)
    })
}

/// Other starts, and more senders.
fn starts(base: &Merge) -> impl Iterator<Item = (String, Merge)> {
    let spread = |spread| {
        let media = Media::Adaptive {
            senders: 2,
            protocol: DAMPED,
            late: 0,
            spread,
        };
        let merge = Merge {
            media,
            ..base.clone()
        };
        (format!("both start within {spread} us"), merge)
    };
    let senders = |senders| {
        let merge = Merge::adaptive(senders, DAMPED, SPAN, 0);
        (format!("{senders} senders"), merge)
    };
    [spread(0), senders(4), senders(16)].into_iter()
}

/// Other buffers, packets and rates of the shared link.
fn links(base: &Merge) -> impl Iterator<Item = (String, Merge)> {
    let base = || base.clone();
    let buffers = [5, 50, 500];
    let buffers = buffers.map(|buffer| (format!("buffer {buffer}"), Merge { buffer, ..base() }));
    let packets = [500, 1000, 1500];
    let packets = packets.map(|packet| (format!("packet {packet} B"), Merge { packet, ..base() }));
    let rates = [45, 100, 190];
    let rates = rates.map(|shared| {
        (
            format!("shared link {shared} Mb/s"),
            Merge { shared, ..base() },
        )
    });
    buffers.into_iter().chain(packets).chain(rates)
}

impl PairResult {
    fn of(name: String, pairs: &Pairs) -> Self {
        let rate = |from: f64, choose: fn(f64, f64) -> f64| {
            pairs.samples(|traces| traces.iter().map(|c| c.mean).fold(from, choose))
        };
        Self {
            name,
            jain: pairs.samples(jain),
            least: rate(f64::MAX, f64::min),
            most: rate(0.0, f64::max),
            swing: pairs.samples(|traces: &[RateTrace]| deviation(traces) / mean(traces)),
            loss: pairs.samples(|traces| super::damping::mean_of(traces, |c| c.loss)),
        }
    }
}

pub(super) fn fair_table(id: &str, title: &str, rows: &[PairResult]) -> FigureTable {
    let row = |setting: &PairResult| {
        vec![
            setting.name.clone(),
            text(&setting.jain, 3),
            text(&setting.least, 1),
            text(&setting.most, 1),
            text(&setting.swing, 3),
            text(&setting.loss, 4),
        ]
    };
    figure_table(
        id,
        title,
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

/// The reason for which two damped senders do not share.
pub(super) fn fairness_reason(claim: &'static str, rows: &[PairResult]) -> ClaimRemark {
    let (own, others) = (&rows[0], &rows[1..]);
    let fair = others.iter().filter(|setting| setting.is_fair());
    let fair: Vec<String> = fair.map(PairResult::description).collect();
    let fair = match fair.as_slice() {
        [] => "none".to_owned(),
        known => known.join("; "),
    };
    ClaimRemark {
        claim,
        text: format!(
            "No rule of the protocol favours the slower sender: a step of 2 us raises a rate r by \
             r^2 x 2 us over the bits of a packet, so the faster one gains more, and a doubling \
             keeps the ratio of the spacings. Of {SHARED} Mb/s one sender reaches {} of the \
             {ACCESS} Mb/s of its access link, and the other {} Mb/s: Jain's index {}. Of {} other \
             settings (table `fairness` of psp.fig16_17) the mean of the index reaches {FAIR} in: \
             {fair}.",
            text(&own.most, 1),
            text(&own.least, 1),
            text(&own.jain, 3),
            others.len(),
        ),
    }
}

/// The bound on Jain's index in the claim on the fairness line.
const FAIR: f64 = 0.99;

impl PairResult {
    /// Whether the mean of the index reaches [`FAIR`].
    fn is_fair(&self) -> bool {
        estimate(&self.jain).is_some_and(|known| known.mean >= FAIR)
    }

    /// Its index and rates as text.
    pub(super) fn description(&self) -> String {
        format!(
            "{} ({}: {} and {} Mb/s)",
            self.name,
            text(&self.jain, 3),
            text(&self.least, 1),
            text(&self.most, 1),
        )
    }
}
