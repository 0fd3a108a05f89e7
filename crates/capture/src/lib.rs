//! Packets of a simulated network as a capture file (pcapng), with real IPv4, TCP and UDP headers.
//!
//! # The model
//!
//! *Tap.* A [`Capture`] taps the far end of the given links, with one interface for each direction.
//! It has the packets that arrived there, in order, at the arrival time of the last bit, with the
//! ECN marks that queues set. Packets that a link dropped are not in its capture. Times are
//! nanoseconds since the start of the run.
//!
//! *Addresses.* Node n of the graph, from 0, is 10.0.0.1 + n. The k-th flow between two nodes has
//! the port 57345 + k at its receiver; its sender takes 49152 for its first connection and the next
//! port for each further one, modulo 8191, so that no two connections share addresses and ports in
//! either direction. Three ports that tshark associates with a protocol are not used.
//!
//! *Sizes.* A segment of the model counts `tcp.segment` bytes with its headers of 40, so that it
//! carries `segment - 40` bytes of the stream, all of them 0; captured packets are complete with
//! correct checksums. The length of a packet is the size that the links counted. Four kinds of
//! packets need more bytes than the model gives them, and are longer here: a SYN by its options (4
//! bytes for the maximum segment size, 4 for a window scale, 4 for SACK permitted); an ACK with
//! SACK blocks by 4 (the model counts 8 for each block, and the option has 2 bytes and 2 of padding
//! besides); an ACK, or a SYN, of less than its headers of 40; and a datagram of less than its
//! headers of 28. If a packet is longer in the model than its headers, zeros follow the IP packet.
//!
//! *Sequence numbers* start at a number drawn for each connection from the seed, and wrap. Segment
//! 0 of a connection is its SYN; the ACKs of it, until data follows, are the SYN-ACK. There is no
//! FIN, since the model has none, and the handshake's third segment is the first data. A connection
//! without set-up has no handshake.
//!
//! *Window.* A receiver window of w segments is `w (segment - 40)` bytes, rounded up to the unit of
//! the window scale: the smallest that fits the flow's largest window, and 1 without a handshake. A
//! larger window is truncated. The sender of the data advertises 65535 bytes. *ECN* is negotiated
//! in the handshake (RFC 3168).

mod address;
mod capture;
mod connection;
mod file;
mod packet;
mod tcp;

pub use address::AddressError;
pub use capture::{Capture, CaptureError};
