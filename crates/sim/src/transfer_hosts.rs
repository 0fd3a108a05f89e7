//! The hosts of measured transfers: TCP of a server and of a client as applications behind
//! endpoints.

use polypath_core::packet::PacketMeta;

use crate::host::Application;
use crate::host_pairs::HostPairs;
use crate::tcp::{Client, ClientInput, Segment, Server, TcpOutput};

/// Servers and clients of transfers, in pairs.
pub(crate) type TransferPairs = HostPairs<Server, Client>;

impl Application for Server {
    type Packet = Segment;

    fn input(segment: Segment) -> Segment {
        segment
    }

    fn packet(output: TcpOutput) -> Option<Segment> {
        output.segment()
    }

    fn meta(segment: &Segment) -> PacketMeta {
        segment.meta()
    }
}

impl Application for Client {
    type Packet = Segment;

    fn input(segment: Segment) -> ClientInput {
        segment.into()
    }

    fn packet(segment: Segment) -> Option<Segment> {
        Some(segment)
    }

    fn meta(segment: &Segment) -> PacketMeta {
        segment.meta()
    }
}
