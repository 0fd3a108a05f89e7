//! The networks of all schemes.

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Scenario;

use crate::LabError;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::Network;

/// Creates a network for each scheme, all with the same background traffic, which has run until
/// `warm`.
pub(super) fn open(
    scenario: &Scenario,
    seed: Seed,
    warm: Time,
    interrupt: &Interrupt,
) -> Result<(Vec<Network>, Vec<Endpoints>), LabError> {
    let mut networks = Vec::new();
    let mut all_endpoints = Vec::new();
    for _ in &scenario.schemes {
        interrupt.check()?;
        let (mut network, endpoints) = Network::open(scenario, seed)?;
        network.warm_up(warm);
        networks.push(network);
        all_endpoints.push(endpoints);
    }
    Ok((networks, all_endpoints))
}
