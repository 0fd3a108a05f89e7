//! The resident memory of a process over time.

use std::fs;
use std::io;

use polypath_report::statistics::{quantile, student_975};

use crate::{OUTAGE_INTERVAL, SAMPLE_INTERVAL};

/// The allowed growth after settling, in kB: a few pages of the allocator.
const MAX_GROWTH: f64 = 1024.0;
/// The samples of a round, in which each of the two links has an outage.
const ROUND: usize = 8;
const _: () = assert!(ROUND as u64 * SAMPLE_INTERVAL.as_secs() == 2 * OUTAGE_INTERVAL.as_secs());

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

/// A round of outages, in which the allocator returns some hundred kB to the system now and then and
/// takes them back: the samples of a round depend on each other, and their median is not affected.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The mean time of its samples in hours since the start.
    hours: f64,
    /// Their median in kB.
    kb: f64,
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

    /// The memory in the first round after settling and in the last round, in kB; the last sample if
    /// there is no round.
    pub(crate) fn ends(&self) -> [f64; 2] {
        let rounds = self.rounds();
        let kb = |round: Option<&Round>| round.map_or(self.last() as f64, |round| round.kb);
        [kb(rounds.first()), kb(rounds.last())]
    }

    /// The growth by least squares, over the rounds after settling.
    pub(crate) fn slope(&self) -> Slope {
        let rounds = self.rounds();
        let n = rounds.len() as f64;
        let mean = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(&|round| round.hours), mean(&|round| round.kb));
        let xx: f64 = rounds.iter().map(|r| (r.hours - x).powi(2)).sum();
        let xy: f64 = rounds.iter().map(|r| (r.hours - x) * (r.kb - y)).sum();
        let slope = xy / xx;
        let residual: f64 = rounds
            .iter()
            .map(|r| (r.kb - y - slope * (r.hours - x)).powi(2))
            .sum();
        let freedom = n - 2.0;
        Slope {
            mean: slope,
            ci95: student_975(freedom) * (residual / freedom / xx).sqrt(),
        }
    }

    /// Whether memory grows significantly faster than `rate` kB per hour, or by more than
    /// [`MAX_GROWTH`] in all; `None` with fewer than three rounds, which show nothing.
    pub(crate) fn grows(&self, rate: f64) -> Option<bool> {
        if self.rounds().len() < 3 {
            return None;
        }
        let slope = self.slope();
        let [first, last] = self.ends();
        Some(slope.mean - slope.ci95 > rate || last > first + MAX_GROWTH)
    }

    /// The whole rounds after the first fifth, in which buffers reach their size.
    fn rounds(&self) -> Vec<Round> {
        let settled = &self.samples[self.samples.len() / 5..];
        // From the end on, so that the last samples count.
        let mut rounds: Vec<Round> = settled.rchunks_exact(ROUND).map(Round::of).collect();
        rounds.reverse();
        rounds
    }
}

impl Round {
    fn of(samples: &[Sample]) -> Self {
        let kb: Vec<f64> = samples.iter().map(|sample| sample.kb as f64).collect();
        let seconds: f64 = samples.iter().map(|sample| sample.at).sum();
        Self {
            hours: seconds / samples.len() as f64 / 3600.0,
            kb: quantile(&kb, 0.5).unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten minutes of a process that has `kb_at` after each number of seconds.
    fn memory(kb_at: impl Fn(u32) -> u64) -> Memory {
        let samples = (0..120).map(|sample| Sample {
            at: f64::from(sample * 5),
            kb: kb_at(sample * 5),
        });
        Memory {
            process: 1,
            samples: samples.collect(),
        }
    }

    #[test]
    fn memory_returned_to_the_system_for_a_moment_is_no_growth() {
        // The outages of the first minutes, after settling, let the allocator return a buffer.
        let memory = memory(|at| if at < 300 && at % 20 == 0 { 3024 } else { 3920 });
        assert_eq!(memory.grows(512.0), Some(false));
        let [first, last] = memory.ends();
        assert!((first - 3920.0).abs() < 1.0 && (last - first).abs() < 1.0);
    }

    #[test]
    fn a_leak_is_found() {
        // 1024 kB per hour, and a sample above the others now and then.
        let leaking =
            memory(|at| 3920 + u64::from(at) * 1024 / 3600 + u64::from(at % 45 == 0) * 516);
        assert_eq!(leaking.grows(512.0), Some(true));
        // A step of more than 1 MB, at whatever rate.
        let stepping = memory(|at| if at < 400 { 3920 } else { 4960 });
        assert_eq!(stepping.grows(1e9), Some(true));
    }

    #[test]
    fn too_few_samples_show_nothing() {
        let mut memory = memory(|_| 3920);
        memory.samples.truncate(25);
        assert_eq!(memory.grows(512.0), None);
    }
}
