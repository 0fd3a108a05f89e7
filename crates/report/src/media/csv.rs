//! CSV files: every run of every policy.

use std::io;

use polypath_core::time::Duration;
use polypath_sim::{DelayQuantiles, MediaOutcome, Side};
use serde::Serialize;

use super::table::{direction, kind_name};
use super::{MediaRecord, named};
use crate::sheets::{seconds, write};

/// A run of a policy.
#[derive(Clone, Copy, Serialize)]
struct RunKey<'a> {
    policy: &'a str,
    seed: u64,
}

/// `runs.csv`: the totals of each run.
pub(super) fn runs(record: MediaRecord<'_>) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct RunRow {
        sent: u64,
        delivered: u64,
        delay_p50_s: Option<String>,
        delay_p99_s: Option<String>,
        delay_p999_s: Option<String>,
        longest_gap_s: String,
        reordered: u64,
        payload_bytes: u64,
        wire_bytes: u64,
    }
    let rows = all(record).map(|(key, of)| {
        let delay = |quantile: fn(&DelayQuantiles) -> Duration| {
            of.delay
                .as_ref()
                .map(quantile)
                .map(|span| seconds(span.as_secs_f64()))
        };
        let row = RunRow {
            sent: of.sent,
            delivered: of.delivered,
            delay_p50_s: delay(|of| of.p50),
            delay_p99_s: delay(|of| of.p99),
            delay_p999_s: delay(|of| of.p999),
            longest_gap_s: seconds(of.longest_gap.as_secs_f64()),
            reordered: of.reordered,
            payload_bytes: of.payload,
            wire_bytes: of.wire.bytes(),
        };
        (key, row)
    });
    write(rows)
}

/// `late.csv`: the packets of each run that were late or lost at each deadline.
pub(super) fn late(record: MediaRecord<'_>) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct LateRow {
        deadline_s: String,
        late: u64,
        sent: u64,
    }
    let rows = all(record).flat_map(|(key, of)| {
        let deadlines = record.scenario.media.deadlines.iter().zip(&of.late);
        deadlines.map(move |(deadline, late)| {
            let row = LateRow {
                deadline_s: seconds(deadline.as_secs_f64()),
                late: *late,
                sent: of.sent,
            };
            (key, row)
        })
    });
    write(rows)
}

/// `wire.csv`: the frames of each run by direction and kind.
pub(super) fn wire(record: MediaRecord<'_>) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct WireRow {
        direction: &'static str,
        kind: String,
        frames: u64,
        bytes: u64,
    }
    let rows = all(record).flat_map(|(key, of)| {
        let sides = [Side::Server, Side::Client].into_iter();
        sides.flat_map(move |sender| {
            of.wire.of(sender).iter().map(move |(kind, count)| {
                let row = WireRow {
                    direction: direction(sender),
                    kind: kind_name(*kind),
                    frames: count.frames,
                    bytes: count.bytes,
                };
                (key, row)
            })
        })
    });
    write(rows)
}

/// `paths.csv`: the bytes of each run by path.
pub(super) fn paths(record: MediaRecord<'_>) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct PathRow<'a> {
        path: &'a str,
        bytes_to_client: u64,
        bytes_to_server: u64,
    }
    let rows = all(record).flat_map(|(key, of)| {
        let paths = record.scenario.paths.iter().zip(&of.wire.paths);
        paths.map(move |(path, bytes)| {
            let row = PathRow {
                path: &path.name,
                bytes_to_client: bytes.forward,
                bytes_to_server: bytes.backward,
            };
            (key, row)
        })
    });
    write(rows)
}

/// Every run of every policy.
fn all(record: MediaRecord<'_>) -> impl Iterator<Item = (RunKey<'_>, &MediaOutcome)> {
    named(record).flat_map(move |(policy, outcomes)| {
        let runs = record.seeds.iter().zip(outcomes);
        runs.map(move |(seed, of)| {
            let key = RunKey {
                policy,
                seed: *seed,
            };
            (key, of)
        })
    })
}
