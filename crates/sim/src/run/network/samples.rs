//! The samples of a span.

use polypath_core::time::{Duration, Time};

use super::{Driven, NetworkObserver};
use crate::world::Overflow;

/// The number of samples of congestion windows in a span.
pub(super) const SAMPLES: u32 = 50;
/// The receivers' estimates of the round-trip times change slowly: every 25th sample reads them,
/// too.
const RTT_SAMPLE: u32 = 25;

/// The samples of the flows in a span.
pub(super) struct Sampled {
    /// Congestion windows in segments.
    pub(super) windows: Samples,
    /// The receivers' estimates of the round-trip time in seconds.
    pub(super) receiver_rtts: Samples,
    /// The connections that the receivers of streams want, and the sum of their windows in
    /// segments.
    pub(super) connections: Samples,
    pub(super) stream_windows: Samples,
}

impl Sampled {
    /// Runs from `begin` for a span of length `span`, and samples the flows.
    pub(super) fn over(
        driven: &mut Driven,
        begin: Time,
        span: Duration,
        observer: &mut impl NetworkObserver,
    ) -> Result<Self, Overflow> {
        let flows = driven.world.flows().count();
        let (mut windows, mut receiver_rtts) = (Samples::of(flows), Samples::of(flows));
        let streams = driven.world.streams().count();
        let (mut connections, mut stream_windows) = (Samples::of(streams), Samples::of(streams));
        for sample in 1..=SAMPLES {
            let passed = match sample {
                SAMPLES => span,
                _ => Duration(span.as_nanos() / u64::from(SAMPLES) * u64::from(sample)),
            };
            driven.advance(begin + passed, observer)?;
            windows.add(driven.world.congestion_windows());
            let wanted = || driven.world.streams().map(|stream| stream?.wanted);
            connections.add(wanted().map(|w| Some(f64::from(w?.connections()))));
            stream_windows.add(wanted().map(|w| Some(f64::from(w?.sum()))));
            if sample % RTT_SAMPLE == 0 {
                let rtts = driven.world.receiver_rtts();
                receiver_rtts.add(rtts.map(|rtt| rtt.map(Duration::as_secs_f64)));
            }
        }
        Ok(Self {
            windows,
            receiver_rtts,
            connections,
            stream_windows,
        })
    }
}

/// The sum and the number of the samples of each flow.
pub(super) struct Samples(Vec<(f64, u32)>);

impl Samples {
    fn of(flows: usize) -> Self {
        Self(vec![(0.0, 0); flows])
    }

    #[inline]
    fn add(&mut self, values: impl Iterator<Item = Option<f64>>) {
        for ((sum, count), value) in self.0.iter_mut().zip(values) {
            if let Some(value) = value {
                *sum += value;
                *count += 1;
            }
        }
    }

    /// The mean of each flow; `None` without samples.
    pub(super) fn means(&self) -> impl Iterator<Item = Option<f64>> {
        let mean = |(sum, count): &(f64, u32)| (*count > 0).then(|| sum / f64::from(*count));
        self.0.iter().map(mean)
    }
}
