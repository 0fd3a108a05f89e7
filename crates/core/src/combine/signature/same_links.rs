//! The paper's signature: losses on the same links for several windows.

use super::{LinkWindow, Reading, SameLinksConfig, Sign, Signature, has_losses_or_marks};
use crate::frame::PathId;
use crate::policy::PathSet;

/// Congestion if enough links have losses, and the same ones for several windows (diversity-routing
/// paper, VI).
///
/// The score is the number of links with losses in each of the last windows.
#[derive(Clone, Debug)]
pub struct SameLinks {
    config: SameLinksConfig,
    /// The links with losses in each of the last `windows` windows.
    same: PathSet,
    windows: u8,
}

impl SameLinks {
    /// Creates the signature in its initial state.
    #[must_use]
    pub const fn new(config: SameLinksConfig) -> Self {
        Self {
            config,
            same: PathSet::EMPTY,
            windows: 0,
        }
    }
}

impl Signature for SameLinks {
    fn on_window(&mut self, links: &[LinkWindow]) -> Reading {
        let losing = (0..).map(PathId).zip(links);
        let losing = losing.filter(|(_, link)| link.lost > 0 || link.marked > 0);
        let losing = losing.fold(PathSet::EMPTY, |set, (path, _)| set.with(path));
        let both = self.same.and(losing);
        if self.windows == 0 || both.len() < u32::from(self.config.links) {
            // Too few links in common: a new run starts with this window.
            (self.same, self.windows) = (losing, 1);
        } else {
            (self.same, self.windows) = (both, self.windows.saturating_add(1));
        }
        let is_long = self.windows >= self.config.windows;
        let is_many = self.same.len() >= u32::from(self.config.links);
        let sign = match has_losses_or_marks(links) {
            false => Sign::Nothing,
            true if is_many && is_long => Sign::Congestion,
            true => Sign::Dropout,
        };
        let score = if is_long { self.same.len() } else { 0 };
        Reading {
            sign,
            score: f64::from(score),
        }
    }
}
