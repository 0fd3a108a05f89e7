//! A clip that is played while it arrives, beside transfers that fill the link.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use polypath_core::connections::{ControlConfig, ControllerConfig, MAX_CONNECTIONS, PlayOutConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_lab::streams::StreamLab;
use polypath_report::streams::{
    StreamCarrier, StreamMedia, StreamOutcome, StreamTransport, StreamsRun, TransferTime,
};
use polypath_report::table::plain;
use polypath_stream::target;
use serde::Serialize;

use super::ffmpeg::{TestClip, decoder_errors};
use super::output::log;
use super::retry::run_in_time;
use super::{Measured, RaceError, link};

/// The link: 25 ms one way, and a queue of about 60 ms.
const LINK: Rate = Rate(20_000_000);
const DELAY_MS: u64 = 25;
const QUEUE: u64 = 100;
const VIDEO_RATE: Rate = Rate(2_000_000);
/// The rate at which ffmpeg packs the clip, and what receivers ask for: a little more.
const MUX_RATE: Rate = Rate(2_500_000);
const WANTED: Rate = Rate(2_750_000);
/// The transfers begin after this time.
const ALONE: Duration = Duration::from_secs(10);
/// The time after the clip in which what is late may arrive.
const TAIL: u64 = 8;
/// The seconds of the transfers that are not counted: their windows grow in these.
const GROWTH: usize = 5;
/// A player as of a live channel.
const PLAY_OUT: PlayOutConfig = PlayOutConfig {
    prebuffer: Duration::from_secs(2),
    rebuffer: Duration::from_secs(1),
    refill: 0,
};

/// The measurement of a clip.
#[derive(Debug, Args)]
pub(crate) struct Live {
    /// The duration of the clip in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(20..=600))]
    seconds: u64,
    /// The number of transfers beside it.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=64))]
    transfers: u32,
    /// The congestion control of all connections, by the kernel's name.
    #[arg(long, default_value = "cubic")]
    congestion_control: String,
}

/// The clip by one carrier.
#[derive(Debug, Serialize)]
struct LiveResult {
    carrier: String,
    stops: u32,
    /// The mean number of connections beside the transfers.
    connections: f64,
    /// The rate of the media beside the transfers, in bits per second.
    rate_bit_per_s: f64,
    /// The rate of all transfers together.
    transfers_bit_per_s: f64,
    /// The lines that the decoder wrote about what arrived.
    decoder_errors: usize,
    /// Whether the bytes are those that ffmpeg sent.
    identical: bool,
}

impl Live {
    pub(crate) fn measure(&self, seed: u64) -> Result<Measured, RaceError> {
        let ffmpeg = |what| move |source| RaceError::Ffmpeg { what, source };
        let folder = tempfile::tempdir().map_err(ffmpeg("making a clip"))?;
        let clip = folder.path().join("clip.ts");
        let packing = TestClip {
            seconds: self.seconds,
            video: VIDEO_RATE,
            multiplex: Some(MUX_RATE),
        };
        packing.make(&clip).map_err(ffmpeg("making a clip"))?;
        let sent = packing.packed(&clip).map_err(ffmpeg("packing the clip"))?;
        let run = self.streams_run(&clip, seed)?;
        log(
            "stream-race",
            &format!(
                "{} s of media beside {} transfers",
                self.seconds, self.transfers
            ),
        );
        let mut lab = StreamLab::open(&self.congestion_control)?;
        let (outcomes, conditions) = run_in_time(
            "stream-race",
            || lab.run(&run),
            |(_, conditions)| conditions.is_late(),
        )?;
        let mut results = Vec::new();
        for (carrier, outcome) in run.streams.iter().zip(&outcomes) {
            let path = folder.path().join("received.ts");
            std::fs::write(&path, &outcome.received).map_err(RaceError::Write)?;
            let errors = decoder_errors(&path).map_err(ffmpeg("decoding what arrived"))?;
            results.push(self.result(&carrier.name, outcome, errors, &sent));
        }
        let bounds = bounds(&results);
        let is_good = bounds.iter().all(|(_, holds)| *holds) && !conditions.is_late();
        let mut text = self.text(&results, seed);
        for (bound, holds) in &bounds {
            let verdict = if *holds { "holds" } else { "NOT REACHED" };
            let _ = writeln!(text, "{bound}: {verdict}");
        }
        if conditions.is_late() {
            text += "the links were late: the run is invalid\n";
        }
        let bounds: Vec<_> = bounds
            .iter()
            .map(|(bound, holds)| serde_json::json!({ "text": bound, "holds": holds }))
            .collect();
        let json = serde_json::json!({
            "version": 1, "seed": seed, "late": conditions.is_late(), "carriers": results, "bounds": bounds,
        });
        Ok(Measured {
            text,
            json,
            is_good,
        })
    }

    fn streams_run(&self, clip: &Path, seed: u64) -> Result<StreamsRun, RaceError> {
        let controlled = |connections| StreamCarrier {
            name: format!("{connections} connections"),
            transport: StreamTransport::Connections(ControllerConfig::AdjustWindow {
                connections,
                control: ControlConfig::for_target(target(WANTED)),
            }),
        };
        let auto = |name: &str, most| StreamCarrier {
            name: name.to_owned(),
            transport: StreamTransport::Connections(ControllerConfig::auto(target(WANTED), most)),
        };
        let transfer = TransferTime {
            from: ALONE,
            until: Duration::from_secs(self.seconds),
        };
        Ok(StreamsRun {
            scenario: link(LINK, DELAY_MS * 1000, QUEUE)?,
            media: StreamMedia::Live {
                clip: clip.to_owned(),
                rate: MUX_RATE,
            },
            streams: vec![
                controlled(5),
                StreamCarrier {
                    name: "one TCP".to_owned(),
                    transport: StreamTransport::Tcp,
                },
                auto("auto", MAX_CONNECTIONS),
                auto("auto, --max-share 3", 3),
            ],
            rate: WANTED,
            connection_limit: None,
            play_out: Some(PLAY_OUT),
            transfers: vec![transfer; self.transfers as usize],
            congestion_control: self.congestion_control.clone(),
            duration: Duration::from_secs(self.seconds + TAIL),
            seed,
        })
    }

    fn result(
        &self,
        name: &str,
        outcome: &StreamOutcome,
        decoder_errors: usize,
        sent: &[u8],
    ) -> LiveResult {
        let from = usize::try_from(ALONE.0 / 1_000_000_000).unwrap_or(usize::MAX) + GROWTH;
        let until = usize::try_from(self.seconds).unwrap_or(usize::MAX);
        let mean = |of: &[f64]| {
            let beside = of.get(from..until.min(of.len())).unwrap_or_default();
            beside.iter().sum::<f64>() / beside.len().max(1) as f64
        };
        LiveResult {
            carrier: name.to_owned(),
            stops: outcome.stops,
            connections: mean(&outcome.connections),
            rate_bit_per_s: mean(&outcome.throughput),
            transfers_bit_per_s: mean(&outcome.transfers),
            decoder_errors,
            identical: outcome.received == sent,
        }
    }

    fn text(&self, results: &[LiveResult], seed: u64) -> String {
        let rows = results.iter().map(|of| {
            vec![
                of.carrier.clone(),
                of.stops.to_string(),
                format!("{:.1}", of.connections),
                format!("{:.2}", of.rate_bit_per_s / 1e6),
                format!("{:.2}", of.transfers_bit_per_s / 1e6),
                of.decoder_errors.to_string(),
                if of.identical { "yes" } else { "no" }.to_owned(),
            ]
        });
        let header = [
            "carrier",
            "stops",
            "connections",
            "media, Mbit/s",
            "transfers, Mbit/s",
            "decoder errors",
            "every byte",
        ];
        format!(
            "{} s of MPEG-TS at {MUX_RATE} over a link of {LINK}, {DELAY_MS} ms one way, beside {} transfers ({}) \
             from the second {} on; seed {seed}\n{}\n",
            self.seconds,
            self.transfers,
            self.congestion_control,
            ALONE.0 / 1_000_000_000,
            plain(&header, rows.collect(), 1)
        )
    }
}

/// Several connections play without a stop, an error or a missing byte, and one TCP stops.
fn bounds(results: &[LiveResult]) -> Vec<(String, bool)> {
    let [several, one, ..] = results else {
        return Vec::new();
    };
    vec![
        (format!("{}: no stop", several.carrier), several.stops == 0),
        (
            format!("{}: no decoder error, every byte", several.carrier),
            several.decoder_errors == 0 && several.identical,
        ),
        (format!("{}: stops", one.carrier), one.stops > 0),
    ]
}
