//! Many receivers of one server on one core: processor time and memory of `polypath stream serve`
//! beside nginx serving the same file at the same rate: `make stream-load`, or `cargo run --release
//! -p polypath-lab --example stream_load POLYPATH [--receivers N] [--seconds S] [--format json]`.
//!
//! Everything is on loopback. The receivers are on another core than the server, and limit their
//! rate: those of polypath by the windows of their connections, those of nginx, which has one
//! connection for each, by reading.

#[path = "../common/output.rs"]
mod output;
mod receivers;
mod servers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use polypath_core::units::Rate;
use polypath_report::table::plain;
use serde::Serialize;

use output::{Format, log, print};
use receivers::Kind;
use servers::{RunningServer, Usage};

/// The time for the receivers to start before the measurement.
const WARM_UP: Duration = Duration::from_secs(5);
/// The cores of the server and of the receivers.
const CORES: [usize; 2] = [0, 1];

/// Measures servers with many receivers.
#[derive(Debug, Parser)]
#[command(
    name = "stream_load",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 the measurement failed; 2 wrong command line."
)]
struct Args {
    /// The program `polypath`.
    program: PathBuf,
    /// The number of receivers.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    receivers: u32,
    /// The rate of each.
    #[arg(long, default_value = "500 kbit/s")]
    rate: Rate,
    /// The connections of each receiver of polypath.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    connections: u32,
    /// The duration of a measurement in seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The measurement of a server.
#[derive(Debug, Serialize)]
struct Load {
    server: &'static str,
    /// The rate of all receivers together, in bits per second.
    rate_bit_s: f64,
    /// The rate of the slowest receiver.
    slowest_bit_s: f64,
    /// Seconds of processor time a second.
    processor: f64,
    /// The resident memory in bytes.
    memory_bytes: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match measure_all(&args).and_then(|loads| Ok(print(&text(&args, &loads))?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log("stream-load", &format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

fn measure_all(args: &Args) -> Result<Vec<Load>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // The stream does not end before the measurement.
    let file = folder.path().join("media.ts");
    let seconds = args.seconds + 4 * WARM_UP.as_secs();
    std::fs::File::create(&file)?.set_len(args.rate.0 / 8 * seconds * 2)?;
    let mut loads = Vec::new();
    for kind in [Kind::Tls, Kind::Plain, Kind::Http] {
        let name = kind.name();
        log(
            "stream-load",
            &format!("{name}, {} receivers", args.receivers),
        );
        let server = match kind {
            Kind::Tls | Kind::Plain => {
                RunningServer::polypath(&args.program, &file, kind, folder.path())?
            }
            Kind::Http => RunningServer::nginx(folder.path())?,
        };
        server.pin(CORES[0])?;
        loads.push(measure(args, kind, &server)?);
    }
    Ok(loads)
}

fn measure(
    args: &Args,
    kind: Kind,
    server: &RunningServer,
) -> Result<Load, Box<dyn std::error::Error>> {
    let wanted = receivers::Wanted {
        kind,
        receivers: args.receivers,
        rate: args.rate,
        connections: args.connections,
    };
    let running = receivers::start(wanted, server, CORES[1])?;
    std::thread::sleep(WARM_UP);
    let (bytes, before) = (running.bytes(), server.usage()?);
    let span = Duration::from_secs(args.seconds);
    std::thread::sleep(span);
    let (received, after) = (running.bytes(), server.usage()?);
    running.stop()?;
    let rates = received
        .iter()
        .zip(&bytes)
        .map(|(after, before)| (after - before) as f64 * 8.0 / span.as_secs_f64());
    let rates: Vec<f64> = rates.collect();
    let Usage { processor, memory } = after;
    Ok(Load {
        server: kind.name(),
        rate_bit_s: rates.iter().sum(),
        slowest_bit_s: rates.iter().copied().fold(f64::INFINITY, f64::min),
        processor: processor.saturating_sub(before.processor).as_secs_f64() / span.as_secs_f64(),
        memory_bytes: memory,
    })
}

fn text(args: &Args, loads: &[Load]) -> String {
    if args.format == Format::Json {
        return format!("{}\n", serde_json::json!({ "version": 1, "loads": loads }));
    }
    let head = [
        "server",
        "all, Mbit/s",
        "slowest, kbit/s",
        "of a core, %",
        "memory, MB",
    ];
    let row = |load: &Load| {
        vec![
            load.server.to_owned(),
            format!("{:.1}", load.rate_bit_s / 1e6),
            format!("{:.0}", load.slowest_bit_s / 1e3),
            format!("{:.1}", load.processor * 100.0),
            format!("{:.1}", load.memory_bytes as f64 / 1e6),
        ]
    };
    let rows = loads.iter().map(row);
    format!(
        "{} receivers at {} for {} s\n{}",
        args.receivers,
        args.rate,
        args.seconds,
        plain(&head, rows.collect(), 1)
    )
}
