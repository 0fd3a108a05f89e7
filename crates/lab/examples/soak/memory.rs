//! The resident memory of a process over time.

use std::fs;
use std::io;

use polypath_report::statistics::student_975;

/// Growth from when it has settled to the end that is none, in kB: a few pages of the allocator.
const MOST_GROWTH: u64 = 1024;

/// Samples of what a process holds.
#[derive(Debug)]
pub(crate) struct Memory {
    process: u32,
    /// Seconds since the start, and kB.
    samples: Vec<(f64, u64)>,
}

impl Memory {
    pub(crate) fn of(process: u32) -> Self {
        Self {
            process,
            samples: Vec::new(),
        }
    }

    /// Takes a sample; fails where the process is gone.
    pub(crate) fn sample(&mut self, at: f64) -> io::Result<()> {
        let path = format!("/proc/{}/status", self.process);
        let status = fs::read_to_string(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("a node is gone: {path}: {e}")))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = resident.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let kb = kb.ok_or_else(|| io::Error::other("a node has ended"))?;
        self.samples.push((at, kb));
        Ok(())
    }

    pub(crate) fn last(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.1)
    }

    /// What it holds once it has settled, in kB.
    pub(crate) fn settled(&self) -> u64 {
        self.after_settling().first().map_or(0, |sample| sample.1)
    }

    /// Growth in kB an hour by least squares, and half the width of its 95 % interval.
    pub(crate) fn slope(&self) -> (f64, f64) {
        let samples = self.after_settling();
        let n = samples.len() as f64;
        let mean = |of: &dyn Fn(&(f64, u64)) -> f64| samples.iter().map(of).sum::<f64>() / n;
        let hours = |sample: &(f64, u64)| sample.0 / 3600.0;
        let kb = |sample: &(f64, u64)| sample.1 as f64;
        let (x, y) = (mean(&hours), mean(&kb));
        let xx: f64 = samples.iter().map(|s| (hours(s) - x).powi(2)).sum();
        let xy: f64 = samples.iter().map(|s| (hours(s) - x) * (kb(s) - y)).sum();
        let slope = xy / xx;
        let rest: f64 = samples
            .iter()
            .map(|s| (kb(s) - y - slope * (hours(s) - x)).powi(2))
            .sum();
        let freedom = n - 2.0;
        (slope, student_975(freedom) * (rest / freedom / xx).sqrt())
    }

    /// Whether it grows by more than `flat` kB an hour, as far as that can be told from no growth, or by
    /// [`MOST_GROWTH`] in all.
    pub(crate) fn grows(&self, flat: f64) -> bool {
        let (slope, half) = self.slope();
        // Where there are too few samples nothing is shown, and so nothing holds.
        let is_known = half.is_finite() || self.after_settling().len() > 2;
        !is_known || slope - half > flat || self.last() > self.settled() + MOST_GROWTH
    }

    /// Without the first fifth, in which buffers reach their size.
    fn after_settling(&self) -> &[(f64, u64)] {
        &self.samples[self.samples.len() / 5..]
    }
}
