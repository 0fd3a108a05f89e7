//! Streams by the deployed server and receiver over an emulated link: `stream_race live` plays a clip
//! beside transfers that fill the link, over several connections and over one TCP; `stream_race
//! rates` compares the measured with the wanted rate over rates and round-trip times. `make
//! stream-race` and `make stream-rates`, as root.

#[path = "../common/errors.rs"]
mod errors;
#[path = "../common/ffmpeg.rs"]
mod ffmpeg;
mod live;
#[path = "../common/output.rs"]
mod output;
mod rates;
#[path = "../common/retry.rs"]
mod retry;
#[path = "../common/scenario.rs"]
mod scenario;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use polypath_lab::{LabError, enter_user_namespace};

use errors::error_chain;
use output::{Format, log, print};

/// Measures streams over several connections in the lab.
#[derive(Debug, Parser)]
#[command(
    name = "stream_race",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 a bound is not reached, a run was late, or the measurement failed; \
                  2 wrong command line; 3 this machine lacks a prerequisite."
)]
struct Args {
    #[command(subcommand)]
    what: What,
    /// The root seed.
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    /// The output format.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A clip by ffmpeg beside transfers, over five connections and over one TCP.
    Live(live::Live),
    /// The measured rate over wanted rates and round-trip times, without other traffic.
    Rates(rates::Rates),
}

/// A measurement, and whether all its bounds hold.
struct Measured {
    text: String,
    json: serde_json::Value,
    is_good: bool,
}

#[derive(Debug, thiserror::Error)]
enum RaceError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("the scenario of the link: {0}")]
    Scenario(String),
    #[error("{what} with ffmpeg")]
    Ffmpeg {
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("writing the result")]
    Write(#[source] std::io::Error),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            log("stream-race", &error_chain(&error));
            ExitCode::from(match error {
                RaceError::Lab(LabError::Preflight(_)) => 3,
                _ => 1,
            })
        }
    }
}

fn run(args: &Args) -> Result<bool, RaceError> {
    enter_user_namespace().map_err(LabError::from)?;
    let measured = match &args.what {
        What::Live(live) => live.measure(args.seed)?,
        What::Rates(rates) => rates.measure(args.seed)?,
    };
    let text = match args.format {
        Format::Text => measured.text,
        Format::Json => format!("{:#}\n", measured.json),
    };
    print(&text).map_err(RaceError::Write)?;
    Ok(measured.is_good)
}

/// A link of this rate and one-way delay in microseconds, with a queue of `queue` packets.
fn link(
    rate: polypath_core::units::Rate,
    delay_us: u64,
    queue: u64,
) -> Result<polypath_scenario::Scenario, RaceError> {
    let text = format!(
        "schema = 1\nname = \"stream\"\nschemes = [\"tcp\"]\n\
         transfer = {{ size = \"1 MB\", count = 1 }}\n\
         [[path]]\nname = \"access\"\n\
         link = [{{ rate = \"{rate}\", delay = \"{delay_us} us\", queue = \"{queue} packets\" }}]\n",
    );
    scenario::parse(&text, "stream.toml", [""; 0]).map_err(RaceError::Scenario)
}
