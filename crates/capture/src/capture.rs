//! Network events to packets of a file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_document::nearest;

use polypath_scenario::Network;

use polypath_scenario::network::{Flow, Graph, GraphLink};
use polypath_sim::tcp::{Segment, TcpConfig};
use polypath_sim::{Detail, FlowPacket, NetworkEvent, NetworkObserver};

use crate::address::{AddressError, Addresses, Direction, Ends};
use crate::connection::Connections;
use crate::file::{File, Interface};
use crate::packet::{Lengths, Packet};
use crate::tcp::SegmentFormat;

/// The network cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No link has this name.
    #[error("there is no link `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownLink {
        /// The name.
        name: String,
        /// The most similar link name, if any.
        nearest: Option<String>,
    },
    /// Not every flow can have unique addresses.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The file header cannot be written.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Writes packets that arrive at the far ends of links into a pcapng file, as the [crate]
/// documents.
pub struct Capture<W: Write> {
    file: File<W>,
    /// The interfaces of the links that are captured, by the numbers of the links.
    interfaces: BTreeMap<u32, u32>,
    /// The flows, by their positions.
    flows: Vec<Captured>,
    packet: Packet,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

/// A flow in a capture.
struct Captured {
    ends: Ends,
    /// `None` for datagrams.
    tcp: Option<(SegmentFormat, Connections)>,
}

impl<W: Write> Capture<W> {
    /// A capture of a run of `network` with `seed` on these links in both directions, or on all
    /// links if none is named. `NAME/back` is the reverse direction only.
    pub fn new(
        network: &Network,
        seed: Seed,
        links: &[String],
        writer: W,
    ) -> Result<Self, CaptureError> {
        let graph = network.graph();
        let chosen = choose(&graph, links)?;
        let flows = captured(network, &graph, seed)?;
        let links = chosen.iter().map(|(_, link)| describe(&graph, link));
        let described: Vec<Interface> = links.collect();
        let comment = format!("{}, seed {}", network.name, seed.0);
        let numbers = chosen.iter().map(|(number, _)| *number);
        Ok(Self {
            file: File::new(writer, comment, &described)?,
            interfaces: numbers.zip(0..).collect(),
            flows,
            packet: Packet::default(),
            failure: None,
        })
    }

    /// Flushes buffered packets.
    ///
    /// # Errors
    /// The first error since the start: the file has the packets that arrived before it.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failure {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }

    fn take(&mut self, at: Time, link: u32, packet: &FlowPacket) -> io::Result<()> {
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else {
            return Ok(());
        };
        if let (Some(segment), Some((form, connections))) = (&packet.segment, &mut flow.tcp) {
            connections.note(segment, form.first_data());
        }
        let Some(interface) = self.interfaces.get(&link) else {
            return Ok(());
        };
        let bytes = flow.bytes(packet, &mut self.packet);
        self.file.write(at, *interface, bytes)
    }
}

impl<W: Write> NetworkObserver for Capture<W> {
    fn on_progress(&mut self, _now: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            packets: true,
            ..Detail::default()
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        if let NetworkEvent::Arrived { link, packet } = event
            && self.failure.is_none()
        {
            self.failure = self.take(at, link.0, packet).err();
        }
    }
}

impl Captured {
    fn bytes<'a>(&self, packet: &FlowPacket, buffer: &'a mut Packet) -> &'a [u8] {
        if let (Some(segment), Some((form, connections))) = (&packet.segment, &self.tcp) {
            return self.segment(segment, form, connections, buffer);
        }
        let (source, sink) = (self.ends.source(1), self.ends.sink());
        let (from, to) = if packet.back {
            (sink, source)
        } else {
            (source, sink)
        };
        buffer.udp(Direction { from, to }, packet.size)
    }

    fn segment<'a>(
        &self,
        segment: &Segment,
        form: &SegmentFormat,
        connections: &Connections,
        buffer: &'a mut Packet,
    ) -> &'a [u8] {
        let connection = segment.connection;
        let (source, sink) = (self.ends.source(connection), self.ends.sink());
        let origins = connections.origins(connection);
        let (header, direction) = if segment.kind.is_ack() {
            let established = connections.is_established(connection);
            let reverse = Direction {
                from: sink,
                to: source,
            };
            let header = form.header_reverse(segment, reverse, origins, established);
            (header, reverse)
        } else {
            let forward = Direction {
                from: source,
                to: sink,
            };
            (form.header_forward(segment, forward, origins), forward)
        };
        let lengths = Lengths {
            payload: form.payload(segment),
            size: segment.size,
        };
        buffer.tcp(header, direction, segment.ecn, lengths)
    }
}

/// The links of these names with their numbers, in the order of the graph.
fn choose<'a>(
    graph: &'a Graph,
    names: &[String],
) -> Result<Vec<(u32, &'a GraphLink)>, CaptureError> {
    let is_chosen = |link: &GraphLink| {
        let forward = link.name.strip_suffix("/back").unwrap_or(&link.name);
        let mut names = names.iter();
        names.any(|name| *name == link.name || name == forward)
    };
    for name in names {
        if graph.find_link(name).is_none() {
            let known = graph.links.iter().map(|link| link.name.as_str());
            return Err(CaptureError::UnknownLink {
                name: name.clone(),
                nearest: nearest(name, known).map(str::to_owned),
            });
        }
    }
    let links = (0..).zip(&graph.links);
    Ok(links
        .filter(|(_, link)| names.is_empty() || is_chosen(link))
        .collect())
}

fn describe(graph: &Graph, link: &GraphLink) -> Interface {
    Interface {
        name: link.name.clone(),
        description: format!("{} to {}", graph.nodes[link.from], graph.nodes[link.to]),
        rate: link.link.rate.map_or(0, |rate| rate.0),
    }
}

/// The flows in their order; those without a route are left for the run to refuse.
fn captured(network: &Network, graph: &Graph, seed: Seed) -> Result<Vec<Captured>, AddressError> {
    let mut addresses = Addresses::new(graph)?;
    let mut captured = Vec::new();
    for flow in &network.flows {
        let tcp = flow.traffic.is_tcp();
        let form = tcp.then(|| SegmentFormat::new(&hosts(network, flow)));
        for number in 0..flow.count {
            let Some(ends) = addresses.ends(flow, number) else {
                continue;
            };
            captured.push(Captured {
                ends: ends?,
                tcp: form.map(|form| (form, connections(flow, number, seed))),
            });
        }
    }
    Ok(captured)
}

/// The largest receiver window that a connection of a stream advertises, in segments. The
/// controller's windows are not known beforehand, and a scale for all possible ones would round
/// small windows up.
const STREAM_WINDOW: u32 = 1000;

/// The TCP configuration of a flow, with the largest receiver window that it advertises.
fn hosts(network: &Network, flow: &Flow) -> TcpConfig {
    let tcp = TcpConfig::from(&flow.tcp.apply(&network.tcp));
    let changed = flow.receiver_window.iter().map(|change| change.window);
    let largest = if flow.traffic.sets_receiver_windows() {
        STREAM_WINDOW
    } else {
        changed.fold(tcp.receiver_window, u32::max)
    };
    TcpConfig {
        receiver_window: largest,
        ..tcp
    }
}

fn connections(flow: &Flow, number: u32, seed: Seed) -> Connections {
    Connections::new(seed, &flow.name_of(number))
}
