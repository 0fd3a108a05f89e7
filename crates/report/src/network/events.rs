//! The event stream of a network: lines of JSON, starting with the version of the format.
//!
//! | line | its keys besides `at` and `event` |
//! | --- | --- |
//! | `window` | `cwnd` and `ssthresh` in segments |
//! | `recovery-entered` | `kind`, `until`: it ends when all before this segment are acknowledged |
//! | `recovery-left` | `kind` |
//! | `timeout` | `next`: the next timeout in ns |
//! | `rtt` | `rtt` and `rto` in ns |
//! | `ecn-reduction` | |
//! | `file-finished` | `size` in bytes, `took`: the time in ns from its start to the ACK of its last segment |
//! | `receiver-rtt` | `rtt`: the time in ns that a receiver window took to arrive, and `least` of the connection |
//! | `receiver-window` | `window` in segments, from now on; `connection` is 0 before the first |
//! | `spacing` | `spacing` in ns from now on, `adjustment`, packets `sent` and `received`, `sent_by_clock`, `received_by_clock` |
//! | `path` | `to`, the route that carries the data from now on, by its position in `ways`; `way_before`, absent at the start |
//! | `control` | `connections` and the sum of their `windows` in segments that a striped stream wants from now on; `throughput` in bit/s and `rtt` in ns from which that follows, null at first |
//! | `player` | `plays`: whether it plays from now on, or has stopped |
//! | `dropped` | `link`, `reason`, and the packet |
//! | `arrived` | `link`, and the packet, at the far end of the link |
//!
//! Reno's fast recovery ends with the first new ACK, and a timeout ends any recovery without a
//! `recovery-left`. A packet that is lost on the wire is reported as dropped when that is
//! decided: when it arrives at the queue, or with `CoDel` when it leaves it.
//!
//! The first nine have `flow` and `connection`, too: numbers of segments count within a connection,
//! from 1 in each flow. A packet is `flow`, `size` in bytes, `sent`, `packet` (`data`, `ack`,
//! `datagram` or `feedback`), of TCP `connection`, and `number` in segments or in datagrams of its
//! flow from 1 (0: a ping, or feedback of spaced packets). `at` and `sent` are in nanoseconds since
//! the start of the run. The kinds of recovery are `slow-start` (Tahoe), `fast` and `timeout`; the
//! reasons are those of the report's links.

use std::io::{self, Write};

use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_sim::tcp::{RecoveryKind, SegmentKind, TcpEvent};
use polypath_sim::{AgentEvent, Detail, FlowPacket, LinkId, NetworkEvent, NetworkObserver};
use serde::Serialize;

/// Version of the stream; it changes when a key changes its meaning. In version 1 a packet without
/// `packet` was a datagram; now all have it.
pub const VERSION: u32 = 2;

/// Writes the events of a network as lines of JSON, as the [module](self) documents.
#[derive(Debug)]
pub struct EventWriter<W> {
    writer: W,
    detail: Detail,
    /// The names of the flows and links, by their positions.
    flows: Vec<String>,
    links: Vec<String>,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

#[derive(Serialize)]
struct Head<'a> {
    version: u32,
    network: &'a str,
    seed: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    at: u64,
    event: &'static str,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    Tcp {
        #[serde(flatten)]
        sender: SenderKeys<'a>,
        #[serde(flatten)]
        keys: TcpKeys,
    },
    Agent {
        flow: &'a str,
        #[serde(flatten)]
        event: AgentEvent,
    },
    Dropped {
        link: &'a str,
        reason: &'static str,
        #[serde(flatten)]
        packet: PacketKeys<'a>,
    },
    Arrived {
        link: &'a str,
        #[serde(flatten)]
        packet: PacketKeys<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum TcpKeys {
    Window { cwnd: f64, ssthresh: f64 },
    RecoveryEntered { kind: &'static str, until: u32 },
    RecoveryLeft { kind: &'static str },
    Timeout { next: u64 },
    Rtt { rtt: u64, rto: u64 },
    EcnReduction {},
    FileFinished { size: u64, took: u64 },
    ReceiverRtt { rtt: u64, least: u64 },
    ReceiverWindow { window: u32 },
}

#[derive(Serialize)]
struct SenderKeys<'a> {
    flow: &'a str,
    connection: u32,
}

#[derive(Serialize)]
struct PacketKeys<'a> {
    flow: &'a str,
    size: u32,
    sent: u64,
    packet: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<u32>,
    number: u32,
}

impl<W: Write> EventWriter<W> {
    /// Starts the stream of a run of `network` with `seed`, with TCP events and drops; with
    /// `packets`, also every packet at the end of every link.
    ///
    /// # Errors
    /// If the stream cannot be written.
    pub fn new(network: &Network, seed: u64, packets: bool, writer: W) -> io::Result<Self> {
        let links = network.graph().links.into_iter().map(|link| link.name);
        let flows = network.flows.iter().flat_map(|flow| {
            let numbers = 0..flow.count;
            numbers.map(|number| flow.name_of(number))
        });
        let mut events = Self {
            writer,
            detail: Detail {
                flow_events: true,
                packets,
            },
            flows: flows.collect(),
            links: links.collect(),
            failure: None,
        };
        let head = Head {
            version: VERSION,
            network: &network.name,
            seed,
        };
        write_line(&mut events.writer, &head).map(|()| events)
    }

    /// Flushes buffered lines.
    ///
    /// # Errors
    /// The first error since the start: the stream ends before it.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failure {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }
}

impl<W: Write> NetworkObserver for EventWriter<W> {
    fn on_progress(&mut self, _now: Time) {}

    fn detail(&self) -> Detail {
        self.detail
    }

    /// Another observer can subscribe to packets while this one does not.
    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let wanted = self.detail.packets || !matches!(event, NetworkEvent::Arrived { .. });
        if !wanted || self.failure.is_some() {
            return;
        }
        let names = Names {
            flows: &self.flows,
            links: &self.links,
        };
        let (event, what) = names.describe(event);
        let line = Line {
            at: at.0,
            event,
            what,
        };
        self.failure = write_line(&mut self.writer, &line).err();
    }
}

fn write_line(writer: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, line)?;
    writer.write_all(b"\n")
}

/// The names of flows and links.
#[derive(Clone, Copy)]
struct Names<'a> {
    flows: &'a [String],
    links: &'a [String],
}

impl<'a> Names<'a> {
    fn flow(self, number: u32) -> &'a str {
        &self.flows[number as usize]
    }

    fn link(self, link: LinkId) -> &'a str {
        &self.links[link.0 as usize]
    }

    /// The name of an event, and its keys.
    fn describe(self, event: &NetworkEvent) -> (&'static str, What<'a>) {
        match event {
            NetworkEvent::Arrived { link, packet } => {
                let link = self.link(*link);
                let packet = self.packet(packet);
                ("arrived", What::Arrived { link, packet })
            }
            NetworkEvent::Dropped {
                link,
                reason,
                packet,
            } => {
                let what = What::Dropped {
                    link: self.link(*link),
                    reason: reason.name(),
                    packet: self.packet(packet),
                };
                ("dropped", what)
            }
            NetworkEvent::Tcp {
                flow,
                connection,
                event,
            } => {
                let sender = SenderKeys {
                    flow: self.flow(*flow),
                    connection: *connection,
                };
                let (event, keys) = describe_tcp(*event);
                (event, What::Tcp { sender, keys })
            }
            NetworkEvent::Agent { flow, event } => {
                let flow = self.flow(*flow);
                let name = event.name();
                (
                    name,
                    What::Agent {
                        flow,
                        event: *event,
                    },
                )
            }
        }
    }

    fn packet(self, packet: &FlowPacket) -> PacketKeys<'a> {
        PacketKeys {
            flow: self.flow(packet.flow),
            size: packet.size,
            sent: packet.sent.0,
            packet: match packet.segment.map(|segment| segment.kind) {
                None if packet.back => "feedback",
                None => "datagram",
                Some(kind) if SegmentKind::is_ack(kind) => "ack",
                Some(_) => "data",
            },
            connection: packet.segment.map(|segment| segment.connection),
            number: packet.number,
        }
    }
}

fn describe_tcp(event: TcpEvent) -> (&'static str, TcpKeys) {
    match event {
        TcpEvent::Window { cwnd, ssthresh } => ("window", TcpKeys::Window { cwnd, ssthresh }),
        TcpEvent::RecoveryEntered { kind, until } => {
            let kind = kind_name(kind);
            ("recovery-entered", TcpKeys::RecoveryEntered { kind, until })
        }
        TcpEvent::RecoveryLeft { kind } => {
            let kind = kind_name(kind);
            ("recovery-left", TcpKeys::RecoveryLeft { kind })
        }
        TcpEvent::Timeout { next } => {
            let next = next.as_nanos();
            ("timeout", TcpKeys::Timeout { next })
        }
        TcpEvent::RttSample { rtt, rto } => {
            let [rtt, rto] = [rtt, rto].map(Duration::as_nanos);
            ("rtt", TcpKeys::Rtt { rtt, rto })
        }
        TcpEvent::EcnReduction => ("ecn-reduction", TcpKeys::EcnReduction {}),
        TcpEvent::FileFinished { size, took } => {
            let took = took.as_nanos();
            ("file-finished", TcpKeys::FileFinished { size, took })
        }
        TcpEvent::ReceiverRtt { rtt, least } => {
            let [rtt, least] = [rtt, least].map(Duration::as_nanos);
            ("receiver-rtt", TcpKeys::ReceiverRtt { rtt, least })
        }
        TcpEvent::ReceiverWindow { window } => {
            ("receiver-window", TcpKeys::ReceiverWindow { window })
        }
    }
}

const fn kind_name(kind: RecoveryKind) -> &'static str {
    match kind {
        RecoveryKind::SlowStart => "slow-start",
        RecoveryKind::Fast => "fast",
        RecoveryKind::Timeout => "timeout",
    }
}

#[cfg(test)]
mod tests;
