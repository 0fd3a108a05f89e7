//! The measured rate of a stream beside the wanted one.

use clap::Args;
use polypath_core::connections::{ControlConfig, ControllerConfig, WindowControl};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_lab::streams::StreamLab;
use polypath_report::statistics::Estimate;
use polypath_report::streams::{
    StreamCarrier, StreamMedia, StreamOutcome, StreamTransport, StreamsRun,
};
use polypath_report::table::plain;
use polypath_stream::target;
use serde::Serialize;

use super::output::log;
use super::retry::run_in_time;
use super::{Measured, RaceError, link};

/// The link, and its queue in packets.
const LINK: Rate = Rate(100_000_000);
const QUEUE: u64 = 400;
/// The seconds that are left out at the start: the windows are set in these.
const WARM_UP: u32 = 8;
/// The most by which the measured rate differs from the wanted one, in per cent.
const MOST: f64 = 10.0;

/// The rates and round-trip times that are measured.
#[derive(Debug, Args)]
pub(crate) struct Rates {
    /// The wanted rates, in kbit/s.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 500, 2000, 10_000, 50_000],
          value_parser = clap::value_parser!(u64).range(10..=80_000))]
    kbits: Vec<u64>,
    /// The round-trip times, in milliseconds.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 50, 100, 300],
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    rtts: Vec<u64>,
    /// The numbers of connections.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 5],
          value_parser = clap::value_parser!(u32).range(1..=64))]
    connections: Vec<u32>,
    /// The duration of a stream in seconds.
    #[arg(long, default_value_t = 28, value_parser = clap::value_parser!(u64).range(12..=600))]
    seconds: u64,
}

/// A stream.
#[derive(Debug, Serialize)]
struct RateResult {
    wanted_bit_per_s: u64,
    rtt_ms: u64,
    connections: u32,
    /// The mean of the seconds after the start.
    measured_bit_per_s: f64,
    /// The half-width of the 95 % confidence interval of the mean.
    ci95_bit_per_s: Option<f64>,
    difference_percent: f64,
    /// Whether it is within the bound.
    holds: bool,
    window_control: Option<&'static str>,
    late: bool,
}

impl Rates {
    pub(crate) fn measure(&self, seed: u64) -> Result<Measured, RaceError> {
        let mut lab = StreamLab::open("cubic")?;
        let mut results = Vec::new();
        for rtt in &self.rtts {
            for kbits in &self.kbits {
                log("stream-rates", &format!("{kbits} kbit/s over {rtt} ms"));
                results.extend(self.run(&mut lab, *kbits, *rtt, seed)?);
            }
        }
        let is_good = results.iter().all(|of| of.holds && !of.late);
        Ok(Measured {
            text: self.text(&results, seed),
            json: serde_json::json!({
                "version": 1, "seed": seed, "most_percent": MOST, "streams": results,
            }),
            is_good,
        })
    }

    /// The streams of one rate and round-trip time.
    fn run(
        &self,
        lab: &mut StreamLab,
        kbits: u64,
        rtt_ms: u64,
        seed: u64,
    ) -> Result<Vec<RateResult>, RaceError> {
        let streams = self.connections.iter().map(|&connections| StreamCarrier {
            name: format!("{connections} connections"),
            transport: StreamTransport::Connections(ControllerConfig::AdjustWindow {
                connections,
                control: ControlConfig::for_target(target(Rate(kbits * 1000))),
            }),
        });
        let run = StreamsRun {
            scenario: link(LINK, rtt_ms * 500, QUEUE)?,
            media: StreamMedia::Endless,
            streams: streams.collect(),
            rate: Rate(kbits * 1000),
            connection_limit: None,
            play_out: None,
            transfers: Vec::new(),
            congestion_control: "cubic".to_owned(),
            duration: Duration::from_secs(self.seconds),
            seed,
        };
        let (outcomes, conditions) = run_in_time(
            "stream-rates",
            || lab.run(&run),
            |(_, conditions)| conditions.is_late(),
        )?;
        let results = self.connections.iter().zip(&outcomes);
        Ok(results
            .map(|(connections, outcome)| RateResult {
                rtt_ms,
                connections: *connections,
                late: conditions.is_late(),
                ..result(run.rate, outcome)
            })
            .collect())
    }

    fn text(&self, results: &[RateResult], seed: u64) -> String {
        let rows = results.iter().map(|of| {
            let half = of
                .ci95_bit_per_s
                .map_or(String::new(), |half| format!(" +- {:.1}", half / 1e3));
            vec![
                (of.wanted_bit_per_s / 1000).to_string(),
                of.rtt_ms.to_string(),
                of.connections.to_string(),
                format!("{:.1}{half}", of.measured_bit_per_s / 1e3),
                format!("{:+.1}", of.difference_percent),
                if of.holds { "holds" } else { "NOT REACHED" }.to_owned(),
                of.window_control.unwrap_or("-").to_owned(),
                if of.late { "late" } else { "yes" }.to_owned(),
            ]
        });
        let header = [
            "wanted, kbit/s",
            "round trip, ms",
            "connections",
            "measured, kbit/s",
            "difference, %",
            "within 10 %",
            "windows by",
            "valid",
        ];
        format!(
            "Streams over a link of {LINK}, mean of the {} s after the first {WARM_UP} with 95 % confidence, seed {seed}\n{}\n",
            self.seconds - u64::from(WARM_UP),
            plain(&header, rows.collect(), 0)
        )
    }
}

fn result(wanted: Rate, outcome: &StreamOutcome) -> RateResult {
    let seconds = outcome
        .throughput
        .get(WARM_UP as usize..)
        .unwrap_or_default();
    let measured = Estimate::of(seconds);
    let mean = measured.map_or(0.0, |of| of.mean);
    let difference = (mean / wanted.as_f64() - 1.0) * 100.0;
    RateResult {
        wanted_bit_per_s: wanted.0,
        rtt_ms: 0,
        connections: 0,
        measured_bit_per_s: mean,
        ci95_bit_per_s: measured.and_then(|of| of.ci95),
        difference_percent: difference,
        holds: difference.abs() <= MOST,
        window_control: outcome.window_control.map(WindowControl::name),
        late: false,
    }
}
