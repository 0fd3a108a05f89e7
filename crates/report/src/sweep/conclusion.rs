//! The conclusion of a sweep.

use serde_json::Value;

use super::axes::{Parameter, words};
use super::quantities::{Quantity, difference, entry, names};
use super::{Kind, SweepPoint, common};
use crate::conclusion::numbers::{ANY, with_interval};
use crate::conclusion::{Comparison, Wording, capitalized, sentence};
use crate::difference::{Bound, Difference};

/// Comparisons that are listed one by one, at most.
const LISTED: usize = 2;

/// Groups of flows that are compared, at most.
const GROUPS: usize = 3;

/// The sentences of the conclusion of a sweep.
#[must_use]
pub fn conclusion(kind: Kind, points: &[SweepPoint]) -> Vec<String> {
    let finished: Vec<&SweepPoint> = points.iter().filter(|point| point.report.is_ok()).collect();
    if finished.is_empty() {
        let all = match points.len() {
            1 => "The only point failed".to_owned(),
            count => format!("All {count} points failed"),
        };
        return vec![format!(
            "{all}, so that nothing can be compared: standard error and sweep.json have the \
             reasons."
        )];
    }
    let parameters = Parameter::all(points);
    let parameters: Vec<&Parameter> = parameters.iter().collect();
    let sweep = Finished {
        all: &finished,
        names: finished
            .iter()
            .map(|point| words(point, &parameters))
            .collect(),
    };
    let mut sentences = match kind {
        Kind::Transfers => sweep.schemes(points),
        Kind::Network => sweep.groups(points),
    };
    if sentences.is_empty() {
        sentences.push("There is a single point, and nothing to compare it with.".to_owned());
    }
    let failed = points.len() - finished.len();
    if failed > 0 {
        let is = if failed == 1 { "is" } else { "are" };
        sentences.push(format!(
            "{failed} of {} points failed and {is} not compared.",
            points.len()
        ));
    }
    sentences.extend(sweep.basis(kind));
    sentences
}

/// The points with a report, and their names.
struct Finished<'a> {
    all: &'a [&'a SweepPoint],
    names: Vec<String>,
}

impl Finished<'_> {
    /// Each scheme compared with plain TCP at each point.
    fn schemes(&self, points: &[SweepPoint]) -> Vec<String> {
        let schemes = names(points, "schemes").into_iter();
        let of_scheme = |scheme: String| {
            let compared = self
                .all
                .iter()
                .zip(&self.names)
                .filter_map(|(point, name)| {
                    let report = point.report.as_ref().ok()?;
                    let subject = if name.is_empty() {
                        scheme.clone()
                    } else {
                        format!("{scheme} at {name}")
                    };
                    let difference = difference(entry(report, "schemes", &scheme)?)?;
                    let is_cut = difference.bound != Bound::Exact;
                    Some(Comparison {
                        subject,
                        name: name.clone(),
                        difference,
                        timed_out: is_cut.then(|| "transfers timed out".to_owned()),
                    })
                });
            let wording = Wording {
                verb_of_several: "was",
                subject: format!("{scheme} at "),
                plural: "points",
                listed: LISTED,
                ..Wording::of_times()
            };
            sentence(&compared.collect::<Vec<_>>(), &wording).map(|text| text + ".")
        };
        schemes.filter_map(of_scheme).collect()
    }

    /// The goodput and the delay of the groups at each point compared with those at the first.
    fn groups(&self, points: &[SweepPoint]) -> Vec<String> {
        let quantities = &Quantity::all(Kind::Network)[..2];
        let groups = names(points, "groups");
        let pairs = groups
            .iter()
            .take(GROUPS)
            .flat_map(|group| quantities.iter().map(move |quantity| (group, quantity)));
        let compared = |(group, quantity): (&String, &Quantity)| {
            let what = format!("{} of {group}", quantity.label());
            let compared: Vec<Comparison> = self.to_first(quantity, group).collect();
            let first = with_interval(quantity.at(self.all[0], group)?, quantity.unit);
            let wording = Wording {
                verb: "it was",
                verb_of_several: "it was",
                less: "lower".to_owned(),
                greater: "higher".to_owned(),
                same: "it showed no difference".to_owned(),
                range: ANY,
                unit: quantity.unit,
                scale: 1.0,
                subject: "at ".to_owned(),
                plural: "other points",
                listed: LISTED,
            };
            let named = compared.into_iter().map(|one| Comparison {
                subject: format!("at {}", one.name),
                ..one
            });
            let text = sentence(&named.collect::<Vec<_>>(), &wording)?;
            let what = capitalized(&what);
            Some(format!("{what} was {first} there; {text}."))
        };
        let mut sentences: Vec<String> = pairs.filter_map(compared).collect();
        if !sentences.is_empty() {
            sentences.insert(0, format!("The first point is {}.", self.names[0]));
        }
        sentences
    }

    /// A quantity at the further points compared with that at the first.
    fn to_first(&self, quantity: &Quantity, name: &str) -> impl Iterator<Item = Comparison> {
        let first = quantity.at(self.all[0], name);
        let others = self.all.iter().zip(&self.names).skip(1);
        others.filter_map(move |(point, words)| {
            Some(Comparison {
                subject: String::new(),
                name: words.clone(),
                difference: Difference::exact(quantity.at(point, name)?.minus(&first?)),
                timed_out: None,
            })
        })
    }

    /// The source of the intervals, or the remedy if there are none.
    fn basis(&self, kind: Kind) -> Option<String> {
        let report = self.all[0].report.as_ref().ok()?;
        Some(match kind {
            Kind::Transfers => {
                let all = || self.all.iter().copied();
                if rounds(report).as_u64() > Some(1) {
                    let rounds = match common(all(), rounds) {
                        Some(rounds) => format!("{rounds} rounds a point"),
                        None => "the rounds of each point".to_owned(),
                    };
                    let seed = common(all(), |report| &report["seed"]);
                    let seed = seed.map_or(String::new(), |seed| format!(", seed {seed}"));
                    format!("Differences are paired over {rounds}{seed}.")
                } else {
                    "A single round gives no interval: repeat with --set transfer.count=20."
                        .to_owned()
                }
            }
            Kind::Network => {
                let runs = report["seeds"].as_array().map_or(0, Vec::len);
                if runs > 1 {
                    format!("The intervals are those of {runs} replicas a point (95 % confidence).")
                } else {
                    "The intervals are those of the spans of a single run a point (95 % \
                     confidence); --replicas 20 gives those of independent runs."
                        .to_owned()
                }
            }
        })
    }
}

/// The number of rounds in a report of transfers.
fn rounds(report: &Value) -> &Value {
    &report["schemes"][0]["transfer_s"]["n"]
}

/// The difference of a quantity of a network at a point to the first finished one, for tables.
pub(super) fn minus_first(
    points: &[SweepPoint],
    point: &SweepPoint,
    quantity: &Quantity,
    name: &str,
) -> Option<Difference> {
    let first = points.iter().find(|point| point.report.is_ok())?;
    if std::ptr::eq(first, point) {
        return None;
    }
    let difference = quantity.at(point, name)?.minus(&quantity.at(first, name)?);
    Some(Difference::exact(difference))
}
