//! The mechanisms that the paper compares (III).

use polypath_core::policy::DelayCentricConfig;
use polypath_scenario::network::senders::Setting;
use serde::Serialize;

/// A mechanism of path selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Mechanism {
    pub(crate) rule: Rule,
    /// Whether there is a guard time, with fast heartbeats.
    pub(crate) guard: bool,
}

/// The rule by which a path is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// Compares the smoothed round-trip times (II.B).
    Reactive,
    /// Compares averages and the trends of both paths (II.C, this paper).
    Modified,
    /// Compares averages and uses the trend of the current path (II.C, the original).
    Original,
}

pub(crate) const PURE: Mechanism = Mechanism {
    rule: Rule::Reactive,
    guard: false,
};
pub(crate) const GUARD: Mechanism = Mechanism {
    rule: Rule::Reactive,
    guard: true,
};
pub(crate) const PREDICTIVE: Mechanism = Mechanism {
    rule: Rule::Modified,
    guard: false,
};
pub(crate) const PREDICTIVE_GUARD: Mechanism = Mechanism {
    rule: Rule::Modified,
    guard: true,
};
pub(crate) const ORIGINAL: Mechanism = Mechanism {
    rule: Rule::Original,
    guard: false,
};
pub(crate) const ORIGINAL_GUARD: Mechanism = Mechanism {
    rule: Rule::Original,
    guard: true,
};

/// The mechanisms (i) to (iv) of III.
pub(crate) const MECHANISMS: [Mechanism; 4] = [PURE, GUARD, PREDICTIVE, PREDICTIVE_GUARD];

impl Mechanism {
    /// The name in claims.
    pub(crate) const fn name(self) -> &'static str {
        match (self.rule, self.guard) {
            (Rule::Reactive, false) => "pure",
            (Rule::Reactive, true) => "guard",
            (Rule::Modified, false) => "predictive",
            (Rule::Modified, true) => "predictive_guard",
            (Rule::Original, false) => "original",
            (Rule::Original, true) => "original_guard",
        }
    }

    /// The policy with the paper's parameters and the heartbeats of `of`.
    pub(crate) fn policy(self, of: DelayCentricConfig) -> Option<DelayCentricConfig> {
        let all = Setting::of_paper(of).into_iter();
        let mut own = all.filter(|setting| setting.name.replace('-', "_") == self.name());
        own.next()?.policy.by_delay()
    }

    /// The name in pictures and tables.
    pub(crate) const fn title(self) -> &'static str {
        match (self.rule, self.guard) {
            (Rule::Reactive, false) => "pure delay-centric",
            (Rule::Reactive, true) => "with guard time",
            (Rule::Modified, false) => "predictive",
            (Rule::Modified, true) => "predictive with guard time",
            (Rule::Original, false) => "predictive, original trend",
            (Rule::Original, true) => "predictive, original trend, guard time",
        }
    }
}
