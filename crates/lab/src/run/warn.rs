//! What does not make a run invalid, and yet may explain its result.

use polypath_core::time::Duration;
use polypath_scenario::Scenario;

use crate::network::Network;
use crate::node_process::NodeFiles;
use crate::scheme_programs::SchemePrograms;

/// Warns of packets that were lost before they reached the simulated network.
pub(super) fn about_devices(programs: &[SchemePrograms], scenario: &Scenario) {
    for (programs, scheme) in programs.iter().zip(&scenario.schemes) {
        match programs.endpoints().dropped() {
            Ok(0) => {}
            Ok(dropped) => {
                tracing::warn!(%scheme, dropped, "packets were lost before the emulated network");
            }
            Err(error) => tracing::warn!(%scheme, %error, "cannot tell which packets were lost"),
        }
    }
}

/// Warns of packets that were lost behind the simulated network.
pub(super) fn about_networks(networks: &[Network], scenario: &Scenario) {
    for (network, scheme) in networks.iter().zip(&scenario.schemes) {
        let refused = network.counters().refused;
        if refused > 0 {
            tracing::warn!(%scheme, refused, "the kernel did not take all packets of the network");
        }
    }
}

/// Warns of nodes that met their deadlines later than the emulation may, whose bound this is.
pub(super) fn about_nodes(files: &[[NodeFiles; 2]], scenario: &Scenario, bound: Duration) {
    for (files, scheme) in files.iter().zip(&scenario.schemes) {
        for file in files {
            match file.lateness() {
                Ok(p99) if p99 <= bound => {}
                Ok(p99) => tracing::warn!(%scheme, %p99, %bound, "a node was late"),
                Err(error) => tracing::warn!(%scheme, %error, "cannot tell how late a node was"),
            }
        }
    }
}
