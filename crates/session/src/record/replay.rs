//! An endpoint that goes through a recording again.

use polypath_core::endpoint::{ConfigError, Endpoint, EndpointConfig, Output};
use polypath_core::machine::step;

use super::{Difference, Entry, Shape};

/// An endpoint that goes through a recording again.
#[derive(Debug)]
pub struct Replay {
    endpoint: Endpoint<Shape>,
    said: Vec<Output<Shape>>,
}

impl Replay {
    /// An endpoint as it was when its recording began, or what is wrong with its configuration.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(config)?,
            said: Vec::new(),
        })
    }

    /// Wakes the endpoint as it was woken then; fails at the first decision that differs.
    pub fn check(&mut self, entry: &Entry) -> Result<(), Box<Difference>> {
        self.said.clear();
        let said = &mut self.said;
        let next = step(&mut self.endpoint, entry.at, entry.wake.clone(), &mut |s| {
            said.push(s);
        });
        let number = (0..said.len().max(entry.outputs.len()))
            .find(|&number| said.get(number) != entry.outputs.get(number));
        if let Some(number) = number {
            return Err(Box::new(Difference::Output {
                at: entry.at,
                number: number + 1,
                recorded: entry.outputs.get(number).cloned(),
                replayed: said.get(number).cloned(),
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
