//! Measurements, under the names that the ledger's rules use.

use serde::{Deserialize, Serialize};

/// One sample in the CSV file.
#[derive(Serialize, Deserialize)]
struct SampleRecord {
    claim: String,
    quantity: String,
    /// The name of the coordinate of a curve; empty for a single number.
    coordinate: String,
    at: Option<f64>,
    /// The unit of the coordinate.
    at_unit: String,
    unit: String,
    group: String,
    seed: u64,
    value: f64,
}

/// A quantity of a claim, with a sample from each run: a single number, or one point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The claim.
    pub claim: String,
    /// The name in the claim's rule, such as `transfer.ppd1`. The quantities of a claim with values
    /// are in the order of the values.
    pub quantity: String,
    /// The position of a point of a curve; `None` for a single number.
    pub at: Option<Position>,
    /// The unit, as in the ledger.
    pub unit: String,
    /// The group of runs. Quantities of one group are from the same runs, and their samples are
    /// paired by index.
    pub group: String,
    /// The samples, one from each run.
    pub samples: Vec<Sample>,
}

/// A position on a coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The name of the coordinate in rules, such as `load`.
    pub coordinate: String,
    /// The unit; empty for a share or a count.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// The value of a quantity in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The seed of the run.
    pub seed: u64,
    /// The value.
    pub value: f64,
}

impl Measurement {
    /// A quantity without randomness.
    #[must_use]
    pub fn exact(claim: &str, quantity: &str, unit: &str, value: f64) -> Self {
        Self::of(claim, quantity, unit, "exact", &[Sample { seed: 0, value }])
    }

    /// A quantity measured in runs.
    #[must_use]
    pub fn of(claim: &str, quantity: &str, unit: &str, group: &str, samples: &[Sample]) -> Self {
        Self {
            claim: claim.to_owned(),
            quantity: quantity.to_owned(),
            at: None,
            unit: unit.to_owned(),
            group: group.to_owned(),
            samples: samples.to_vec(),
        }
    }

    /// Whether both are of the same quantity at the same position.
    pub(crate) fn is_same_quantity(&self, other: &Self) -> bool {
        fn key(m: &Measurement) -> (&str, &str, &str, Option<u64>) {
            let at = m.at.as_ref().map(|at| at.value.to_bits());
            (&m.claim, &m.quantity, &m.group, at)
        }
        key(self) == key(other)
    }

    /// The same quantity as a point of a curve at position `at` of a coordinate.
    #[must_use]
    pub fn over(self, coordinate: &str, unit: &str, at: f64) -> Self {
        let at = Some(Position {
            coordinate: coordinate.to_owned(),
            unit: unit.to_owned(),
            value: at,
        });
        Self { at, ..self }
    }
}

/// The measurements as CSV, one row per sample.
///
/// # Errors
/// If a measurement cannot be written.
pub fn to_csv(measurements: &[Measurement]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for measurement in measurements {
        let at = measurement.at.as_ref();
        for sample in &measurement.samples {
            writer.serialize(SampleRecord {
                claim: measurement.claim.clone(),
                quantity: measurement.quantity.clone(),
                coordinate: at.map_or_else(String::new, |at| at.coordinate.clone()),
                at: at.map(|at| at.value),
                at_unit: at.map_or_else(String::new, |at| at.unit.clone()),
                unit: measurement.unit.clone(),
                group: measurement.group.clone(),
                seed: sample.seed,
                value: sample.value,
            })?;
        }
    }
    writer
        .into_inner()
        .map_err(|error| error.into_error().into())
}

/// Reads measurements from CSV. Rows of one quantity at one position have to be adjacent.
///
/// # Errors
/// If a row cannot be read.
pub fn from_csv(csv: &[u8]) -> Result<Vec<Measurement>, csv::Error> {
    let mut all: Vec<Measurement> = Vec::new();
    for row in csv::Reader::from_reader(csv).into_deserialize() {
        let row: SampleRecord = row?;
        let sample = Sample {
            seed: row.seed,
            value: row.value,
        };
        let next = Measurement {
            claim: row.claim,
            quantity: row.quantity,
            at: row.at.map(|value| Position {
                coordinate: row.coordinate,
                unit: row.at_unit,
                value,
            }),
            unit: row.unit,
            group: row.group,
            samples: vec![sample],
        };
        match all.last_mut().filter(|last| last.is_same_quantity(&next)) {
            Some(last) => last.samples.push(sample),
            None => all.push(next),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_measurements_are_read_back() {
        let samples = [0.1 + 0.2, 1e-300, -7.0].map(|value| Sample { seed: 9, value });
        let all = [
            Measurement::of("a.b", "x, \"y\"", "Mb/s", "runs", &samples),
            Measurement::of("a.b", "z", "s", "runs", &samples[..1]).over("load", "", 0.1),
            Measurement::of("a.b", "z", "s", "runs", &samples[1..]).over("load", "", 0.2),
            Measurement::exact("a.c", "z", "s", 1.0),
        ];
        let csv = to_csv(&all).unwrap();
        assert_eq!(from_csv(&csv).unwrap(), all);
    }
}
