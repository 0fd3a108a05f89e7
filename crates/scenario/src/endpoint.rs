//! What a scheme means to the endpoints of the overlay.

use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation as Sizes, OVER_IPV4};
use polypath_core::policy::PolicyConfig;

use crate::scenario::{Scenario, Scheme};
use crate::settings::Encapsulation;

impl Scheme {
    /// The policy of both endpoints.
    #[must_use]
    pub const fn policy(self) -> PolicyConfig {
        match self {
            Scheme::Tcp => PolicyConfig::SinglePath { path: 0 },
            Scheme::PpdTcp1 => PolicyConfig::DuplicateAcks { path: 0 },
            Scheme::PpdTcp2 => PolicyConfig::DuplicateAll {},
            Scheme::PpdTcp3 => PolicyConfig::ProbeAndSwitch { path: 0 },
        }
    }
}

impl Scenario {
    /// The endpoints' configuration under a scheme.
    ///
    /// Frames of a scenario with `encapsulation = "wire"` measure the same under every scheme, `tcp`
    /// included, so that the schemes differ in their paths alone.
    #[must_use]
    pub fn endpoint(&self, scheme: Scheme) -> EndpointConfig {
        EndpointConfig {
            paths: u8::try_from(self.paths.len()).unwrap_or(u8::MAX),
            policy: scheme.policy(),
            encapsulation: match self.overlay.encapsulation {
                Encapsulation::Wire => Sizes::deployed(OVER_IPV4),
                Encapsulation::Paper => Sizes::PAPER,
            },
            window: self.overlay.window,
            first_sequence: 0,
            probing: self.probing(),
        }
    }

    /// How the endpoints compare paths.
    #[must_use]
    pub fn probing(&self) -> ProbingConfig {
        ProbingConfig {
            threshold: self.overlay.threshold,
            pair_interval: self.overlay.pair_interval,
            pair_len: u16::try_from(self.overlay.pair_len.0).unwrap_or(u16::MAX),
        }
    }
}
