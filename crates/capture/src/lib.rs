//! Packets of a simulated network as a capture file (pcapng), with real IPv4, TCP and UDP headers.
//!
//! # The model
//!
//! *Where.* A [`Capture`] stands at the far end of the links that it is told, one interface for each direction:
//! it holds what arrived there, in order, at the time at which the last bit arrived, with the ECN mark that a queue
//! set on the way. What a link dropped is not in its capture. Times are nanoseconds since the start of the run.
//!
//! *Addresses.* Node n of the graph, from 0, is 10.0.0.1 + n. The k-th flow between two nodes has the
//! port 57345 + k at its receiver; its sender takes 49152 for its first connection and the next port for each
//! further one, in a circle of 8191, so that no two connections share addresses and ports, whatever their
//! direction. Three ports that tshark takes for a protocol are left out.
//!
//! *Sizes.* A segment of the model counts `tcp.segment` bytes with its headers of 40, so that it carries
//! `segment - 40` bytes of the stream, all of them 0; captured packets are whole and their checksums right. The
//! length of a packet is the size that the links counted. Four kinds of packets need more bytes than the model
//! gives them, and are longer here: a SYN by its options (4 bytes for the maximum segment size, 4 for a window
//! scale, 4 for SACK permitted); an ACK with SACK blocks by 4 (the model counts 8 for each block, and the option
//! has 2 bytes and 2 of padding besides); an ACK, or a SYN, of less than its headers of 40; and a datagram of less
//! than its headers of 28. Where the model gives a packet more than its headers, zeros follow the IP packet.
//!
//! *Sequence numbers* begin at a number of each connection's own, which follows from the seed, and wrap. Segment
//! 0 of a connection is its SYN; the ACKs of it, until data follows, are the SYN-ACK. There is no FIN, since the
//! model has none, and the handshake's third segment is the first data. A connection without set-up has no handshake.
//!
//! *Window.* A receiver window of w segments is `w (segment - 40)` bytes, rounded up to the unit of the window
//! scale, which is the least that lets the greatest window of the flow be said, and 1 without a handshake; a window
//! above what can be said is cut. The direction of the data advertises 65535 bytes. *ECN* is agreed on in the
//! handshake, as RFC 3168 has it.

mod address;
mod capture;
mod connection;
mod file;
mod packet;
mod tcp;

pub use address::AddressError;
pub use capture::{Capture, CaptureError};
