//! What came to an endpoint and what it decided, so that both can be gone through again.
//!
//! A recording has all that decisions rest on: times, kinds, lengths, numbers and paths of packets and frames. It has
//! neither payloads nor keys nor the addresses of paths. Of an application's packet it has what a policy may know of it
//! ([`PacketMeta`](polypath_core::packet::PacketMeta)); the number of its flow is a hash of addresses and ports, by which
//! whoever guesses these could check the guess.
//!
//! Since an endpoint has no clock, no entropy and no I/O, it decides the same when it is woken at the same times with the
//! same inputs: [`Replay`] does that, and tells the first decision that differs.

mod difference;
mod replay;

use bytes::Bytes;
use polypath_core::endpoint::{Input, Output};
use polypath_core::frame::{Body, Frame, Payload};
use polypath_core::machine::Wake;
use polypath_core::packet::{self, Ecn};
use polypath_core::time::Time;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

pub use difference::Difference;
pub use replay::Replay;

/// The longest IP packet in bytes: an IPv6 header and what its length field can say.
const LONGEST: u32 = 40 + 0xffff;

/// A packet as far as an endpoint looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Its length in bytes, at most that of an IPv6 packet without an extension for more (RFC 8200, 3).
    #[serde(deserialize_with = "length")]
    pub len: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let len = u32::deserialize(deserializer)?;
    if len > LONGEST {
        return Err(D::Error::custom(format_args!("no packet has {len} bytes")));
    }
    Ok(len)
}

/// An endpoint that was woken, and what it said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// By what.
    pub wake: Wake<Input<Shape>>,
    /// What it said, in this order.
    pub outputs: Vec<Output<Shape>>,
    /// When it wanted to be woken next.
    pub deadline: Option<Time>,
}

/// Whoever takes entries, in the order in which they came about; it must not wait.
pub type Recorder = Box<dyn FnMut(Entry) + Send>;

impl Shape {
    fn of(packet: &Bytes) -> Self {
        Self {
            len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            ecn: packet::ecn(packet),
        }
    }
}

impl Payload for Shape {
    fn len(&self) -> usize {
        self.len as usize
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        if self.ecn != Ecn::NotEct {
            self.ecn = Ecn::Ce;
        }
    }
}

/// The shape of what comes to an endpoint.
pub(crate) fn shape_of_wake(wake: &Wake<Input<Bytes>>) -> Wake<Input<Shape>> {
    let Wake::Input(input) = wake else {
        return Wake::Timeout;
    };
    Wake::Input(match input {
        Input::Packet { meta, payload } => Input::Packet {
            meta: *meta,
            payload: Shape::of(payload),
        },
        Input::Frame(frame) => Input::Frame(shape_of_frame(frame)),
        Input::Reachable => Input::Reachable,
        Input::PeerRestarted => Input::PeerRestarted,
        Input::PathReachable(path) => Input::PathReachable(*path),
        Input::DriverBehind(present) => Input::DriverBehind(*present),
        Input::InterfaceMtu {
            path,
            mtu,
            rerouted,
        } => Input::InterfaceMtu {
            path: *path,
            mtu: *mtu,
            rerouted: *rerouted,
        },
        Input::Adjust(to) => Input::Adjust(*to),
    })
}

/// The shape of what an endpoint says.
pub(crate) fn shape_of_output(said: &Output<Bytes>) -> Output<Shape> {
    match said {
        Output::Transmit(frame) => Output::Transmit(shape_of_frame(frame)),
        Output::Deliver(packet) => Output::Deliver(Shape::of(packet)),
        Output::Event(event) => Output::Event(*event),
        Output::Refused {
            payload,
            limit,
            is_final,
        } => Output::Refused {
            payload: Shape::of(payload),
            limit: *limit,
            is_final: *is_final,
        },
    }
}

fn shape_of_frame(frame: &Frame<Bytes>) -> Frame<Shape> {
    let body = match &frame.body {
        Body::Data(packet) => Body::Data(Shape::of(packet)),
        Body::Probe { data_len } => Body::Probe {
            data_len: *data_len,
        },
        Body::Pair { trailing, len } => Body::Pair {
            trailing: *trailing,
            len: *len,
        },
        Body::Switch { to } => Body::Switch { to: *to },
        Body::Heartbeat(purpose) => Body::Heartbeat(*purpose),
        Body::HeartbeatReply(purpose) => Body::HeartbeatReply(*purpose),
    };
    frame.carrying(frame.path, body)
}

#[cfg(test)]
mod tests;
