//! The configuration of the overlay's endpoints: under a scheme, and as deployed.

use polypath_core::class::Classes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation as Sizes, OVER_IPV4};
use polypath_core::liveness::LivenessSetting;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::units::Bytes;

use crate::scenario::{Scenario, Scheme};
use crate::settings::{Encapsulation, Overlay};

/// The sizes of frames of a deployment over IPv4.
pub(crate) const DEPLOYED_FRAMES: Sizes = Sizes::deployed(OVER_IPV4);

/// The configuration of a deployed node over IPv4, with `paths` paths without tariffs, without
/// classes, and with the window of scenarios, half of a node's.
pub(crate) fn deployed_endpoint(paths: usize, policy: PolicyConfig) -> EndpointConfig {
    EndpointConfig {
        paths: u8::try_from(paths).unwrap_or(u8::MAX),
        policy,
        encapsulation: DEPLOYED_FRAMES,
        window: Overlay::default().window,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: LivenessSetting::default().config(),
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        spacing: None,
    }
}

impl Scenario {
    /// The endpoints' configuration under a scheme.
    ///
    /// Frames of a scenario with `encapsulation = "wire"` have the same size under every scheme,
    /// including `tcp`, so that the schemes differ only in their paths. Plain TCP has no overlay
    /// that detects silent paths, or limits what they carry.
    #[must_use]
    pub fn endpoint(&self, scheme: Scheme) -> EndpointConfig {
        let has_overlay = scheme != Scheme::Tcp;
        let tariffs = self.paths.iter().map(|path| path.tariff);
        EndpointConfig {
            paths: u8::try_from(self.paths.len()).unwrap_or(u8::MAX),
            policy: scheme.policy(),
            encapsulation: self.frame_sizes(),
            window: self.overlay.window,
            first_sequence: 0,
            seed: Seed::default(),
            probing: self.probing(),
            detector: None,
            liveness: self.overlay.liveness.filter(|_| has_overlay),
            tariffs: tariffs.filter(|_| has_overlay).collect(),
            classes: self.classes.clone(),
            spacing: None,
        }
    }

    /// The bytes that a frame adds to a packet on the wire.
    #[must_use]
    pub fn frame_overhead(&self) -> Bytes {
        Bytes(self.frame_sizes().data.into())
    }

    fn frame_sizes(&self) -> Sizes {
        match self.overlay.encapsulation {
            Encapsulation::Wire => DEPLOYED_FRAMES,
            Encapsulation::Paper => Sizes::PAPER,
        }
    }

    /// The path comparison of the endpoints.
    #[must_use]
    pub fn probing(&self) -> ProbingConfig {
        ProbingConfig {
            threshold: self.overlay.threshold,
            pair_interval: self.overlay.pair_interval,
            pair_len: u16::try_from(self.overlay.pair_len.0).unwrap_or(u16::MAX),
        }
    }
}
