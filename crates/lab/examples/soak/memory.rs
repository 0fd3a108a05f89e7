//! The resident memory of a process over time.

use std::fs;
use std::io;

use polypath_report::statistics::student_975;

/// The allowed growth after settling, in kB: a few pages of the allocator.
const MAX_GROWTH: u64 = 1024;

/// Samples of a process's resident memory.
#[derive(Debug)]
pub(crate) struct Memory {
    process: u32,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Seconds since the start.
    at: f64,
    kb: u64,
}

/// The growth of memory in kB per hour.
pub(crate) struct Slope {
    pub(crate) mean: f64,
    /// Half the width of the 95 % interval.
    pub(crate) ci95: f64,
}

impl Memory {
    pub(crate) fn of(process: u32) -> Self {
        Self {
            process,
            samples: Vec::new(),
        }
    }

    /// Takes a sample; fails if the process has exited.
    pub(crate) fn sample(&mut self, at: f64) -> io::Result<()> {
        let path = format!("/proc/{}/status", self.process);
        let status = fs::read_to_string(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("a node has exited: {path}: {e}")))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = resident.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let kb = kb.ok_or_else(|| io::Error::other("a node has exited"))?;
        self.samples.push(Sample { at, kb });
        Ok(())
    }

    pub(crate) fn last(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.kb)
    }

    /// The memory after settling, in kB.
    pub(crate) fn settled(&self) -> u64 {
        self.after_settling().first().map_or(0, |sample| sample.kb)
    }

    /// The growth by least squares.
    pub(crate) fn slope(&self) -> Slope {
        let samples = self.after_settling();
        let n = samples.len() as f64;
        let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / n;
        let hours = |sample: &Sample| sample.at / 3600.0;
        let kb = |sample: &Sample| sample.kb as f64;
        let (x, y) = (mean(&hours), mean(&kb));
        let xx: f64 = samples.iter().map(|s| (hours(s) - x).powi(2)).sum();
        let xy: f64 = samples.iter().map(|s| (hours(s) - x) * (kb(s) - y)).sum();
        let slope = xy / xx;
        let residual: f64 = samples
            .iter()
            .map(|s| (kb(s) - y - slope * (hours(s) - x)).powi(2))
            .sum();
        let freedom = n - 2.0;
        Slope {
            mean: slope,
            ci95: student_975(freedom) * (residual / freedom / xx).sqrt(),
        }
    }

    /// Whether memory grows significantly faster than `rate` kB per hour, or by more than
    /// [`MAX_GROWTH`] in all; true if there are too few samples.
    pub(crate) fn grows(&self, rate: f64) -> bool {
        let slope = self.slope();
        let is_known = slope.ci95.is_finite() || self.after_settling().len() > 2;
        !is_known || slope.mean - slope.ci95 > rate || self.last() > self.settled() + MAX_GROWTH
    }

    /// The samples after the first fifth, in which buffers reach their size.
    fn after_settling(&self) -> &[Sample] {
        &self.samples[self.samples.len() / 5..]
    }
}
