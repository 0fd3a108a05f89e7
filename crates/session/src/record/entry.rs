//! The wakes of a recording.

use polypath_core::connections::{ReceptionInput, ReceptionOutput};
use polypath_core::endpoint::{Input, Output};
use polypath_core::machine::Wake;
use polypath_core::time::Time;
use serde::{Deserialize, Serialize};

use super::Shape;

/// One wake of a machine with inputs `I` and outputs `O`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeEntry<I, O> {
    /// The time of the wake.
    pub at: Time,
    /// The cause of the wake.
    pub wake: Wake<I>,
    /// The outputs, in order.
    pub outputs: Vec<O>,
    /// The time of the next deadline.
    pub deadline: Option<Time>,
}

/// One wake of an endpoint.
pub type Entry = WakeEntry<Input<Shape>, Output<Shape>>;

/// One wake of the reception of a stream, whose packets have sizes alone.
pub type ReceptionEntry = WakeEntry<ReceptionInput<()>, ReceptionOutput<()>>;

/// A receiver of entries in their order; it must not block.
pub type Recorder<E> = Box<dyn FnMut(E) + Send>;
