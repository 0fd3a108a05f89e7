//! Means of flows.

use polypath_sim::{Delays, FlowCounters};

use super::series::{Sample, Series};
use crate::statistics::Estimate;

/// The means of one flow, or of several together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowMeans {
    /// The goodput of the receiving applications, in bits per second.
    pub goodput: Option<Estimate>,
    /// The mean one-way delay of the packets in seconds.
    pub delay: Option<Estimate>,
    /// The mean congestion window in segments.
    pub window: Option<Estimate>,
    /// The mean of a receiver's estimate of the round-trip time in seconds.
    pub receiver_rtt: Option<Estimate>,
}

/// The values behind the means: one for each sample that has it.
#[derive(Default)]
pub(super) struct Sampled {
    /// In bits per second.
    pub(super) goodputs: Vec<f64>,
    delays: Vec<(f64, f64)>,
    windows: Vec<f64>,
    receiver_rtts: Vec<f64>,
}

impl Sampled {
    /// The means of several flows: the sum of their goodputs, every packet with the same weight,
    /// and the means over those flows that have a window and an estimate.
    pub(super) fn together(members: &[Series<'_>]) -> Self {
        let mut all = Self::default();
        let first = members.first();
        for number in 0..first.map_or(0, |series| series.samples.len()) {
            let samples = members.iter().map(|member| &member.samples[number]);
            all.add(samples, members[0].seconds);
        }
        all
    }

    fn add<'a>(&mut self, flows: impl Iterator<Item = &'a Sample> + Clone, seconds: f64) {
        let counters: FlowCounters = flows.clone().map(|sample| sample.counters).sum();
        self.goodputs.push(counters.goodput as f64 * 8.0 / seconds);
        self.delays.push(delay_sum(&counters));
        let windows = flows.clone().filter_map(|sample| sample.window);
        self.windows.extend(mean(windows));
        let receiver_rtts = flows.filter_map(|sample| sample.receiver_rtt);
        self.receiver_rtts.extend(mean(receiver_rtts));
    }

    pub(super) fn means(&self) -> FlowMeans {
        FlowMeans {
            goodput: Estimate::of(&self.goodputs),
            delay: Estimate::of_ratio(&self.delays),
            window: Estimate::of(&self.windows),
            receiver_rtt: Estimate::of(&self.receiver_rtts),
        }
    }
}

/// The sum of the one-way delays in seconds, and their number: every packet has the same weight,
/// however many arrive in a sample.
fn delay_sum(counters: &FlowCounters) -> (f64, f64) {
    let Delays { count, sum } = counters.delays;
    (sum as f64 / 1e9, count as f64)
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
