//! `report.json`: the figures for programs.
//!
//! Times are in seconds unless the key states another unit, sizes in bytes, rates in bits a second;
//! `ci95` is half the width of the 95 % confidence interval; what does not exist is null. Numbers
//! are rounded to a fixed number of digits, so that equal runs give equal bytes.
//!
//! Transfers that timed out (`timed_out` of them) count as `timeout_s`: the mean of `transfer_s`
//! and each quantile that equals `timeout_s` are then lower bounds, `difference_to_tcp_bound`
//! states what the difference is (`exact`, `at-least`, `at-most`, `neither`), and `prebuffer_s` is
//! neither. `difference_to_tcp_includes_zero` and `harm_includes_one` state whether the interval
//! includes "no difference"; they are null without an interval. `conclusion` has the sentences of
//! the other reports. `intact` is null where no transfer completed. [`crate::legend`] explains each
//! figure.

use polypath_core::time::Duration;
use serde::Serialize;

use crate::conclusion::transfers::conclusion;
use crate::difference::Difference;
use crate::figures::{Figures, SchemeFigures};
use crate::record::{DirectionRecord, ExperimentRecord, Lateness, PathRecord, SchemeRecord};
use crate::statistics::Estimate;

/// The version of the format of `report.json`; it changes when a key changes its meaning.
pub const VERSION: u32 = 1;

/// The content of `report.json`, with a line feed at its end.
pub fn render(experiment: &ExperimentRecord, figures: &Figures) -> serde_json::Result<String> {
    let schemes = experiment.schemes.iter().zip(&figures.schemes);
    let report = Report {
        version: VERSION,
        about: about(experiment),
        schemes: schemes
            .map(|(record, figures)| scheme(record, figures))
            .collect(),
        conclusion: conclusion(experiment, figures),
        lateness_us: experiment.lateness.as_ref().map(lateness),
        valid: experiment.lateness.is_none_or(|lateness| lateness.valid()),
        parameters: experiment
            .parameters
            .iter()
            .map(|(k, v)| (k.clone(), v.clone().into()))
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&report)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    #[serde(flatten)]
    about: About<'a>,
    schemes: Vec<Scheme<'a>>,
    conclusion: Vec<String>,
    lateness_us: Option<LatenessUs>,
    valid: bool,
    parameters: serde_json::Map<String, serde_json::Value>,
}

/// The identity of the run.
#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    title: &'a str,
    mode: String,
    seed: u64,
    timeout_s: f64,
    content: String,
}

#[derive(Serialize)]
struct Scheme<'a> {
    name: &'a str,
    transfer_s: Spread,
    prebuffer_s: Option<f64>,
    overhead_bytes: u64,
    duplicates_discarded: u64,
    path_switches: usize,
    intact: Option<bool>,
    #[serde(flatten)]
    more: More<'a>,
}

/// The report without its headline.
#[derive(Serialize)]
struct More<'a> {
    #[serde(flatten)]
    prebuffer: Prebuffer,
    timed_out: usize,
    transfer_quantiles_s: Option<Quantiles>,
    difference_to_tcp_s: Option<Spread>,
    difference_to_tcp_bound: Option<&'static str>,
    difference_to_tcp_includes_zero: Option<bool>,
    overhead_ratio: Option<f64>,
    harm: Option<Spread>,
    harm_includes_one: Option<bool>,
    background_goodput_bit_s: Option<u64>,
    active_path: &'a str,
    paths: Vec<Path<'a>>,
}

/// The keys that belong to `prebuffer_s`.
#[derive(Serialize)]
struct Prebuffer {
    prebuffer_ci95_s: Option<f64>,
    prebuffer_n: usize,
}

/// A mean with half of its interval.
#[derive(Serialize)]
pub(crate) struct Spread {
    mean: Option<f64>,
    ci95: Option<f64>,
    n: usize,
}

#[derive(Serialize)]
struct Quantiles {
    p50: f64,
    p95: f64,
}

#[derive(Serialize)]
struct Path<'a> {
    name: &'a str,
    forward: Direction,
    backward: Direction,
}

#[derive(Serialize)]
struct Direction {
    frames_out: u64,
    bytes_out: u64,
    frames_in: u64,
    bytes_in: u64,
    loss: Option<f64>,
    load: Option<f64>,
    delay_ms: Option<DelayMs>,
}

#[derive(Serialize)]
struct DelayMs {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

#[derive(Serialize)]
struct LatenessUs {
    p50: f64,
    p99: f64,
    max: f64,
    bound: f64,
}

fn about(experiment: &ExperimentRecord) -> About<'_> {
    About {
        name: &experiment.name,
        title: &experiment.title,
        mode: experiment.mode.to_string(),
        seed: experiment.seed,
        timeout_s: seconds(experiment.timeout),
        content: experiment.content.to_string(),
    }
}

fn scheme<'a>(record: &'a SchemeRecord, figures: &SchemeFigures) -> Scheme<'a> {
    let overlay = &record.overlay;
    let active = overlay.paths.get(overlay.active_path.index());
    Scheme {
        name: &record.name,
        transfer_s: spread(figures.transfer),
        prebuffer_s: figures.prebuffer.map(|estimate| rounded(estimate.mean)),
        overhead_bytes: overlay.totals.overhead().0,
        duplicates_discarded: overlay.totals.duplicates_discarded(),
        path_switches: overlay.server_switches().count(),
        intact: figures.intact,
        more: More {
            prebuffer: Prebuffer {
                prebuffer_ci95_s: figures.prebuffer.and_then(|e| e.ci95).map(rounded),
                prebuffer_n: figures.prebuffer.map_or(0, |e| e.n),
            },
            timed_out: figures.timed_out,
            transfer_quantiles_s: figures.quantiles.map(|[p50, p95]| Quantiles {
                p50: rounded(p50),
                p95: rounded(p95),
            }),
            difference_to_tcp_s: figures.difference.map(|d| spread(Some(d.estimate))),
            difference_to_tcp_bound: figures.difference.map(|d| d.bound.name()),
            difference_to_tcp_includes_zero: includes_zero(figures.difference),
            overhead_ratio: figures.overhead_ratio.map(rounded),
            harm: figures.harm.map(|estimate| spread(Some(estimate))),
            harm_includes_one: includes_zero(figures.harm_difference()),
            background_goodput_bit_s: record.background_goodput.map(|rate| rate.0),
            active_path: active.map_or("", |path| &path.name),
            paths: overlay.paths.iter().map(path).collect(),
        },
    }
}

pub(crate) fn spread(estimate: Option<Estimate>) -> Spread {
    Spread {
        mean: estimate.map(|estimate| rounded(estimate.mean)),
        ci95: estimate.and_then(|estimate| estimate.ci95).map(rounded),
        n: estimate.map_or(0, |estimate| estimate.n),
    }
}

/// Whether the interval of a difference includes zero; null without an interval.
pub(crate) fn includes_zero(difference: Option<Difference>) -> Option<bool> {
    difference?.includes_zero()
}

fn path(path: &PathRecord) -> Path<'_> {
    Path {
        name: &path.name,
        forward: direction(&path.forward),
        backward: direction(&path.backward),
    }
}

fn direction(direction: &DirectionRecord) -> Direction {
    let ms = |span: Duration| rounded(span.as_secs_f64() * 1e3);
    Direction {
        frames_out: direction.frames_out,
        bytes_out: direction.bytes_out.0,
        frames_in: direction.frames_in,
        bytes_in: direction.bytes_in.0,
        loss: direction.loss().map(rounded),
        load: direction.load.map(rounded),
        delay_ms: direction.delay.map(|delay| DelayMs {
            p50: ms(delay.p50),
            p95: ms(delay.p95),
            p99: ms(delay.p99),
            max: ms(delay.max),
        }),
    }
}

fn lateness(lateness: &Lateness) -> LatenessUs {
    let us = |span: Duration| rounded(span.as_secs_f64() * 1e6);
    LatenessUs {
        p50: us(lateness.p50),
        p99: us(lateness.p99),
        max: us(lateness.max),
        bound: us(lateness.bound),
    }
}

fn seconds(span: Duration) -> f64 {
    rounded(span.as_secs_f64())
}

/// To six digits after the point: microseconds where the unit is the second.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::experiment;

    #[test]
    fn the_headline_has_the_keys_that_programs_rely_on() {
        let experiment = experiment();
        let text = render(&experiment, &Figures::of(&experiment)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let scheme = &json["schemes"][1];
        assert_eq!(scheme["name"], "ppd-tcp3");
        assert_eq!(scheme["transfer_s"]["n"], 3);
        for key in [
            "prebuffer_s",
            "overhead_bytes",
            "duplicates_discarded",
            "path_switches",
        ] {
            assert!(scheme[key].is_number(), "{key}");
        }
        assert_eq!(scheme["intact"], true);
        assert_eq!(json["lateness_us"]["p99"], 800.0);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn equal_runs_give_equal_bytes() {
        let render = || render(&experiment(), &Figures::of(&experiment())).unwrap();
        assert_eq!(render(), render());
    }
}
