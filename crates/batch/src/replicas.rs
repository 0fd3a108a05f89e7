//! Replicas: the same network run with different seeds.

use std::sync::atomic::AtomicU64;

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver, NetworkOutcome, RunError, run_network};

use crate::progress::Meter;

/// The seed of each replica, derived from `root`; a single replica uses `root` itself.
#[must_use]
pub fn replica_seeds(root: u64, replicas: u32) -> Vec<u64> {
    let seed = |number| replica_seed(root, replicas, number);
    (0..replicas).map(seed).collect()
}

/// The seed of replica `number`.
pub(crate) fn replica_seed(root: u64, replicas: u32, number: u32) -> u64 {
    match replicas {
        1 => root,
        _ => Seed(root).child(&format!("replica/{number}")).0,
    }
}

/// Runs a network once for `observer` and adds its progress to `parts`: [`PARTS`](crate::PARTS) for
/// a complete run.
///
/// # Errors
/// The errors of [`run_network`].
pub fn run_counted(
    network: &Network,
    seed: u64,
    parts: &AtomicU64,
    observer: &mut impl NetworkObserver,
) -> Result<NetworkOutcome, RunError> {
    let mut observer = ProgressObserver {
        observer,
        meter: Meter::new(parts),
        end: network.run.duration.as_nanos(),
    };
    run_network(network, Seed(seed), &mut observer)
}

/// Forwards to an observer and counts the progress of its run.
struct ProgressObserver<'a, O> {
    observer: &'a mut O,
    meter: Meter<'a>,
    /// The end of the run in nanoseconds.
    end: u64,
}

impl<O: NetworkObserver> NetworkObserver for ProgressObserver<'_, O> {
    fn on_progress(&mut self, now: Time) {
        self.meter.update(now.0, self.end);
        self.observer.on_progress(now);
    }

    fn detail(&self) -> Detail {
        self.observer.detail()
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        self.observer.on_event(at, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_run_uses_the_root_seed_and_replicas_use_derived_ones() {
        assert_eq!(replica_seeds(7, 1), [7]);
        let mut seeds = replica_seeds(7, 100);
        assert_eq!(seeds[..3], replica_seeds(7, 3));
        seeds.push(7);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 101);
    }
}
