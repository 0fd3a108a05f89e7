//! The test for two modes.

use std::collections::BTreeMap;

use super::dip::{critical, dip};
use super::eval::Measured;
use super::{JudgeError, Test};
use crate::measurement::Measurement;

/// The level of the test: the share of unimodal quantities that it takes for bimodal.
const LEVEL: f64 = 0.05;

/// The dip of a sample and the critical dip of unimodal samples.
struct Dip<'a> {
    of: &'a Measurement,
    value: f64,
    critical: f64,
}

impl Dip<'_> {
    fn margin(&self) -> f64 {
        self.value - self.critical
    }
}

/// Tests whether the runs of a quantity have two modes; for a curve, at one of its positions at
/// least, with the level divided by the number of positions (Bonferroni).
pub(super) fn bimodal(name: &str, measured: &Measured<'_>) -> Result<Test, JudgeError> {
    let positions = measured.of(name).count();
    let level = LEVEL / positions.max(1) as f64;
    let mut known = BTreeMap::new();
    let mut clearest: Option<Dip<'_>> = None;
    for of in measured.of(name) {
        let values: Vec<f64> = of.samples.iter().map(|sample| sample.value).collect();
        let too_few = || JudgeError::Undefined(format!("the dip of {} runs", values.len()));
        let critical = match known.get(&values.len()) {
            Some(critical) => *critical,
            None => critical(values.len(), level).ok_or_else(too_few)?,
        };
        known.insert(values.len(), critical);
        let value = dip(&values).ok_or_else(too_few)?;
        let found = Dip {
            of,
            value,
            critical,
        };
        if clearest
            .as_ref()
            .is_none_or(|best| found.margin() > best.margin())
        {
            clearest = Some(found);
        }
    }
    let found = clearest.ok_or_else(|| JudgeError::Missing(name.to_owned()))?;
    let at = found.of.at.as_ref();
    let at = at.map_or_else(String::new, |at| format!(" at {}", at.value));
    Ok(Test {
        of: format!(
            "dip of {name}{at}: {:.4}, by chance up to {:.4}",
            found.value, found.critical
        ),
        holds: found.margin() > 0.0,
        margin: found.margin(),
        unit: "",
        ci95: None,
    })
}
