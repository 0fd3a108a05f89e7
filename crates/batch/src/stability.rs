//! Senders that choose among the same paths, by every setting of their policy with every seed.

use std::sync::atomic::AtomicU64;

use polypath_scenario::Network;
use polypath_scenario::network::senders::Setting;
use polypath_sim::{PathChoices, RunError, SendersOutcome};

use crate::parallel_map::parallel_map;
use crate::replicas::run_counted;

/// Runs the senders of `network` by every setting with every seed on `threads` threads (default: one
/// per core). The outcomes of each setting are in the order of the seeds, and do not depend on the
/// number of threads. Each run adds [`PARTS`](crate::PARTS) to `parts`; `on_progress` is called at
/// least every 100 ms.
///
/// # Errors
/// The error of the first run that failed, in the order of settings and seeds.
pub fn run_settings(
    network: &Network,
    settings: &[Setting],
    seeds: &[u64],
    threads: Option<u16>,
    parts: &AtomicU64,
    on_progress: &mut impl FnMut(),
) -> Result<Vec<Vec<SendersOutcome>>, RunError> {
    let work = |index: usize| {
        let setting = &settings[index / seeds.len()];
        run(network, setting, seeds[index % seeds.len()], parts)
    };
    let count = settings.len() * seeds.len();
    let outcomes = parallel_map(count, threads, &work, on_progress)?;
    Ok(outcomes.chunks(seeds.len()).map(<[_]>::to_vec).collect())
}

fn run(
    network: &Network,
    setting: &Setting,
    seed: u64,
    parts: &AtomicU64,
) -> Result<SendersOutcome, RunError> {
    let mut network = network.clone();
    // Intervals follow from the runs, not from spans of a run.
    network.run.batches = 2;
    network.run.percentiles = true;
    network.set_sender_policy(setting.policy);
    let senders = network.senders().expect("the network has senders");
    let mut choices = PathChoices::of(&network, &senders);
    let outcome = run_counted(&network, seed, parts, &mut choices)?;
    Ok(choices.outcome(&outcome, senders.position))
}

#[cfg(test)]
mod tests {
    use polypath_core::time::Duration;
    use polypath_scenario::network::senders::PolicyGrid;

    use super::*;
    use crate::replicas::replica_seeds;

    #[test]
    fn outcomes_are_the_same_on_any_number_of_threads() {
        let text = include_str!("../../../scenarios/two-uplinks.toml");
        let sets = [
            "flow.callers.count=20",
            "link.0.rate=890 kbit/s",
            "link.1.rate=890 kbit/s",
            "run.duration=4 s",
            "run.warm_up=1 s",
        ];
        let sets = sets.map(|set| set.parse().unwrap());
        let network = Network::parse_senders(text, "x.toml", &sets, &mut |_| unreachable!());
        let network = network.unwrap();
        let grid = PolicyGrid {
            hysteresis: vec![Duration::ZERO, Duration::from_millis(10)],
            guard_time: vec![Duration::from_millis(100)],
            heartbeat: vec![Duration::from_millis(200)],
        };
        let settings = grid.settings(
            network
                .senders()
                .unwrap()
                .traffic
                .policy()
                .by_delay()
                .unwrap(),
        );
        let seeds = replica_seeds(1, 3);
        let run = |threads| {
            let parts = AtomicU64::new(0);
            run_settings(
                &network,
                &settings,
                &seeds,
                Some(threads),
                &parts,
                &mut || {},
            )
            .unwrap()
        };
        let outcomes = run(1);
        assert_eq!(outcomes, run(3));
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes.iter().all(|of| of.len() == 3));
        assert_ne!(outcomes[0][0], outcomes[0][1], "seeds differ");
        assert_ne!(outcomes[0][0], outcomes[1][0], "settings differ");
    }
}
