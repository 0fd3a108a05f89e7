//! `runs.csv`: every run of every setting.

use std::io;

use polypath_core::time::Duration;
use polypath_scenario::network::senders::{RunMode, Setting};
use polypath_sim::{DelayPercentiles, SendersOutcome};
use serde::Serialize;

use super::StabilityRecord;
use crate::sheets::{seconds, write};

/// A run of a setting.
#[derive(Serialize)]
struct RunRow<'a> {
    setting: &'a str,
    mode: RunMode,
    seed: u64,
    switches: u64,
    sent: u64,
    arrived: u64,
    due: u64,
    due_arrived: u64,
    heartbeats: u64,
    wire_bytes: Option<u64>,
    delay_mean_s: Option<String>,
    delay_p50_s: Option<String>,
    delay_p90_s: Option<String>,
    delay_p99_s: Option<String>,
}

pub(super) fn runs(record: StabilityRecord<'_>) -> io::Result<Vec<u8>> {
    let settings = record.settings.iter().zip(record.outcomes);
    let rows = settings.flat_map(|(setting, outcomes)| {
        let runs = record.seeds.iter().zip(outcomes);
        runs.map(|(seed, run)| row(setting, *seed, run))
    });
    write(rows)
}

fn row<'a>(setting: &'a Setting, seed: u64, run: &SendersOutcome) -> RunRow<'a> {
    let at = |of: fn(&DelayPercentiles) -> Duration| {
        let delay = run.delay.as_ref().map(of);
        delay.map(|delay| seconds(delay.as_secs_f64()))
    };
    RunRow {
        setting: &setting.name,
        mode: setting.mode,
        seed,
        switches: run.switches,
        sent: run.sent,
        arrived: run.arrived,
        due: run.due.sent,
        due_arrived: run.due.arrived,
        heartbeats: run.heartbeats,
        wire_bytes: run.wire_bytes,
        delay_mean_s: run.mean_delay.map(seconds),
        delay_p50_s: at(|delay| delay.p50),
        delay_p90_s: at(|delay| delay.p90),
        delay_p99_s: at(|delay| delay.p99),
    }
}
