//! The policy of a sender, and the state that outlives it.

use alloc::boxed::Box;
use alloc::format;

use super::super::config::{Adjustment, EndpointConfig};
use crate::frame::{Epoch, PathId};
use crate::policy::{PathPolicy, PolicyConfig, PolicyContext};
use crate::rng::{Seed, Stream};
use crate::tariff::Tariffs;
use crate::time::Duration;

/// A policy with its configuration.
#[derive(Clone, Debug)]
pub(super) struct PolicyState {
    pub(super) current: Box<dyn PathPolicy>,
    /// The number of times that data moved to another path.
    pub(super) switches: u64,
    config: PolicyConfig,
    pair_interval: Duration,
    paths: u8,
    tariffs: Tariffs,
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
        let start_epoch = Epoch::default();
        let context = PolicyContext {
            paths: config.paths,
            start: None,
            pair_interval: config.probing.pair_interval,
            epoch: start_epoch,
            // An endpoint does not acknowledge data: only heartbeats measure its paths.
            acknowledges: false,
            tariffs: config.tariffs.clone(),
            stream: stream(config.seed, start_epoch),
        };
        Self {
            current: config.policy.build(context),
            switches: 0,
            config: config.policy,
            pair_interval: config.probing.pair_interval,
            paths: config.paths,
            tariffs: config.tariffs.clone(),
            seed: config.seed,
            start_epoch,
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
    /// another pair interval or with other costs continues on its active path; without probes the
    /// pair interval has no effect.
    pub(super) fn adjust(&mut self, to: &Adjustment) -> Option<PathSwitch> {
        let (config, pair_interval) = (to.policy, to.probing.pair_interval);
        let same = config.sends_like(self.config);
        let has_same_costs = to.tariffs.cost_like(&self.tariffs);
        self.tariffs.clone_from(&to.tariffs);
        if same && has_same_costs && (pair_interval == self.pair_interval || !config.probes()) {
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
        let context = PolicyContext {
            paths: self.paths,
            start,
            pair_interval,
            epoch: self.start_epoch,
            acknowledges: false,
            tariffs: to.tariffs.clone(),
            stream: stream(self.seed, self.start_epoch),
        };
        let flows = self.current.flow_paths();
        self.current = config.build(context);
        // Flows that chose by themselves would otherwise all meet on one path.
        self.current.resume_flows(flows);
        self.config = config;
        self.pair_interval = pair_interval;
        let (from, to) = (from?, self.current.active()?);
        (from != to).then_some(PathSwitch { from, to })
    }
}

/// The random stream of the policy that starts in this epoch.
fn stream(seed: Seed, epoch: Epoch) -> Stream {
    seed.stream(&format!("policy/{}", epoch.0))
}
