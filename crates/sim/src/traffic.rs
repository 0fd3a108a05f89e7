//! Sources of traffic.
//!
//! *TCP*: one connection with a file or endless data ([`Bulk`]); or sessions ([`Sessions`]): idle for an
//! exponential time, then one file of log-normal size over a new connection, then idle again from the moment at
//! which its last segment is acknowledged (PPD paper, 5).
//!
//! *Datagrams* ([`DatagramSource`]): constant bit rate with jitter and drift of the period, Poisson, bursts with
//! exponential or Pareto on and off times, which begin off, and recordings ([`Playback`]).
//!
//! *Several paths* ([`MultihomedSource`]): datagrams over the path that a policy chooses (delay-centric paper).
//!
//! *Spaced packets* ([`SpacedSource`]): datagrams whose spacing the receiver's feedback sets (packet-spacing paper).
//!
//! *Streams over several connections* ([`StripedSource`], [`StripedSink`]): media whose receiver sets the number of TCP
//! connections and their windows (`MultiTCP` paper). It asks for a connection with a packet of the size of an ACK, and the sender
//! begins it with a SYN; one that it wants no longer ends with what its window had offered.

mod bulk;
mod datagrams;
mod files;
mod multihomed;
mod session;
mod spaced;
#[cfg(test)]
mod stopping;
mod striped;
mod striped_sink;
mod tcp_source;

pub use bulk::Bulk;
pub use datagrams::{
    Cbr, CbrConfig, Datagram, DatagramSource, OnOff, OnOffConfig, Pattern, Playback, Poisson,
    Sojourn, Traffic,
};
pub use multihomed::{MultihomedOutput, MultihomedSource};
pub use session::{SessionConfig, Sessions};
pub use spaced::SpacedSource;
pub use striped::{StripedConfig, StripedOutput, StripedSource};
pub use striped_sink::{
    StreamEvent, StreamState, StripedSink, StripedSinkConfig, StripedSinkOutput,
};
pub use tcp_source::TcpSource;
