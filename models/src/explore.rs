//! The exploration: every sequence of steps within bounds, by the model checker `stateright`.
//!
//! A session cannot be copied, so a state is its history, from which the two real sessions are built
//! again. Two histories lead to the same state if each node has the same inputs in the same order.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use polypath_core::frame::PathId;
use stateright::{Model, Property};

use crate::monitor::{Goal, Reached, Violation};
use crate::settle::settle;
use crate::trace::describe;
use crate::world::{Action, Effect, Setup, World};

/// The bounds of an exploration: how often the steps of each kind are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// All steps.
    pub(crate) depth: usize,
    /// Datagrams that arrive again.
    pub(crate) replays: usize,
    /// Datagrams that arrive from an address of the attacker.
    pub(crate) spoofs: usize,
    /// Frames, of both nodes.
    pub(crate) offers: usize,
    /// Restarts, of both nodes.
    pub(crate) restarts: usize,
    /// Restarts with a clock that is behind.
    pub(crate) restarts_behind: usize,
    /// Changes of the address of node 0.
    pub(crate) moves: usize,
}

/// A model: where an exploration begins, its bounds, and what it must reach.
#[derive(Clone)]
pub(crate) struct Exploration {
    pub(crate) setup: Setup,
    pub(crate) bounds: Bounds,
    /// Whether each state must lead to agreement.
    pub(crate) settles: bool,
    /// The goals that it must reach.
    pub(crate) goals: &'static [Goal],
}

/// A state, represented by one of the histories that lead to it.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) history: Vec<Action>,
    fingerprint: u64,
    enabled: Vec<Action>,
    pub(crate) reached: Reached,
    violation: Option<Violation>,
    /// The violation that follows if the network delivers everything from here on.
    settled: Arc<OnceLock<Option<Violation>>>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.history)
    }
}

thread_local! {
    /// The last world that a step without effect has left as it was, and its history.
    static LAST: RefCell<Option<(Vec<Action>, World)>> = const { RefCell::new(None) };
}

impl Exploration {
    /// The sessions after `history`.
    fn world(&self, history: &[Action]) -> World {
        let last = LAST.take();
        if let Some((of, world)) = last
            && of == history
        {
            return world;
        }
        let mut world = World::new(self.setup.clone());
        for action in history {
            world.apply(*action);
        }
        world
    }

    fn state(&self, history: Vec<Action>, world: &World) -> State {
        let violation = world.monitor.violation;
        let enabled = if history.len() >= self.bounds.depth || violation.is_some() {
            Vec::new()
        } else {
            self.enabled(&history, world)
        };
        State {
            fingerprint: world.fingerprint(),
            enabled,
            reached: world.monitor.reached,
            violation,
            settled: Arc::default(),
            history,
        }
    }

    fn enabled(&self, history: &[Action], world: &World) -> Vec<Action> {
        let Bounds {
            replays,
            spoofs,
            offers,
            restarts,
            restarts_behind,
            moves,
            ..
        } = self.bounds;
        let count = |is: fn(&Action) -> bool| history.iter().filter(|action| is(action)).count();
        let mut enabled = vec![Action::Advance];
        let may_spoof = count(|action| matches!(action, Action::Spoof(_))) < spoofs;
        let may_replay = replayed(history) < replays;
        for (number, sent) in world.sent.iter().enumerate() {
            let receiver = &world.nodes[1 - sent.from].session;
            let mut indices = receiver.local_indices();
            // It would be rejected with an unknown index.
            if sent.is_transport() && !indices.any(|index| index == sent.receiver()) {
                continue;
            }
            if sent.deliveries == 0 || may_replay {
                enabled.push(Action::Deliver(number));
            }
            if may_spoof && sent.is_initiation() {
                enabled.push(Action::Spoof(number));
            }
        }
        if count(|action| matches!(action, Action::Offer(..))) < offers {
            for path in (0..self.setup.paths).map(PathId) {
                enabled.extend([Action::Offer(0, path), Action::Offer(1, path)]);
            }
        }
        if count(|action| matches!(action, Action::Restart(_))) < restarts {
            enabled.extend([Action::Restart(0), Action::Restart(1)]);
        }
        if count(|action| matches!(action, Action::RestartBehind(_))) < restarts_behind {
            enabled.extend([Action::RestartBehind(0), Action::RestartBehind(1)]);
        }
        if count(|action| matches!(action, Action::Move(_))) < moves {
            enabled.push(Action::Move(0));
        }
        enabled
    }

    fn violation(&self, state: &State) -> Option<Violation> {
        let settles = self.settles.then_some(());
        state.violation.or_else(|| {
            settles?;
            *state.settled.get_or_init(|| {
                let mut world = self.world(&state.history);
                settle(&mut world);
                world.monitor.violation
            })
        })
    }

    /// The history of a state as lines for a reader, with the violation.
    pub(crate) fn explain(&self, state: &State) -> Vec<String> {
        let mut world = World::new(self.setup.clone());
        let mut lines = Vec::new();
        for action in &state.history {
            lines.push(describe(&world, *action));
            world.apply(*action);
        }
        if world.monitor.violation.is_none() {
            lines.push("          from here on the network delivers everything".to_owned());
        }
        lines.extend(self.violation(state).map(|violation| violation.to_string()));
        lines
    }
}

/// The number of datagrams that arrived again.
fn replayed(history: &[Action]) -> usize {
    let numbers = history
        .iter()
        .enumerate()
        .filter_map(|(at, action)| match action {
            Action::Deliver(number) => Some((at, *action, number)),
            _ => None,
        });
    numbers
        .filter(|(at, action, _)| history[..*at].contains(action))
        .count()
}

fn holds<const N: usize>(model: &Exploration, state: &State) -> bool {
    model.violation(state) != Some(Violation::ALL[N])
}

fn goal_property(goal: Goal) -> Property<Exploration> {
    type Condition = fn(&Exploration, &State) -> bool;
    let (name, condition): (&'static str, Condition) = match goal {
        Goal::Renewed => ("reached: keys are renewed", |_, state| {
            state.reached.contains(Goal::Renewed)
        }),
        Goal::Precedence => (
            "reached: an initiation loses against another",
            |_, state| state.reached.contains(Goal::Precedence),
        ),
        Goal::Stale => ("reached: an initiation is found stale", |_, state| {
            state.reached.contains(Goal::Stale)
        }),
        Goal::RestartNoticed => ("reached: a restart is reported", |_, state| {
            state.reached.contains(Goal::RestartNoticed)
        }),
        Goal::OldAnswered => ("reached: two runs answer one initiation", |_, state| {
            state.reached.contains(Goal::OldAnswered)
        }),
        Goal::CookieRequired => ("reached: a cookie is required", |_, state| {
            state.reached.contains(Goal::CookieRequired)
        }),
    };
    Property::sometimes(name, condition)
}

impl Model for Exploration {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let world = World::new(self.setup.clone());
        vec![self.state(Vec::new(), &world)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend(&state.enabled);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut world = self.world(&last.history);
        if world.apply(action) == Effect::Nothing && world.monitor.violation.is_none() {
            LAST.set(Some((last.history.clone(), world)));
            return None;
        }
        let mut history = last.history.clone();
        history.push(action);
        Some(self.state(history, &world))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let conditions: [fn(&Self, &State) -> bool; Violation::ALL.len()] = [
            holds::<0>,
            holds::<1>,
            holds::<2>,
            holds::<3>,
            holds::<4>,
            holds::<5>,
            holds::<6>,
            holds::<7>,
            holds::<8>,
            holds::<9>,
            holds::<10>,
            holds::<11>,
            holds::<12>,
        ];
        let named = Violation::ALL.iter().zip(conditions);
        let properties =
            named.map(|(violation, condition)| Property::always(violation.property(), condition));
        let goals = self.goals.iter().map(|goal| goal_property(*goal));
        properties.chain(goals).collect()
    }
}
