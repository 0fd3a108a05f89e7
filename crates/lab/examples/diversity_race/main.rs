//! Runs concurrent downloads by the kernel's TCP over links that fade and congest: over one link
//! and with copies on several, with and without marks in place of what copies mask, and compares
//! them with the simulation: `make diversity-race`, or `cargo run --release -p polypath-lab --example
//! diversity_race -- [--flows N,...] [--controls NAME,...] [--runs N] [--seed S] [--format json]`,
//! as root.

#[path = "../common/errors.rs"]
mod errors;
#[path = "../common/output.rs"]
mod output;
mod results;
#[path = "../common/scenario.rs"]
mod scenario;
mod settings;

use std::process::ExitCode;

use clap::Parser;
use polypath_batch::replica_seeds;
use polypath_lab::downloads::{DownloadLab, DownloadOutcome, DownloadSchedule};
use polypath_lab::{LabError, enter_user_namespace};
use polypath_report::media::LabConditions;

use errors::error_chain;
use output::{Format, print};
use results::Cell;
use settings::{SETTINGS, Setting};

/// Runs concurrent downloads over links that fade and congest.
#[derive(Debug, Parser)]
#[command(
    name = "diversity_race",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 a bound is not reached, a run was late, or the measurement failed; \
                  2 wrong command line; 3 this machine lacks a prerequisite."
)]
struct Args {
    /// The numbers of downloads that begin together; one more begins after the measurement.
    #[arg(long, value_delimiter = ',', default_value = "1,5,20,50",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    flows: Vec<u32>,
    /// The congestion controls, by the kernel's names.
    #[arg(long, value_delimiter = ',', default_value = "reno,cubic,bbr")]
    controls: Vec<String>,
    /// The number of runs, each with a seed of its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// The root seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, thiserror::Error)]
enum RaceError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("scenarios/fading-links.toml: {0}")]
    Scenario(String),
    #[error("simulating the same downloads")]
    Simulate(#[from] polypath_sim::RunError),
    #[error("writing the result")]
    Write(#[source] std::io::Error),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            log(&error_chain(&error));
            ExitCode::from(match error {
                RaceError::Lab(LabError::Preflight(_)) => 3,
                _ => 1,
            })
        }
    }
}

/// Whether all runs count and all bounds hold.
fn run(args: &Args) -> Result<bool, RaceError> {
    let settings = SETTINGS.iter().map(Setting::carrier);
    let carriers = settings.collect::<Result<Vec<_>, _>>()?;
    enter_user_namespace().map_err(LabError::from)?;
    let mut lab = DownloadLab::open(&args.controls)?;
    let mut cells = Vec::new();
    for &flows in &args.flows {
        for control in &args.controls {
            let schedule = DownloadSchedule {
                flows,
                ..settings::SCHEDULE
            };
            let mut runs: Vec<(Vec<DownloadOutcome>, LabConditions)> = Vec::new();
            for (number, seed) in (1..).zip(replica_seeds(args.seed, args.runs)) {
                log(&format!(
                    "{flows} downloads, {control}: run {number} of {}",
                    args.runs
                ));
                runs.push(lab.run(&carriers, control, schedule, seed)?);
            }
            let predicted = settings::simulate(&carriers, control, schedule, args)?;
            let cell = Cell::new(flows, control, &runs, predicted.as_deref());
            if args.format == Format::Text {
                print(&cell.text(args)).map_err(RaceError::Write)?;
            }
            cells.push(cell);
        }
    }
    if args.format == Format::Json {
        let all = serde_json::json!({ "version": 1, "seed": args.seed, "cells": &cells });
        print(&format!("{all:#}\n")).map_err(RaceError::Write)?;
    }
    Ok(cells.iter().all(Cell::is_good))
}

/// Prints a progress line or an error.
fn log(message: &str) {
    output::log("diversity-race", message);
}
