//! Recordings of a machine's inputs and outputs, and their replay.
//!
//! A machine has no clock, entropy or I/O, so it decides the same when it is woken at the same times
//! with the same inputs. [`Replay`] does that, and reports the first decision that differs. Recorded
//! are the endpoint of a node, and the [reception](polypath_core::connections::Reception) of a stream.
//!
//! The recording of an endpoint contains everything that the endpoint's decisions depend on: times, kinds, lengths,
//! numbers and paths of packets and frames. It contains no payloads, keys or addresses of paths. Of
//! an application's packet it contains what a policy may use ([`PacketMeta`]), with its ports only
//! where packets are classified; the flow number is a hash of addresses and ports, so
//! someone who guesses these can verify the guess.

mod difference;
mod entry;
mod replay;

use bytes::Bytes;
use polypath_core::endpoint::{Endpoint, Input, Output};
use polypath_core::fragment::Code;
use polypath_core::frame::{Body, Frame, Payload};
use polypath_core::machine::Wake;
use polypath_core::packet::{self, Ecn, FlowId, PacketFields, PacketMeta};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

pub use difference::Difference;
pub use entry::{Entry, ReceptionEntry, Recorder, WakeEntry};
pub use replay::Replay;

/// The longest IP packet in bytes: an IPv6 header and the largest value of its length field (RFC
/// 8200).
const MAX_PACKET_LEN: u32 = 40 + 0xffff;

/// The parts of a packet that an endpoint examines.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Its length in bytes, at most that of an IPv6 packet without the jumbo payload option (RFC
    /// 8200).
    #[serde(deserialize_with = "length")]
    pub len: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether it carries TCP; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tcp: bool,
    /// The number of its flow; absent from decisions, and unless congestion is signalled to each
    /// flow of the peer. It is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// The fields by which classes select a packet of the peer; absent from decisions, and without
    /// classes. They are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<PacketFields>,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        let compared = |shape: &Self| (shape.len, shape.ecn, shape.tcp);
        compared(self) == compared(other)
    }
}

impl Eq for Shape {}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let len = u32::deserialize(deserializer)?;
    if len > MAX_PACKET_LEN {
        return Err(D::Error::custom(format_args!(
            "no IP packet has {len} bytes"
        )));
    }
    Ok(len)
}

impl Shape {
    fn of(packet: &Bytes) -> Self {
        Self {
            ecn: packet::ecn(packet),
            tcp: packet::is_tcp(packet),
            ..Self::with_len(packet.len())
        }
    }

    /// The shape of a fragment, of which an endpoint examines nothing else.
    fn of_fragment(fragment: &Bytes) -> Self {
        Self::with_len(fragment.len())
    }

    fn with_len(len: usize) -> Self {
        Self {
            len: u32::try_from(len).unwrap_or(u32::MAX),
            ecn: Ecn::NotEct,
            tcp: false,
            flow: None,
            fields: None,
        }
    }

    /// The shape of a packet, with the optional fields that the endpoint examines.
    fn examined(packet: &Bytes, examined: Examined) -> Self {
        Self {
            flow: examined.flows.then(|| packet.flow()),
            fields: packet.fields().filter(|_| examined.classes),
            ..Self::of(packet)
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

    fn is_tcp(&self) -> bool {
        self.tcp
    }

    fn flow(&self) -> FlowId {
        self.flow.unwrap_or_default()
    }

    fn fields(&self) -> Option<PacketFields> {
        self.fields
    }

    fn mark_ce(&mut self) {
        if self.ecn != Ecn::NotEct {
            self.ecn = Ecn::Ce;
        }
    }

    fn split(&self, code: Code) -> Option<Vec<Self>> {
        let len = code.fragment_len(u16::try_from(self.len).ok()?);
        Some(vec![Self::with_len(len.into()); code.total().into()])
    }
}

/// The fields of packets that an endpoint examines besides their lengths, ECN fields and protocols.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Examined {
    /// The fields by which classes select packets.
    classes: bool,
    /// The flows of the peer's packets.
    flows: bool,
}

impl Examined {
    pub(crate) fn by(endpoint: &Endpoint<Bytes>) -> Self {
        Self {
            classes: endpoint.has_classes(),
            flows: endpoint.detector_statistics().is_some(),
        }
    }
}

/// The wake of an endpoint, with no more of payloads than it examines.
pub(crate) fn shape_of_wake(
    wake: &Wake<Input<Bytes>>,
    endpoint: &Endpoint<Bytes>,
) -> Wake<Input<Shape>> {
    let Wake::Input(input) = wake else {
        return Wake::Timeout;
    };
    let examined = Examined::by(endpoint);
    Wake::Input(match input {
        Input::Packet { meta, payload } => Input::Packet {
            meta: PacketMeta {
                ports: meta.ports.filter(|_| examined.classes),
                ..*meta
            },
            payload: Shape::of(payload),
        },
        Input::Frame(frame) => {
            let restored = endpoint.completed_by(frame);
            let shape = |bytes: &Bytes| match (&frame.body, &restored) {
                // A fragment stands for the packet that it completes, and else for nothing.
                (Body::Fragment { .. }, None) => Shape::of_fragment(bytes),
                (_, restored) => Shape::examined(restored.as_ref().unwrap_or(bytes), examined),
            };
            Input::Frame(frame.carrying(frame.path, frame.body.map_ref(shape)))
        }
        Input::Reachable => Input::Reachable,
        Input::PeerRestarted => Input::PeerRestarted,
        Input::PeerReports(reports) => Input::PeerReports(*reports),
        Input::PeerFragments(fragments) => Input::PeerFragments(*fragments),
        Input::PeerSpacing(spacing) => Input::PeerSpacing(*spacing),
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
        Input::PathUsed {
            path,
            used,
            is_renewed,
        } => Input::PathUsed {
            path: *path,
            used: *used,
            is_renewed: *is_renewed,
        },
        Input::Adjust(to) => Input::Adjust(to.clone()),
    })
}

/// An output of an endpoint, without payloads.
pub(crate) fn shape_of_output(output: &Output<Bytes>) -> Output<Shape> {
    match output {
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
    let body = match frame.body {
        Body::Fragment { .. } => frame.body.map_ref(Shape::of_fragment),
        _ => frame.body.map_ref(Shape::of),
    };
    frame.carrying(frame.path, body)
}

#[cfg(test)]
mod tests;
