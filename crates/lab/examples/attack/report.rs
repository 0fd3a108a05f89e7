//! The table of outcomes.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::attacks::{Attack, FAST_FLOOD, Outcome, SLOW_FLOOD, Settings};
use crate::subject::Subject;

/// The column of the program that has to meet the bounds.
pub(crate) const JUDGED: &str = "now";

/// The outcomes by attack and program.
pub(crate) struct Report {
    attacks: Vec<Attack>,
    columns: Vec<&'static str>,
    settings: Settings,
    outcomes: BTreeMap<(Attack, usize), Outcome>,
}

impl Report {
    pub(crate) fn new(
        attacks: Vec<Attack>,
        subjects: &[(&'static str, Subject)],
        settings: &Settings,
    ) -> Self {
        Self {
            attacks,
            columns: subjects.iter().map(|(name, _)| *name).collect(),
            settings: *settings,
            outcomes: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, attack: Attack, column: usize, outcome: Outcome) {
        self.outcomes.insert((attack, column), outcome);
    }

    pub(crate) fn add_all(&mut self, all: Vec<(Attack, usize, Outcome)>) {
        for (attack, column, outcome) in all {
            self.add(attack, column, outcome);
        }
    }

    /// Whether the program under attack meets every bound.
    pub(crate) fn meets_bounds(&self) -> bool {
        let mut attacks = self.attacks.iter();
        attacks.all(|attack| self.meets_bound(*attack))
    }

    fn meets_bound(&self, attack: Attack) -> bool {
        let judged = self.columns.iter().position(|name| *name == JUDGED);
        let outcome = judged.and_then(|column| self.outcomes.get(&(attack, column)));
        outcome.is_some_and(|outcome| attack.is_met(*outcome))
    }

    pub(crate) fn json(&self) -> Value {
        let rows = self.attacks.iter().map(|&attack| {
            let outcomes = self.columns.iter().enumerate().map(|(column, name)| {
                let outcome = self.outcomes.get(&(attack, column));
                let value = match outcome {
                    Some(Outcome::Longest(time)) => json!({
                        "seconds": time.map(|time| time.as_secs_f64()),
                    }),
                    Some(Outcome::Refused(is_refused)) => json!({ "refused": is_refused }),
                    None => Value::Null,
                };
                ((*name).to_owned(), value)
            });
            json!({
                "attack": attack.name(),
                "quantity": attack.quantity(),
                "bound_s": attack.bound().map(|bound| bound.as_secs_f64()),
                "outcomes": outcomes.collect::<serde_json::Map<_, _>>(),
            })
        });
        json!({
            "flood_s": self.settings.flood.as_secs_f64(),
            "restarts": self.settings.restarts,
            "meets_bounds": self.meets_bounds(),
            "attacks": rows.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<58}{:<25}", "attack", "")?;
        for name in &self.columns {
            write!(f, "{name:>14}")?;
        }
        writeln!(f, "{:>10}", "bound")?;
        for &attack in &self.attacks {
            write!(f, "{:<58}{:<25}", attack.name(), attack.quantity())?;
            for column in 0..self.columns.len() {
                let outcome = self.outcomes.get(&(attack, column));
                let text = outcome.map_or_else(|| "-".to_owned(), Outcome::to_string);
                write!(f, "{text:>14}")?;
            }
            let bound = attack.bound().map(|bound| Outcome::Longest(Some(bound)));
            let bound = bound.unwrap_or(Outcome::Refused(true));
            let missed = if self.meets_bound(attack) {
                ""
            } else {
                "  missed"
            };
            writeln!(f, "{:>10}{missed}", bound.to_string())?;
        }
        write!(
            f,
            "floods of {SLOW_FLOOD} initiations/s to each target for {} s, restarts ({} each) during {FAST_FLOOD}/s from \
             the peer's address, at another port during {SLOW_FLOOD}/s from others; 100 packets/s each way",
            self.settings.flood.as_secs(),
            self.settings.restarts
        )
    }
}
