//! Warnings of conditions that do not invalidate a run but may explain its result.

use polypath_core::time::Duration;
use polypath_scenario::Scenario;

use crate::network::Network;
use crate::node_process::NodeFiles;
use crate::scheme_programs::SchemePrograms;

/// Warns of packets lost before they reached the simulated network.
pub(super) fn about_devices(programs: &[SchemePrograms], scenario: &Scenario) {
    for (programs, scheme) in programs.iter().zip(&scenario.schemes) {
        match programs.endpoints().dropped() {
            Ok(0) => {}
            Ok(dropped) => {
                tracing::warn!(%scheme, dropped, "packets were lost at the device queues, before the emulated network");
            }
            Err(error) => {
                tracing::warn!(%scheme, %error, "cannot read the drop counters of the devices");
            }
        }
    }
}

/// Warns of packets lost after the simulated network.
pub(super) fn about_networks(networks: &[Network], scenario: &Scenario) {
    for (network, scheme) in networks.iter().zip(&scenario.schemes) {
        let refused = network.counters().refused;
        if refused > 0 {
            tracing::warn!(%scheme, refused, "the kernel refused packets of the emulated network");
        }
    }
}

/// Warns of nodes whose lateness exceeds the emulation's `bound`.
pub(super) fn about_nodes(files: &[[NodeFiles; 2]], scenario: &Scenario, bound: Duration) {
    for (files, scheme) in files.iter().zip(&scenario.schemes) {
        for file in files {
            match file.lateness() {
                Ok(p99) if p99 <= bound => {}
                Ok(p99) => tracing::warn!(%scheme, %p99, %bound, "a node was late"),
                Err(error) => tracing::warn!(%scheme, %error, "cannot read the lateness of a node"),
            }
        }
    }
}
