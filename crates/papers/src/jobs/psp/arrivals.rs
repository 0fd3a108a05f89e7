//! Gaps between packets at one receiver of spaced packets.

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_core::time::Time;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver};
use serde::{Deserialize, Serialize};

use super::merge::Merge;

/// The width of the histogram's classes in microseconds; the first one begins at 0.
pub(crate) const CLASS: f64 = 20.0;
/// The number of classes: up to 4 ms.
pub(crate) const CLASSES: usize = 200;

/// A run that records the arrivals at one receiver of spaced packets.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Arrivals(pub(crate) Merge);

/// The gaps between successive arrivals in microseconds, from the end of a packet to the start of
/// the next, as Fig. 3 defines the spacing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Gaps {
    /// The moments of all gaps, and of those without a loss in between; `None` for fewer than two.
    pub(crate) all: Option<Moments>,
    pub(crate) unbroken: Option<Moments>,
    /// The number of gaps in each class.
    pub(crate) classes: Vec<u64>,
    /// The number of gaps beyond all classes.
    pub(crate) beyond: u64,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            deviation: (squares / (count - 1.0)).sqrt(),
        })
    }
}

impl Job for Arrivals {
    type Output = Gaps;

    const KIND: &'static str = "psp.gaps";

    fn cost(&self) -> f64 {
        2.0 * self.0.cost()
    }

    fn run(&self, parts: &AtomicU64) -> Result<Gaps, JobError> {
        let network = self.0.network()?;
        let mut listen = ArrivalObserver {
            from: Time::ZERO + network.run.warm_up,
            last_bit: f64::from(self.0.packet) * 8.0 / f64::from(self.0.shared),
            last: None,
            gaps: Vec::new(),
        };
        run_counted(&network, self.0.seed, parts, &mut listen)?;
        Ok(listen.gaps())
    }
}

/// Records arrivals at the receiver of the first flow.
struct ArrivalObserver {
    from: Time,
    /// The transmission time of a packet on the shared link, in microseconds.
    last_bit: f64,
    /// The arrival time and the number of the last packet.
    last: Option<(Time, u32)>,
    /// Each gap, and whether nothing was lost in it.
    gaps: Vec<(f64, bool)>,
}

impl ArrivalObserver {
    fn gaps(&self) -> Gaps {
        let all: Vec<f64> = self.gaps.iter().map(|(gap, _)| *gap).collect();
        let unbroken = self.gaps.iter().filter(|(_, unbroken)| *unbroken);
        let unbroken: Vec<f64> = unbroken.map(|(gap, _)| *gap).collect();
        let mut classes = vec![0; CLASSES];
        let mut beyond = 0;
        for gap in &all {
            let class = (0..CLASSES).take_while(|&class| (class + 1) as f64 * CLASS <= *gap);
            *classes.get_mut(class.count()).unwrap_or(&mut beyond) += 1;
        }
        Gaps {
            all: Moments::of(&all),
            unbroken: Moments::of(&unbroken),
            classes,
            beyond,
        }
    }
}

impl NetworkObserver for ArrivalObserver {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: false,
            packets: true,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let NetworkEvent::Arrived { link, packet } = event else {
            return;
        };
        // The first link of the graph is the shared one, in the direction of the sink.
        if at < self.from || packet.flow != 0 || link.0 != 0 {
            return;
        }
        if let Some((before, number)) = self.last.replace((at, packet.number)) {
            let gap = at.since(before).as_secs_f64() * 1e6 - self.last_bit;
            self.gaps.push((gap, packet.number == number + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge::{PACKET, Span, Starts};
    use super::*;

    const SPACING: u32 = 1500;

    #[test]
    fn a_lone_senders_packets_keep_their_spacing_but_for_the_faster_link() {
        let span = Span {
            seconds: 2,
            warm_up: 1,
        };
        let merge = Merge::fixed(1, SPACING, span, 1).starting(Starts::Simul);
        let gaps = Arrivals(merge).run(&AtomicU64::new(0)).unwrap();
        let bits = f64::from(PACKET) * 8.0;
        let expected = f64::from(SPACING) + bits / 100.0 - bits / 155.0;
        let all = gaps.all.unwrap();
        assert!((all.mean - expected).abs() < 0.01, "{gaps:?}");
        assert!(all.deviation < 0.01 && gaps.classes[76] > 500, "{gaps:?}");
    }

    #[test]
    fn every_gap_is_in_a_class_or_beyond_all() {
        let listen = ArrivalObserver {
            from: Time::ZERO,
            last_bit: 0.0,
            last: None,
            gaps: [0.0, 19.9, 20.0, 3999.0, 4000.0, 9000.0]
                .map(|gap| (gap, gap < 100.0))
                .to_vec(),
        };
        let gaps = listen.gaps();
        assert_eq!((gaps.classes[0], gaps.classes[1]), (2, 1));
        assert_eq!((gaps.classes[CLASSES - 1], gaps.beyond), (1, 2));
        assert!((gaps.unbroken.unwrap().mean - 13.3).abs() < 1e-9);
        assert!(Moments::of(&[1500.0]).is_none(), "one gap has no deviation");
    }
}
