//! The replay of a recording.

use polypath_core::endpoint::{ConfigError, Endpoint, EndpointConfig};
use polypath_core::machine::{Machine, step};
use polypath_core::time::Time;

use super::{Difference, Shape, WakeEntry};

/// A machine that replays a recording.
#[derive(Debug)]
pub struct Replay<M: Machine> {
    machine: M,
    outputs: Vec<M::Output>,
    /// The time of the last wake. An altered recording may have earlier ones, and time must not run
    /// backwards for a machine.
    last: Time,
}

impl Replay<Endpoint<Shape>> {
    /// An endpoint in the state at the start of the recording, or the error in its configuration.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        Endpoint::new(config).map(Self::of)
    }
}

impl<M: Machine<Input: Clone, Output: Clone + PartialEq>> Replay<M> {
    /// A machine in the state at the start of the recording.
    pub const fn of(machine: M) -> Self {
        Self {
            machine,
            outputs: Vec::new(),
            last: Time::ZERO,
        }
    }

    /// Wakes the machine as recorded; fails at the first decision that differs.
    pub fn check(
        &mut self,
        entry: &WakeEntry<M::Input, M::Output>,
    ) -> Result<(), Box<Difference<M::Output>>> {
        self.outputs.clear();
        self.last = self.last.max(entry.at);
        let outputs = &mut self.outputs;
        let next = step(&mut self.machine, self.last, entry.wake.clone(), &mut |s| {
            outputs.push(s);
        });
        let number = (0..outputs.len().max(entry.outputs.len()))
            .find(|&number| outputs.get(number) != entry.outputs.get(number));
        if let Some(number) = number {
            return Err(Box::new(Difference::Output {
                at: entry.at,
                number: number + 1,
                recorded: entry.outputs.get(number).cloned(),
                replayed: outputs.get(number).cloned(),
            }));
        }
        if next.map(|deadline| deadline.at) != entry.deadline {
            return Err(Box::new(Difference::deadline(
                entry.at,
                entry.deadline,
                next,
            )));
        }
        Ok(())
    }
}
