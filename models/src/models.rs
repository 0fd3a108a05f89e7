//! The models: where each begins, its bounds, and what it must reach.

use polypath_session::session::Limits;

use crate::explore::{Bounds, Exploration};
use crate::monitor::Goal;
use crate::world::Setup;

/// A named exploration.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) exploration: Exploration,
}

/// The size of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// That of CI.
    Reduced,
    /// That of `make models`.
    Default,
    /// One step more than by default.
    Deep,
}

/// All models.
pub(crate) fn all(size: Size) -> Vec<Named> {
    vec![opening(size), restart(size), nonces(size), cookies(size)]
}

impl Size {
    /// The number of steps, which `reduced` is in CI.
    const fn depth(self, reduced: usize) -> usize {
        match self {
            Self::Reduced => reduced,
            Self::Default => reduced + 1,
            Self::Deep => reduced + 2,
        }
    }
}

const STARTED: Setup = Setup {
    paths: 1,
    rekey_after_count: None,
    is_passive: false,
    is_flooded: false,
    is_established: false,
};

fn opening(size: Size) -> Named {
    let bounds = Bounds {
        depth: size.depth(6),
        replays: 1,
        offers: 1,
        ..Bounds::default()
    };
    Named {
        name: "opening",
        about: "two nodes start at once",
        exploration: Exploration {
            setup: STARTED,
            bounds,
            settles: true,
            goals: &[Goal::Precedence],
        },
    }
}

fn restart(size: Size) -> Named {
    let setup = Setup {
        is_established: true,
        ..STARTED
    };
    let bounds = Bounds {
        depth: size.depth(4),
        replays: 2,
        offers: 1,
        restarts: 2,
        restarts_behind: usize::from(size != Size::Reduced),
        ..Bounds::default()
    };
    Named {
        name: "restart",
        about: "nodes with a session restart, also with a clock that is behind",
        exploration: Exploration {
            setup,
            bounds,
            settles: true,
            goals: &[Goal::Stale, Goal::RestartNoticed, Goal::OldAnswered],
        },
    }
}

fn nonces(size: Size) -> Named {
    let setup = Setup {
        paths: 2,
        rekey_after_count: Some(2),
        is_established: true,
        ..STARTED
    };
    let bounds = Bounds {
        depth: size.depth(3),
        offers: 3,
        restarts: 1,
        ..Bounds::default()
    };
    Named {
        name: "nonces",
        about: "frames on two paths while keys are renewed",
        exploration: Exploration {
            setup,
            bounds,
            settles: false,
            goals: &[Goal::Renewed],
        },
    }
}

fn cookies(size: Size) -> Named {
    let setup = Setup {
        is_passive: true,
        is_flooded: true,
        is_established: true,
        ..STARTED
    };
    let bounds = Bounds {
        depth: size.depth(3),
        replays: 1,
        spoofs: 1,
        restarts: 1,
        moves: 1,
        ..Bounds::default()
    };
    Named {
        name: "cookies",
        about: "nodes restart and move while an attacker exhausts all budgets",
        exploration: Exploration {
            setup,
            bounds,
            settles: true,
            goals: &[Goal::CookieRequired],
        },
    }
}

impl Setup {
    /// The limits at which keys are renewed.
    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits {
            rekey_after_count: self.rekey_after_count.unwrap_or(limits.rekey_after_count),
            ..limits
        }
    }
}
