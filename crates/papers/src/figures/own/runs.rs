//! The streams that several figures use, and their quantities.

use polypath_claims::{FigureTable, Measurement, Pending, Sample, Study};
use polypath_report::plot::{Axis, Look, Plot, Series};

use crate::figures::estimates::{point, text};
use crate::figures::pictures::{axis, figure_table};
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::{Carrier, StreamResult, Streams};

/// The number of runs of a stream, each with a seed of its own.
const RUNS: [u32; 2] = [40, 400];

/// All runs of one file by one policy.
#[derive(Clone, Debug)]
pub(super) struct CarriedStreams {
    pub(super) file: MediaFile,
    pub(super) carrier: Carrier,
    pub(super) runs: Vec<StreamResult>,
}

/// A quantity of one run; `None` if the run has none.
type Quantity = fn(&StreamResult, Carrier) -> Option<f64>;

/// Packets that are late or lost at the deadline of the policy, in percent.
pub(super) fn late(run: &StreamResult, carrier: Carrier) -> Option<f64> {
    run.late.get(carrier.deadline()).copied()
}

/// Bytes on the wire per byte of payload.
#[expect(clippy::unnecessary_wraps, reason = "the signature of quantities")]
pub(super) fn wire(run: &StreamResult, _: Carrier) -> Option<f64> {
    Some(run.wire)
}

/// The streams of each file by each policy, in the order of the policies.
///
/// # Errors
/// If results are missing.
pub(super) fn request(
    study: &mut Study<'_>,
    files: &[MediaFile],
    carriers: &[Carrier],
) -> Result<Vec<CarriedStreams>, Pending> {
    let mut all = Vec::new();
    for &carrier in carriers {
        for &file in files {
            all.push((file, carrier, request_one(study, file, carrier, &[])));
        }
    }
    let all = all.into_iter().map(|(file, carrier, runs)| {
        Ok(CarriedStreams {
            file,
            carrier,
            runs: runs?,
        })
    });
    all.collect()
}

/// The streams of one file with settings by one policy.
///
/// # Errors
/// If the result is missing.
pub(super) fn request_one(
    study: &mut Study<'_>,
    file: MediaFile,
    carrier: Carrier,
    sets: &[&str],
) -> Result<Vec<StreamResult>, Pending> {
    let [quick, full] = RUNS;
    study.request(&Streams {
        file,
        sets: sets.iter().map(ToString::to_string).collect(),
        carrier,
        runs: study.pick(quick, full),
    })
}

/// A quantity of each run that has it.
pub(super) fn sampled(
    runs: &[StreamResult],
    of: impl Fn(&StreamResult) -> Option<f64>,
) -> Vec<Sample> {
    let sample = |run: &StreamResult| {
        let (seed, value) = (run.seed, of(run)?);
        Some(Sample { seed, value })
    };
    runs.iter().filter_map(sample).collect()
}

/// The sample with the greatest value; the first of equal ones.
pub(super) fn greatest(samples: &[Sample]) -> Option<Sample> {
    let greater = |best: Sample, next: Sample| if next.value > best.value { next } else { best };
    samples.iter().copied().reduce(greater)
}

/// The sample with the least value; the first of equal ones.
pub(super) fn least(samples: &[Sample]) -> Option<Sample> {
    let less = |best: Sample, next: Sample| if next.value < best.value { next } else { best };
    samples.iter().copied().reduce(less)
}

impl CarriedStreams {
    pub(super) fn samples(&self, of: Quantity) -> Vec<Sample> {
        sampled(&self.runs, |run| of(run, self.carrier))
    }

    /// A quantity for a claim, named `NAME.POLICY.FILE`. All policies have the same seeds, so those
    /// of one file are one group.
    pub(super) fn measure(&self, claim: &str, name: &str, unit: &str, of: Quantity) -> Measurement {
        let file = self.file.word();
        let quantity = format!("{name}.{}.{file}", self.carrier.word());
        Measurement::of(claim, &quantity, unit, file, &self.samples(of))
    }

    /// The name of the policy for readers.
    fn title(&self) -> &'static str {
        match self.carrier {
            Carrier::SinglePath => "single-path",
            Carrier::DuplicateAll => "duplicate-all",
            Carrier::Relaxed => "in-time, second deadline, .1",
            Carrier::Tight => "in-time, first deadline, .2",
        }
    }
}

/// The table of all streams.
pub(super) fn table(id: &str, all: &[CarriedStreams]) -> FigureTable {
    let row = |of: &CarriedStreams| {
        vec![
            of.file.word().to_owned(),
            of.title().to_owned(),
            text(&of.samples(late), 4),
            text(&of.samples(wire), 4),
            text(&of.samples(|run, _| run.delay), 1),
            text(&of.samples(|run, _| Some(run.gap)), 1),
            of.runs.len().to_string(),
        ]
    };
    figure_table(
        id,
        "Streams of 5 Mbit/s: means over the runs",
        &[
            "media-",
            "policy",
            "late or lost at its deadline, %",
            "bytes on the wire per byte of payload",
            "99.9th percentile of the delay, ms",
            "longest gap, ms",
            "runs",
        ],
        all.iter().map(row).collect(),
    )
}

/// Pictures of lateness and bytes by file, with a mark for each policy.
pub(super) fn plots(id: &str, all: &[CarriedStreams], files: &[MediaFile]) -> Vec<Plot> {
    let picture = |what: &str, title: &str, y: Axis, of: Quantity| Plot {
        id: format!("{id}-{what}"),
        title: title.to_owned(),
        x: Axis {
            names: files.iter().map(|file| file.word().to_owned()).collect(),
            ..axis("scenario", "")
        },
        y,
        series: series(all, files, of),
        ..Plot::default()
    };
    vec![
        picture(
            "late",
            "Late or lost packets",
            axis("late or lost", "%"),
            late,
        ),
        picture(
            "wire",
            "Bytes on the wire per byte of payload",
            axis("bytes per byte", ""),
            wire,
        ),
    ]
}

/// The marks of each policy, side by side.
fn series(all: &[CarriedStreams], files: &[MediaFile], of: Quantity) -> Vec<Series> {
    let policies: Vec<&[CarriedStreams]> = all.chunk_by(|a, b| a.carrier == b.carrier).collect();
    let marks = |(number, streams): (usize, &&[CarriedStreams])| {
        let beside = (number as f64 - (policies.len() as f64 - 1.0) / 2.0) * 0.08;
        let at = |file: MediaFile| files.iter().position(|other| *other == file);
        let points = streams.iter().filter_map(|streams| {
            let x = at(streams.file)? as f64 + beside;
            point(x, &streams.samples(of))
        });
        Series {
            name: streams[0].title().to_owned(),
            points: points.collect(),
            look: Look::Marks,
        }
    };
    policies.iter().enumerate().map(marks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_and_the_least_sample_are_the_first_of_equal_ones() {
        let sample = |(seed, value): &(u64, f64)| Sample {
            seed: *seed,
            value: *value,
        };
        let all: Vec<Sample> = [(1, 0.2), (2, 0.9), (3, 0.9), (4, 0.1), (5, 0.1)]
            .iter()
            .map(sample)
            .collect();
        assert_eq!(greatest(&all), Some(all[1]));
        assert_eq!(least(&all), Some(all[3]));
        assert_eq!((greatest(&[]), least(&[])), (None, None));
    }
}
