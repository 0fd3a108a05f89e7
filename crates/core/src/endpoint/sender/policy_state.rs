//! The policy in force, and what outlasts it.

use alloc::boxed::Box;

use crate::frame::{Epoch, PathId};
use crate::policy::{PathPolicy, PolicyConfig};
use crate::time::Duration;

/// A policy with what it was made from.
#[derive(Debug)]
pub(super) struct PolicyState {
    pub(super) current: Box<dyn PathPolicy>,
    /// How often data went to another path.
    pub(super) switches: u64,
    config: PolicyConfig,
    pair_interval: Duration,
    /// The epoch in which the policy began: those of one policy go on where those of the other ended.
    begun: Epoch,
}

impl PolicyState {
    pub(super) fn new(config: PolicyConfig, pair_interval: Duration) -> Self {
        Self {
            current: config.build(pair_interval),
            switches: 0,
            config,
            pair_interval,
            begun: Epoch::default(),
        }
    }

    pub(super) fn config(&self) -> PolicyConfig {
        self.config
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.current.epoch().max(self.begun)
    }

    /// Chooses by `config` from now on; from where and to where that takes data, if it does.
    ///
    /// Another policy opens an epoch, so that no request for a switch of the one before it comes into force. The same
    /// one goes on where it is.
    pub(super) fn adjust(
        &mut self,
        config: PolicyConfig,
        pair_interval: Duration,
    ) -> Option<(PathId, PathId)> {
        let same = config == self.config;
        if same && pair_interval == self.pair_interval {
            return None;
        }
        let from = self.current.active();
        let begins = match from {
            Some(active) if same => config.beginning_on(active),
            _ => config,
        };
        self.begun = if same {
            self.epoch()
        } else {
            self.epoch().next()
        };
        self.current = begins.build_in(self.begun, pair_interval);
        self.config = config;
        self.pair_interval = pair_interval;
        let (from, to) = (from?, self.current.active()?);
        (from != to).then_some((from, to))
    }
}
