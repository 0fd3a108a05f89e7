//! The paper's rule.

use super::{LinkWindow, Reading, SameLinksConfig, Sign, Signature, is_touched};
use crate::frame::PathId;
use crate::policy::PathSet;

/// Congestion where the same links lose something for several windows, and they are many (diversity-routing paper, VI).
///
/// The score is how many links lost something in each of the last windows.
#[derive(Clone, Debug)]
pub struct SameLinks {
    config: SameLinksConfig,
    /// The links that lost something in each of the newest windows, and in how many that was.
    same: PathSet,
    windows: u8,
}

impl SameLinks {
    /// A rule that has seen nothing.
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
            // Another set, of which this window is the first.
            (self.same, self.windows) = (losing, 1);
        } else {
            (self.same, self.windows) = (both, self.windows.saturating_add(1));
        }
        let is_long = self.windows >= self.config.windows;
        let is_many = self.same.len() >= u32::from(self.config.links);
        let sign = match is_touched(links) {
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
