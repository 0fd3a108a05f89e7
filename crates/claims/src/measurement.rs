//! What a figure measures, by the names that the ledger's rules use.

use serde::{Deserialize, Serialize};

/// A row of the file: one sample.
#[derive(Serialize, Deserialize)]
struct Row {
    claim: String,
    quantity: String,
    /// The name of the coordinate, for a quantity that is a curve.
    coordinate: String,
    at: Option<f64>,
    /// The unit of the coordinate.
    at_unit: String,
    unit: String,
    group: String,
    seed: u64,
    value: f64,
}

/// A quantity of a claim: a number, or one for each position of a coordinate, with the runs that it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The claim that is judged by it.
    pub claim: String,
    /// Its name in the claim's rule, such as `transfer.ppd1`; of a claim with values the order in which quantities are
    /// measured is that of the values.
    pub quantity: String,
    /// Where it is measured, for a quantity that is a curve; nothing for a single number.
    pub at: Option<Position>,
    /// Its unit, as the ledger writes it.
    pub unit: String,
    /// Quantities of one group come from the same runs: their samples are paired by position.
    pub group: String,
    /// A value from each run.
    pub samples: Vec<Sample>,
}

/// A position on a coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The name of the coordinate, as rules have it, such as `load`.
    pub coordinate: String,
    /// Its unit; empty for a share or a count.
    pub unit: String,
    /// Where on it.
    pub value: f64,
}

/// A value from one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The seed of the run.
    pub seed: u64,
    /// What it gave.
    pub value: f64,
}

impl Measurement {
    /// A quantity that follows from no random run.
    #[must_use]
    pub fn exact(claim: &str, quantity: &str, unit: &str, value: f64) -> Self {
        Self::of(claim, quantity, unit, "exact", &[Sample { seed: 0, value }])
    }

    /// A quantity from runs.
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

    /// Whether it is of the same quantity, at the same position.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        fn key(m: &Measurement) -> (&str, &str, &str, Option<u64>) {
            let at = m.at.as_ref().map(|at| at.value.to_bits());
            (&m.claim, &m.quantity, &m.group, at)
        }
        key(self) == key(other)
    }

    /// The same as a point of a curve: at a position of a coordinate, which has a name and a unit.
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

/// Measurements as CSV, a row for each sample.
///
/// # Errors
/// Where a measurement cannot be written.
pub fn to_csv(measurements: &[Measurement]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for measurement in measurements {
        let at = measurement.at.as_ref();
        for sample in &measurement.samples {
            writer.serialize(Row {
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

/// Measurements from CSV; rows of one quantity at one position stand together.
///
/// # Errors
/// Where a row cannot be read.
pub fn from_csv(csv: &[u8]) -> Result<Vec<Measurement>, csv::Error> {
    let mut all: Vec<Measurement> = Vec::new();
    for row in csv::Reader::from_reader(csv).into_deserialize() {
        let row: Row = row?;
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
        match all.last_mut().filter(|last| last.is_of(&next)) {
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
    fn measurements_are_read_as_they_were_written() {
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
