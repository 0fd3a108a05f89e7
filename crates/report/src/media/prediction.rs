//! The figures of a stream in the lab beside those that the simulator predicts for the same runs.

use polypath_sim::{DelayQuantiles, MediaOutcome};
use serde::Serialize;

use super::figures::{difference_of, estimate, late, share};
use super::{MediaRecord, named};
use crate::json::{Spread, spread};
use crate::statistics::Estimate;
use crate::table::{plain, shortened, spread as cell};

/// The maximum length of the name of a policy on a terminal, in characters.
const NAME: usize = 17;

/// One figure of a policy in the lab and in the simulator. Shares are in percent, times in
/// milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The name of the policy.
    pub policy: String,
    /// The figure, with its unit.
    pub figure: String,
    /// Its mean in the lab.
    pub lab: Option<Estimate>,
    /// Its mean in the simulator.
    pub simulated: Option<Estimate>,
    /// Lab minus simulator, paired by run.
    pub difference: Option<Estimate>,
}

#[derive(Serialize)]
struct PredictionJson<'a> {
    policy: &'a str,
    figure: &'a str,
    lab: Spread,
    simulated: Spread,
    difference: Spread,
}

impl Serialize for Prediction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = PredictionJson {
            policy: &self.policy,
            figure: &self.figure,
            lab: spread(self.lab),
            simulated: spread(self.simulated),
            difference: spread(self.difference),
        };
        row.serialize(serializer)
    }
}

/// The figures of every policy of which both records have runs: late shares, the 99th percentile of
/// the delay, bytes on the wire over payload.
///
/// The runs of both must have the same seeds in the same order.
#[must_use]
pub fn predictions(lab: MediaRecord<'_>, simulated: MediaRecord<'_>) -> Vec<Prediction> {
    let deadlines = &lab.scenario.media.deadlines;
    let mut found = Vec::new();
    for (name, outcomes) in named(lab) {
        let Some((_, predicted)) = named(simulated).find(|(other, _)| *other == name) else {
            continue;
        };
        let mut add = |figure: String, value: &dyn Fn(&MediaOutcome) -> Option<f64>| {
            found.push(Prediction {
                policy: name.to_owned(),
                figure,
                lab: estimate(outcomes, value),
                simulated: estimate(predicted, value),
                difference: difference_of(outcomes, predicted, value),
            });
        };
        for (n, deadline) in deadlines.iter().enumerate() {
            let value = move |of: &MediaOutcome| late(of, n).map(|share| share * 100.0);
            add(format!("Late or lost at {deadline}, %"), &value);
        }
        let p99 = |delay: &DelayQuantiles| delay.p99.as_secs_f64() * 1e3;
        add(
            "99th percentile of the one-way delay, ms".to_owned(),
            &|of| of.delay.as_ref().map(p99),
        );
        add(
            "Bytes on the wire over bytes of payload".to_owned(),
            &|of| share(of.wire.bytes(), of.payload),
        );
    }
    found
}

/// The predictions as a table for each figure, each mean with half of its 95 % confidence interval.
#[must_use]
pub fn render_predictions(predictions: &[Prediction]) -> String {
    let mut figures: Vec<&str> = Vec::new();
    for prediction in predictions {
        if !figures.contains(&prediction.figure.as_str()) {
            figures.push(&prediction.figure);
        }
    }
    let row = |of: &Prediction| {
        let [lab, simulated, difference] = [of.lab, of.simulated, of.difference].map(cell);
        vec![shortened(&of.policy, NAME), lab, simulated, difference]
    };
    let columns = ["policy", "lab", "simulated", "lab minus\nsimulated"];
    let table = |figure: &&str| {
        let of_figure = predictions.iter().filter(|of| of.figure == *figure);
        let body = plain(&columns, of_figure.map(row).collect(), 1);
        format!("{figure}\n{body}\n")
    };
    let tables: Vec<String> = figures.iter().map(table).collect();
    tables.join("\n")
}

#[cfg(test)]
mod tests;
