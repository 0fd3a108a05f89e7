//! Runs over a range of spacings, each with several seeds.

use polypath_batch::replica_seeds;
use polypath_claims::{FigureTable, Measurement, Pending, SEED, Sample, Study};
use polypath_report::plot::{Axis, Series};

use crate::figures::estimates::{point, text};
use crate::figures::pictures::axis;
use crate::figures::pictures::figure_table;
use crate::jobs::psp::merge::{Merge, Span};
use crate::jobs::psp::steady::{Flow, Flows, Steady};

/// A column of a table over the spacing: its heading, its quantity, and its decimal places.
pub(super) type Column<'a> = (&'a str, &'a dyn Fn(&Flows) -> Option<f64>, usize);

/// The spacings of Figs. 7 to 15 in microseconds, dense where the curves bend.
const SPACINGS: &[u32] = &[
    0, 25, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 950, 1000, 1025, 1050, 1075, 1100,
    1150, 1200, 1300, 1500, 1750, 2000, 2500, 3000, 4000, 5000,
];
const FEW_SPACINGS: &[u32] = &[
    0, 50, 100, 200, 500, 800, 1000, 1050, 1100, 1200, 1500, 2000, 3000, 5000,
];

/// The duration of a run: all runs of a point together measure the paper's 500 s (3.2).
pub(super) fn span(study: &Study<'_>) -> Span {
    Span {
        seconds: study.pick(15, 105),
        warm_up: 5,
    }
}

/// The source of the length of such runs.
pub(super) const TIME: &str = "with --full five seeds make the paper's 500 s a point (3.2)";

/// The seeds of several runs of each point.
pub(super) fn seeds(study: &Study<'_>) -> Vec<u64> {
    replica_seeds(SEED, study.pick(3, 5))
}

/// The results, by spacing and seed.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub(super) spacings: Vec<u32>,
    seeds: Vec<u64>,
    flows: Vec<Vec<Flows>>,
}

impl Sweep {
    /// Runs `merge` with every spacing and seed.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(
        study: &mut Study<'_>,
        seeds: Vec<u64>,
        merge: impl Fn(u32, u64) -> Merge,
    ) -> Result<Self, Pending> {
        let spacings = study.pick(FEW_SPACINGS, SPACINGS);
        Self::over(study, spacings, seeds, merge)
    }

    /// Like that, with other spacings, in microseconds.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn over(
        study: &mut Study<'_>,
        spacings: &[u32],
        seeds: Vec<u64>,
        merge: impl Fn(u32, u64) -> Merge,
    ) -> Result<Self, Pending> {
        let points = spacings
            .iter()
            .flat_map(|&spacing| seeds.iter().map(move |&seed| (spacing, seed)));
        let runs = study.request_all(points.map(|(spacing, seed)| Steady(merge(spacing, seed))))?;
        Ok(Self {
            flows: runs.chunks(seeds.len()).map(<[Flows]>::to_vec).collect(),
            spacings: spacings.to_vec(),
            seeds,
        })
    }

    /// The values of `of` at each spacing, for the seed of this position.
    fn of_seed(&self, seed: usize, of: &impl Fn(&Flows) -> Option<f64>) -> Vec<Option<f64>> {
        self.flows.iter().map(|runs| of(&runs[seed])).collect()
    }

    /// A value from the curve of `of` for each seed; seeds without one are left out.
    pub(super) fn samples(
        &self,
        of: impl Fn(&Flows) -> Option<f64>,
        from_curve: impl Fn(&[Option<f64>]) -> Option<f64>,
    ) -> Vec<Sample> {
        let seeds = self.seeds.iter().enumerate();
        let sample = |(number, &seed)| {
            let value = from_curve(&self.of_seed(number, &of))?;
            Some(Sample { seed, value })
        };
        seeds.filter_map(sample).collect()
    }

    /// The samples of `of` at the position of a spacing.
    pub(super) fn at(&self, position: usize, of: impl Fn(&Flows) -> Option<f64>) -> Vec<Sample> {
        self.samples(of, |curve| curve[position])
    }

    /// The position of a spacing.
    pub(super) fn position(&self, spacing: u32) -> Option<usize> {
        self.spacings.iter().position(|&known| known == spacing)
    }

    /// The curve of `of` with its intervals.
    pub(super) fn series(&self, name: &str, of: impl Fn(&Flows) -> Option<f64>) -> Series {
        let point = |(position, &spacing): (usize, &u32)| {
            point(f64::from(spacing), &self.at(position, &of))
        };
        Series {
            name: name.to_owned(),
            points: self.spacings.iter().enumerate().filter_map(point).collect(),
            ..Series::default()
        }
    }

    /// A table of columns over the spacing.
    pub(super) fn table(&self, title: &str, columns: &[Column<'_>]) -> FigureTable {
        let row = |(position, spacing): (usize, &u32)| {
            let cell = |(_, of, digits): &Column<'_>| text(&self.at(position, of), *digits);
            let cells = columns.iter().map(cell);
            std::iter::once(spacing.to_string()).chain(cells).collect()
        };
        let heads = columns.iter().map(|(head, ..)| *head);
        let heads: Vec<&str> = std::iter::once("spacing us").chain(heads).collect();
        let rows = self.spacings.iter().enumerate().map(row).collect();
        figure_table("spacings", title, &heads, rows)
    }

    /// The curve of `of`, a measurement for each spacing.
    pub(super) fn measurements(
        &self,
        model: &Measurement,
        of: impl Fn(&Flows) -> Option<f64>,
    ) -> Vec<Measurement> {
        let at = |(position, &spacing): (usize, &u32)| {
            let samples = self.at(position, &of);
            let measured = Measurement {
                samples,
                ..model.clone()
            };
            (!measured.samples.is_empty())
                .then(|| measured.over("spacing", "us", f64::from(spacing)))
        };
        self.spacings.iter().enumerate().filter_map(at).collect()
    }
}

/// The spacing that maximises the product of delivered rate and delivered share, in
/// microseconds.
pub(super) fn best(spacings: &[u32], products: &[Option<f64>]) -> Option<f64> {
    let curve = spacings.iter().zip(products);
    let known = curve.filter_map(|(spacing, product)| Some((spacing, (*product)?)));
    let best = known.max_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(&spacing, _)| f64::from(spacing))
}

/// The largest spacing that delivers the maximum rate to within 0.5 %, in
/// microseconds.
pub(super) fn largest_undiminished(spacings: &[u32], rates: &[Option<f64>]) -> Option<f64> {
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    let curve = spacings.iter().zip(rates).rev();
    let kept = |(_, rate): &(_, &Option<f64>)| rate.is_some_and(|rate| rate >= most * 0.995);
    curve
        .into_iter()
        .find(kept)
        .map(|(&spacing, _)| f64::from(spacing))
}

/// The minimum spacing from which less than 0.1 % is lost, in microseconds.
pub(super) fn least_lossless(spacings: &[u32], losses: &[Option<f64>]) -> Option<f64> {
    let curve = spacings.iter().zip(losses).rev();
    let kept = |(_, loss): &(_, &Option<f64>)| loss.is_some_and(|loss| loss < 1e-3);
    curve
        .take_while(kept)
        .last()
        .map(|(&spacing, _)| f64::from(spacing))
}

/// The mean over flows.
pub(super) fn mean(flows: &[Flow], of: impl Fn(&Flow) -> f64) -> Option<f64> {
    (!flows.is_empty()).then(|| flows.iter().map(of).sum::<f64>() / flows.len() as f64)
}

/// The minimum and maximum received rate of a flow.
pub(super) fn extremes(flows: &[Flow]) -> Option<[f64; 2]> {
    let received = || flows.iter().map(|flow| flow.received);
    Some([received().reduce(f64::min)?, received().reduce(f64::max)?])
}

/// The spacing, as the horizontal axis.
pub(super) fn microseconds() -> Axis {
    axis("packet spacing", "us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_spacing_is_where_the_rate_begins_to_fall_or_the_loss_has_ended() {
        let spacings = [0, 50, 100, 200];
        let rates = [9.69, 9.70, 9.69, 8.0].map(Some);
        let products = [1.0, 5.0, 9.0, 8.0].map(Some);
        assert_eq!(best(&spacings, &products), Some(100.0));
        assert_eq!(largest_undiminished(&spacings, &rates), Some(100.0));
        let losses = [0.9, 0.0, 0.01, 0.0].map(Some);
        assert_eq!(least_lossless(&spacings, &losses), Some(200.0));
        assert_eq!(least_lossless(&spacings, &[Some(0.5); 4]), None);
        assert_eq!(least_lossless(&spacings, &[Some(0.0); 4]), Some(0.0));
    }
}
