//! The networks of all schemes.

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Scenario;

use crate::LabError;
use crate::ends::Ends;
use crate::interrupt::Interrupt;
use crate::network::Network;

/// A network for each scheme, all with the same background, which has run until `warm`.
pub(super) fn open(
    scenario: &Scenario,
    seed: Seed,
    warm: Time,
    interrupt: &Interrupt,
) -> Result<(Vec<Network>, Vec<Ends>), LabError> {
    let mut networks = Vec::new();
    let mut all_ends = Vec::new();
    for _ in &scenario.schemes {
        interrupt.check()?;
        let (mut network, ends) = Network::open(scenario, seed)?;
        network.warm_up(warm);
        networks.push(network);
        all_ends.push(ends);
    }
    Ok((networks, all_ends))
}
