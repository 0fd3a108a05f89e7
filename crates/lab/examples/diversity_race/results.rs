//! The results of the downloads: figures, bounds and tables.

use std::fmt::Write;

use polypath_lab::downloads::DownloadOutcome;
use polypath_report::media::LabConditions;
use polypath_report::statistics::Estimate;
use polypath_report::table::plain;
use serde::Serialize;

use super::Args;
use super::settings::SETTINGS;

/// The least gain of one download, for which a link carries a hundred packets a round trip: its
/// goodput with marks over that of one link that fades (claim `diversity.ecn_fix`).
const LEAST_GAIN: f64 = 1.6;
/// With marks, Jain's index is at least this part of that over one link without fades.
const LEAST_FAIRNESS: f64 = 0.95;
/// The positions of one link without fades and of one that fades.
const UNFADED: usize = 0;
const SINGLE: usize = 1;

/// The results of a number of downloads with a congestion control.
#[derive(Serialize)]
pub(crate) struct Cell {
    flows: u32,
    control: String,
    carriers: Vec<CarrierResult>,
    bounds: Vec<Bound>,
    /// The largest 99th percentile of the lateness of the emulated links, in milliseconds.
    late_ms: f64,
    /// The runs that do not count, with the reason.
    invalid: Vec<String>,
}

#[derive(Serialize)]
struct CarrierResult {
    name: &'static str,
    lab: Vec<Figures>,
    simulated: Option<Vec<Figures>>,
}

/// The figures of a carrier in a run.
#[derive(Clone, Copy, Serialize)]
struct Figures {
    goodput_bit_per_s: f64,
    jain: f64,
    /// The goodput of the download that begins last over the mean of the others.
    late_share: f64,
    /// The mean wait of a packet at a link.
    queue_delay_s: f64,
    /// The share of packets that the links dropped at their queues.
    dropped: f64,
    /// The packets that arrived with a mark, in the whole run; absent in the simulation.
    marked: Option<u64>,
}

/// A figure of a run, in the unit of the table.
type Figure = fn(&Figures) -> f64;

#[derive(Serialize)]
struct Bound {
    text: String,
    holds: bool,
}

impl Figures {
    fn of(outcome: &DownloadOutcome) -> Self {
        let offered = outcome.links.packets_in.max(1) as f64;
        Self {
            goodput_bit_per_s: outcome.goodput(),
            jain: outcome.shares.jain,
            late_share: outcome.shares.late,
            queue_delay_s: outcome.queue_delay(),
            dropped: outcome.links.drops.queue() as f64 / offered,
            marked: None,
        }
    }
}

impl Cell {
    pub(crate) fn new(
        flows: u32,
        control: &str,
        runs: &[(Vec<DownloadOutcome>, LabConditions)],
        simulated: Option<&[Vec<DownloadOutcome>]>,
    ) -> Self {
        let of = |at: usize| CarrierResult {
            name: SETTINGS[at].name,
            lab: runs
                .iter()
                .map(|(outcomes, _)| Figures {
                    marked: Some(outcomes[at].marked),
                    ..Figures::of(&outcomes[at])
                })
                .collect(),
            simulated: simulated.map(|carriers| carriers[at].iter().map(Figures::of).collect()),
        };
        let carriers: Vec<CarrierResult> = (0..SETTINGS.len()).map(of).collect();
        let conditions = runs.iter().map(|(_, conditions)| conditions);
        let late = conditions.clone().map(|of| of.lateness.as_secs_f64() * 1e3);
        Self {
            flows,
            control: control.to_owned(),
            bounds: bounds(flows, control, &carriers),
            carriers,
            late_ms: late.fold(0.0, f64::max),
            invalid: conditions
                .filter_map(LabConditions::invalid_reason)
                .collect(),
        }
    }

    /// Whether all runs count and all bounds hold.
    pub(crate) fn is_good(&self) -> bool {
        self.invalid.is_empty() && self.bounds.iter().all(|bound| bound.holds)
    }

    pub(crate) fn text(&self, args: &Args) -> String {
        let header = [
            "carrier",
            "goodput, Mbit/s",
            "simulated",
            "Jain's index",
            "simulated",
            "late share",
            "simulated",
            "queue, ms",
            "simulated",
            "dropped, %",
            "marks",
        ];
        let rows = self.carriers.iter().map(CarrierResult::row).collect();
        let mut text = format!(
            "{} downloads, {}: means of {} with 95 % confidence, seed {}; links late by at most {:.2} ms\n{}\n",
            self.flows,
            self.control,
            args.runs,
            args.seed,
            self.late_ms,
            plain(&header, rows, 1)
        );
        for reason in &self.invalid {
            let _ = writeln!(text, "a run does not count: {reason}");
        }
        for bound in &self.bounds {
            let verdict = if bound.holds { "holds" } else { "NOT REACHED" };
            let _ = writeln!(text, "{}: {verdict}", bound.text);
        }
        text.push('\n');
        text
    }
}

impl CarrierResult {
    fn row(&self) -> Vec<String> {
        let figures: [(Figure, usize); 4] = [
            (|of| of.goodput_bit_per_s / 1e6, 2),
            (|of| of.jain, 3),
            (|of| of.late_share, 2),
            (|of| of.queue_delay_s * 1e3, 1),
        ];
        let mut row = vec![self.name.to_owned()];
        for (figure, digits) in figures {
            row.push(mean(&self.lab, figure, digits));
            let simulated = self.simulated.as_ref();
            row.push(simulated.map_or("-".to_owned(), |runs| mean(runs, figure, digits)));
        }
        row.push(mean(&self.lab, |of| of.dropped * 100.0, 2));
        row.push(mean(&self.lab, |of| of.marked.unwrap_or(0) as f64, 0));
        row
    }

    fn mean(&self, figure: Figure) -> f64 {
        estimate(&self.lab, figure).map_or(0.0, |of| of.mean)
    }
}

fn estimate(runs: &[Figures], figure: Figure) -> Option<Estimate> {
    Estimate::of(&runs.iter().map(figure).collect::<Vec<f64>>())
}

/// The mean of a figure with its interval.
fn mean(runs: &[Figures], figure: Figure, digits: usize) -> String {
    match estimate(runs, figure) {
        Some(Estimate {
            mean,
            ci95: Some(half),
            ..
        }) => format!("{mean:.digits$} +- {half:.digits$}"),
        Some(Estimate { mean, .. }) => format!("{mean:.digits$}"),
        None => "-".to_owned(),
    }
}

/// The bounds on the means of carriers with marks, fixed before the first run: on the gain, for one
/// download, on the delay and on fairness, each in the lab. BBR ignores marks.
fn bounds(flows: u32, control: &str, carriers: &[CarrierResult]) -> Vec<Bound> {
    if control == "bbr" {
        return Vec::new();
    }
    let mut bounds = Vec::new();
    let marking = carriers.iter().zip(&SETTINGS).filter(|(_, of)| of.marks());
    for (carrier, _) in marking {
        let goodput = carrier.mean(|of| of.goodput_bit_per_s);
        let single = carriers[SINGLE].mean(|of| of.goodput_bit_per_s);
        let least = if flows == 1 { LEAST_GAIN } else { 1.0 };
        bounds.push(Bound {
            text: format!(
                "{}: {:.2} times the goodput of one link that fades, at least {least:.1}",
                carrier.name,
                goodput / single
            ),
            holds: goodput >= least * single,
        });
        let delay = carrier.mean(|of| of.queue_delay_s * 1e3);
        let most = carriers[UNFADED].mean(|of| of.queue_delay_s * 1e3);
        bounds.push(Bound {
            text: format!(
                "{}: packets wait for {delay:.1} ms, at most {most:.1} as over one link without fades",
                carrier.name
            ),
            holds: delay <= most,
        });
        let jain = carrier.mean(|of| of.jain);
        let least = LEAST_FAIRNESS * carriers[UNFADED].mean(|of| of.jain);
        bounds.push(Bound {
            text: format!(
                "{}: Jain's index is {jain:.3}, at least {least:.3}, 95 % of that over one link without fades",
                carrier.name
            ),
            holds: jain >= least,
        });
    }
    bounds
}
