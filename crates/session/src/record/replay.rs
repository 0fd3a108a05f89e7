//! The replay of a recording.

use polypath_core::endpoint::{ConfigError, Endpoint, EndpointConfig, Output};
use polypath_core::machine::step;
use polypath_core::time::Time;

use super::{Difference, Entry, Shape};

/// An endpoint that replays a recording.
#[derive(Debug)]
pub struct Replay {
    endpoint: Endpoint<Shape>,
    outputs: Vec<Output<Shape>>,
    /// The time of the last wake. An altered recording may have earlier ones, and time must not run
    /// backwards for an endpoint.
    last: Time,
}

impl Replay {
    /// An endpoint in the state at the start of the recording, or the error in its configuration.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(config)?,
            outputs: Vec::new(),
            last: Time::ZERO,
        })
    }

    /// Wakes the endpoint as recorded; fails at the first decision that differs.
    pub fn check(&mut self, entry: &Entry) -> Result<(), Box<Difference>> {
        self.outputs.clear();
        self.last = self.last.max(entry.at);
        let outputs = &mut self.outputs;
        let next = step(
            &mut self.endpoint,
            self.last,
            entry.wake.clone(),
            &mut |s| {
                outputs.push(s);
            },
        );
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
