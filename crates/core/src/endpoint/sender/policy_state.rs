//! The policy of a sender, and the state that outlives it.

use alloc::boxed::Box;
use alloc::format;

use super::super::config::EndpointConfig;
use crate::frame::{Epoch, PathId};
use crate::policy::{PathPolicy, PolicyConfig, PolicyContext};
use crate::rng::Seed;
use crate::time::Duration;

/// A policy with its configuration.
#[derive(Debug)]
pub(super) struct PolicyState {
    pub(super) current: Box<dyn PathPolicy>,
    /// The number of times that data moved to another path.
    pub(super) switches: u64,
    config: PolicyConfig,
    pair_interval: Duration,
    paths: u8,
    seed: Seed,
    /// The epoch in which the current policy started: its epochs continue those of the policy
    /// before it.
    start_epoch: Epoch,
}

/// A change of the path that carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathSwitch {
    pub(super) from: PathId,
    pub(super) to: PathId,
}

impl PolicyState {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        let start = Epoch::default();
        let context = context(
            config.paths,
            None,
            config.probing.pair_interval,
            start,
            config.seed,
        );
        Self {
            current: config.policy.build(context),
            switches: 0,
            config: config.policy,
            pair_interval: config.probing.pair_interval,
            paths: config.paths,
            seed: config.seed,
            start_epoch: start,
        }
    }

    pub(super) fn config(&self) -> PolicyConfig {
        self.config
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.current.epoch().max(self.start_epoch)
    }

    /// Replaces the policy, and returns the switch of the data path that this causes, if any.
    ///
    /// A different policy opens an epoch, so that switch requests for the policy before it have no
    /// effect. It starts on the path that it names, or on the active one. The same policy with
    /// another pair interval continues on its active path; without probes the pair interval has no
    /// effect.
    pub(super) fn adjust(
        &mut self,
        config: PolicyConfig,
        pair_interval: Duration,
    ) -> Option<PathSwitch> {
        let same = config.sends_like(self.config);
        if same && (pair_interval == self.pair_interval || !config.probes()) {
            self.config = config;
            self.pair_interval = pair_interval;
            return None;
        }
        let from = self.current.active();
        let start = from.filter(|_| same || config.named_path().is_none());
        self.start_epoch = if same {
            self.epoch()
        } else {
            self.epoch().next()
        };
        let context = context(
            self.paths,
            start,
            pair_interval,
            self.start_epoch,
            self.seed,
        );
        self.current = config.build(context);
        self.config = config;
        self.pair_interval = pair_interval;
        let (from, to) = (from?, self.current.active()?);
        (from != to).then_some(PathSwitch { from, to })
    }
}

/// An endpoint does not acknowledge data, so that only heartbeats measure its paths.
fn context(
    paths: u8,
    start: Option<PathId>,
    pair_interval: Duration,
    epoch: Epoch,
    seed: Seed,
) -> PolicyContext {
    PolicyContext {
        paths,
        start,
        pair_interval,
        epoch,
        acknowledges: false,
        stream: seed.stream(&format!("policy/{}", epoch.0)),
    }
}
