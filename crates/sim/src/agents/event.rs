//! Events that agents report to observers.

use polypath_core::connections::{ControlDecision, PlayOutEvent};
use polypath_core::frame::PathId;
use polypath_core::spacing::{FeedbackCounts, SpacingChange};
use polypath_core::time::Duration;
use serde::{Serialize, Serializer};

use crate::tcp::TcpEvent;

/// An event of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// The sender of spaced packets handled a feedback.
    Spacing(SpacingEvent),
    /// A flow over several routes starts on one, or moves to another.
    Path(PathChange),
    /// An event of a stream over several connections, at its receiver.
    Stream(StreamEvent),
}

/// The effect of a feedback on the spacing of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpacingEvent {
    /// The decision of the controller.
    pub adjustment: SpacingChange,
    /// The spacing from now on.
    pub spacing: Duration,
    /// The packets sent and received, in both interpretations of the paper.
    pub readings: FeedbackCounts,
}

/// Another path carries the data of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The previous path, by its position in the list of routes; `None` at the start.
    pub from: Option<PathId>,
    /// The new path.
    pub to: PathId,
}

/// An event of a stream at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The control unit decided on connections and windows.
    Controlled(ControlDecision),
    /// The player starts or stops.
    Player(PlayOutEvent),
}

/// An event with the number of its agent, or of its TCP flow among those in typed arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    Agent(u32, AgentEvent),
    /// An event of a TCP connection of an agent.
    AgentTcp {
        agent: u32,
        connection: u32,
        event: TcpEvent,
    },
    Tcp {
        flow: u32,
        connection: u32,
        event: TcpEvent,
    },
}

impl AgentEvent {
    /// The name of the event in the event stream.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Spacing(_) => "spacing",
            Self::Path(_) => "path",
            Self::Stream(StreamEvent::Controlled(_)) => "control",
            Self::Stream(StreamEvent::Player(_)) => "player",
        }
    }
}

/// The keys of the events in the event stream; times are in nanoseconds.
#[derive(Serialize)]
#[serde(untagged)]
enum Keys {
    Spacing {
        spacing: u64,
        adjustment: SpacingChange,
        sent: u64,
        received: u64,
        sent_by_clock: u64,
        received_by_clock: u64,
    },
    Path {
        #[serde(skip_serializing_if = "Option::is_none")]
        way_before: Option<u8>,
        to: u8,
    },
    Control {
        connections: u32,
        windows: u32,
        throughput: Option<u64>,
        rtt: Option<u64>,
    },
    Player {
        plays: bool,
    },
}

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Keys::from(self).serialize(serializer)
    }
}

impl From<&AgentEvent> for Keys {
    fn from(event: &AgentEvent) -> Self {
        match event {
            AgentEvent::Spacing(event) => {
                let FeedbackCounts { range, clock } = event.readings;
                Self::Spacing {
                    spacing: event.spacing.as_nanos(),
                    adjustment: event.adjustment,
                    sent: range.sent,
                    received: range.received,
                    sent_by_clock: clock.sent,
                    received_by_clock: clock.received,
                }
            }
            AgentEvent::Path(change) => Self::Path {
                way_before: change.from.map(|path| path.0),
                to: change.to.0,
            },
            AgentEvent::Stream(StreamEvent::Controlled(controlled)) => Self::Control {
                connections: controlled.wanted.connections(),
                windows: controlled.wanted.sum(),
                throughput: controlled.sample.map(|sample| sample.throughput.0),
                rtt: controlled.sample.map(|sample| sample.rtt.as_nanos()),
            },
            AgentEvent::Stream(StreamEvent::Player(event)) => Self::Player {
                plays: *event == PlayOutEvent::Plays,
            },
        }
    }
}
