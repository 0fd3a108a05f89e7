//! Replicas: the same network with seeds of their own.

use std::sync::atomic::AtomicU64;

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver, NetworkOutcome, RunError, run_network};

use crate::progress::Meter;

/// The root seed for a single run, or one that follows from it for each replica.
#[must_use]
pub fn replica_seeds(root: u64, replicas: u32) -> Vec<u64> {
    let seed = |number| replica_seed(root, replicas, number);
    (0..replicas).map(seed).collect()
}

/// The seed of one of the replicas, by its number.
pub(crate) fn replica_seed(root: u64, replicas: u32, number: u32) -> u64 {
    match replicas {
        1 => root,
        _ => Seed(root).child(&format!("replica/{number}")).0,
    }
}

/// Runs a network once for `observer`, and adds how far it has come to `parts`: [`PARTS`](crate::PARTS) for all of it.
///
/// # Errors
/// Those of [`run_network`].
pub fn run_counted(
    network: &Network,
    seed: u64,
    parts: &AtomicU64,
    observer: &mut impl NetworkObserver,
) -> Result<NetworkOutcome, RunError> {
    let mut counted = Counted {
        observer,
        meter: Meter::new(parts),
        end: network.run.duration.as_nanos(),
    };
    run_network(network, Seed(seed), &mut counted)
}

/// An observer, and how far its run has come.
struct Counted<'a, O> {
    observer: &'a mut O,
    meter: Meter<'a>,
    /// The end of the run in nanoseconds.
    end: u64,
}

impl<O: NetworkObserver> NetworkObserver for Counted<'_, O> {
    fn on_progress(&mut self, now: Time) {
        self.meter.reach(now.0, self.end);
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
    fn a_single_run_has_the_root_seed_and_replicas_have_others() {
        assert_eq!(replica_seeds(7, 1), [7]);
        let mut seeds = replica_seeds(7, 100);
        assert_eq!(seeds[..3], replica_seeds(7, 3));
        seeds.push(7);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 101);
    }
}
