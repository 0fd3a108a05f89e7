//! Datagrams over several ways: their sources, and receivers that answer whatever comes on the way on which it came.

mod source;

use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::policy::Feedback;
use polypath_core::time::Time;

use super::event::PathChange;
use super::{Agents, DatagramSink};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::packet::{Packet, PacketKind};
use crate::percentiles::NO_GROUP;
use crate::route::Cursor;
use crate::timer::Timer;
pub use source::{MultihomedOutput, MultihomedSource};

/// What goes between a source and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultihomedFrame {
    /// A datagram, by its number within its flow from 1.
    Data {
        path: PathId,
        number: u32,
    },
    /// It came; it was sent then.
    Ack {
        path: PathId,
        sent: Time,
    },
    Heartbeat {
        path: PathId,
        id: u64,
    },
    Reply {
        path: PathId,
        id: u64,
    },
}

/// A way, there and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) there: Cursor,
    pub(crate) back: Cursor,
}

/// Sizes on the wire in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultihomedSizes {
    pub(crate) packet: u32,
    pub(crate) heartbeat: u32,
    /// Of what answers either of them.
    pub(crate) ack: u32,
}

/// A source over several ways, and what its receiver got.
#[derive(Clone, Debug)]
pub(super) struct Multihomed {
    machine: MultihomedSource,
    timer: Timer,
    ways: Vec<Way>,
    sizes: MultihomedSizes,
    pub(super) sink: DatagramSink,
}

impl Agents {
    /// How many sources over several ways there are: the number of the next.
    pub(crate) fn next_multihomed(&self) -> u32 {
        u32::try_from(self.multihomed.len()).expect("fewer than 2^32 hosts")
    }

    /// Adds a source whose paths are `ways`.
    pub(crate) fn add_multihomed(
        &mut self,
        machine: MultihomedSource,
        sizes: MultihomedSizes,
        ways: Vec<Way>,
        fabric: &mut Fabric,
    ) {
        let number = self.next_multihomed();
        let mut flow = Multihomed {
            machine,
            timer: Timer::default(),
            ways,
            sizes,
            sink: DatagramSink::new(NO_GROUP),
        };
        flow.rearm(number, fabric);
        self.multihomed.push(flow);
    }

    // What such flows do stays out of the loop that the others share.
    #[inline(never)]
    pub(crate) fn wake_multihomed<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let observed = WATCHED && self.observed;
        let flow = &mut self.multihomed[number as usize];
        if flow.timer.expires(at) {
            flow.wake(at, number, Wake::Timeout, (observed, fabric));
        }
    }

    /// Takes what came to the receiver: a datagram or a heartbeat.
    #[inline(never)]
    pub(crate) fn take_multihomed(
        &mut self,
        at: Time,
        number: u32,
        (frame, packet): (MultihomedFrame, &Packet),
        fabric: &mut Fabric,
    ) {
        let flow = &mut self.multihomed[number as usize];
        let answer = match frame {
            MultihomedFrame::Data { path, .. } => {
                let delay = at.since(packet.sent);
                flow.sink.bytes += u64::from(packet.size);
                flow.sink.delays.add(delay);
                self.delays.record(flow.sink.group, delay);
                let sent = packet.sent;
                (path, MultihomedFrame::Ack { path, sent })
            }
            MultihomedFrame::Heartbeat { path, id } => (path, MultihomedFrame::Reply { path, id }),
            MultihomedFrame::Ack { .. } | MultihomedFrame::Reply { .. } => {
                unreachable!("it goes to the source")
            }
        };
        let (path, frame) = answer;
        fabric.send(
            at,
            Packet {
                cursor: flow.ways[path.index()].back,
                size: flow.sizes.ack,
                sent: at,
                kind: PacketKind::Multihomed(frame),
            },
        );
    }

    /// Takes what came back to the source: an ACK or the answer to a heartbeat.
    #[inline(never)]
    pub(crate) fn take_answer<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        frame: MultihomedFrame,
        fabric: &mut Fabric,
    ) {
        let feedback = match frame {
            MultihomedFrame::Ack { path, sent } => {
                let rtt = at.since(sent);
                Feedback::Acknowledged { path, rtt }
            }
            MultihomedFrame::Reply { path, id } => Feedback::HeartbeatReply { path, id },
            MultihomedFrame::Data { .. } | MultihomedFrame::Heartbeat { .. } => {
                unreachable!("it goes to the receiver")
            }
        };
        let observed = WATCHED && self.observed;
        let flow = &mut self.multihomed[number as usize];
        flow.wake(at, number, Wake::Input(feedback), (observed, fabric));
    }
}

impl MultihomedFrame {
    /// The number of a datagram within its flow, from 1; else 0.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Data { number, .. } => number,
            Self::Ack { .. } | Self::Heartbeat { .. } | Self::Reply { .. } => 0,
        }
    }
}

impl Multihomed {
    fn wake(
        &mut self,
        at: Time,
        number: u32,
        wake: Wake<Feedback>,
        (observed, fabric): (bool, &mut Fabric),
    ) {
        let (ways, sink, sizes) = (&self.ways, &mut self.sink, self.sizes);
        let send = |fabric: &mut Fabric, path: PathId, size, frame| {
            let packet = Packet {
                cursor: ways[path.index()].there,
                size,
                sent: at,
                kind: PacketKind::Multihomed(frame),
            };
            fabric.send(at, packet);
        };
        step(&mut self.machine, at, wake, &mut |output| match output {
            MultihomedOutput::Data(path) => {
                sink.sent += 1;
                let number = u32::try_from(sink.sent).unwrap_or(u32::MAX);
                send(
                    fabric,
                    path,
                    sizes.packet,
                    MultihomedFrame::Data { path, number },
                );
            }
            MultihomedOutput::Heartbeat { path, id } => {
                send(
                    fabric,
                    path,
                    sizes.heartbeat,
                    MultihomedFrame::Heartbeat { path, id },
                );
            }
            MultihomedOutput::Path { from, to } if observed => {
                fabric.path_changes.push((number, PathChange { from, to }));
            }
            MultihomedOutput::Path { .. } => {}
        });
        self.rearm(number, fabric);
    }

    fn rearm(&mut self, number: u32, fabric: &mut Fabric) {
        let deadline = self.machine.deadline();
        let event = Event::Multihomed(number);
        self.timer.arm(deadline, &mut fabric.calendar, event);
    }
}
