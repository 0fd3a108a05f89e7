//! The observer of downloads.

use polypath_core::time::{Duration, Time};
use polypath_report::downloads::DownloadShares;
use polypath_sim::tcp::SenderStats;
use polypath_sim::{DownloadsSample, Side};

use super::{CAPACITY, Downloaded, Downloads, FLOWS, INTERVAL, LATE, MEASURED, WARM_UP};

/// The observations of a run.
#[derive(Default)]
pub(crate) struct DownloadsObserver {
    window_sums: Vec<f64>,
    /// The windows at the last sample.
    windows: Vec<f64>,
    /// The number of window reductions in the measurement, and the sum of all windows before each.
    falls: (u32, f64),
    /// The counters at the start and the end of the measurement, and at the end of the run.
    notes: Vec<CounterSample>,
}

#[derive(Clone)]
struct CounterSample {
    offered: f64,
    dropped: f64,
    sent: f64,
    repeated: f64,
    spurious: f64,
    arrived: Vec<f64>,
}

impl DownloadsObserver {
    pub(crate) fn add(&mut self, sample: &DownloadsSample<'_>) {
        let capacity = f64::from(CAPACITY);
        self.window_sums
            .push(sample.windows.iter().sum::<f64>() / capacity);
        let after = sample.at.since(Time::ZERO);
        if after > WARM_UP && after <= WARM_UP + MEASURED {
            self.count_falls(&sample.windows);
        }
        self.windows.clone_from(&sample.windows);
        if [WARM_UP, WARM_UP + MEASURED, WARM_UP + MEASURED + LATE].contains(&after) {
            self.notes.push(CounterSample::of(sample));
        }
    }

    /// Counts the windows that are halved or less: in a round trip they grow by no more than 1.
    fn count_falls(&mut self, windows: &[f64]) {
        let before = self.windows.iter().sum::<f64>() / f64::from(CAPACITY);
        for (window, last) in windows.iter().zip(&self.windows) {
            if *window < 0.75 * last {
                self.falls = (self.falls.0 + 1, self.falls.1 + before);
            }
        }
    }

    pub(crate) fn downloaded(self, of: &Downloads) -> Downloaded {
        let [begin, end, late] = &self.notes[..] else {
            unreachable!("a run has three notes");
        };
        let number = |span: Duration| {
            usize::try_from(span.as_nanos() / INTERVAL.as_nanos()).unwrap_or(usize::MAX)
        };
        let measured = &self.window_sums[number(WARM_UP)..number(WARM_UP + MEASURED)];
        let packets = f64::from(CAPACITY) * number(MEASURED) as f64;
        let offered = end.offered - begin.offered;
        let sent = (end.sent - begin.sent).max(1.0);
        let shares = DownloadShares::of([&begin.arrived, &end.arrived, &late.arrived]);
        Downloaded {
            seed: of.seed,
            overflow: measured.iter().sum::<f64>() / measured.len() as f64,
            offered: offered / f64::from(of.links) / packets,
            dropped: (end.dropped - begin.dropped) / offered.max(1.0),
            repeated: (end.repeated - begin.repeated) / sent,
            spurious: (end.spurious - begin.spurious) / sent,
            falls: f64::from(self.falls.0) / f64::from(FLOWS),
            before: self.falls.1 / f64::from(self.falls.0.max(1)),
            goodput: shares.received / packets,
            jain: shares.jain,
            late: shares.late,
            window_sums: self.window_sums,
        }
    }
}

impl CounterSample {
    fn of(sample: &DownloadsSample<'_>) -> Self {
        let cores = sample.links.iter().filter(|link| {
            link.name.towards == Some(Side::Client) && link.name.name.contains("/core.")
        });
        let (mut offered, mut dropped) = (0, 0);
        for link in cores {
            offered += link.counters.packets_in;
            dropped += link.counters.drops.queue();
        }
        let sum = |of: fn(&SenderStats) -> u64| sample.senders.iter().map(of).sum::<u64>() as f64;
        Self {
            offered: offered as f64,
            dropped: dropped as f64,
            sent: sum(|sender| sender.sent),
            repeated: sum(|sender| sender.retransmitted),
            spurious: sample.spurious.iter().sum::<u64>() as f64,
            arrived: sample.arrived.iter().map(|&n| f64::from(n)).collect(),
        }
    }
}
