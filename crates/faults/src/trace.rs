//! The record of a run: a digest of all that happened, and its words where somebody reads them.

use std::fmt;
use std::hash::{Hash, Hasher};

use polypath_core::time::Time;

use crate::parcel::{Address, End, Host, Parcel, Truth};
use crate::schedule::{Incident, Trouble};

/// Something that happened.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A datagram leaves a node or a stranger.
    Sent(&'a Parcel),
    /// A datagram comes to a node.
    Arrived(&'a Parcel),
    /// The network lost a datagram.
    Lost(&'a Parcel, &'static str),
    /// A node dropped the datagram that it took.
    Rejected(Host, &'static str),
    /// A node gave a packet to its applications.
    Packet(End, u64),
    /// An application sent a packet.
    Offered(End, u64),
    /// Something befell a node.
    Incident(&'a Incident),
    /// What a node's session or endpoint said; only for readers.
    Said(Host, &'a dyn fmt::Debug),
    /// A node follows its peer to another address, or a relay a node.
    Followed(Host, Address),
    /// The network's trouble begins.
    Trouble(Option<End>, u8, &'a Trouble),
}

/// The record.
#[derive(Debug)]
pub struct Trace {
    digest: Fnv,
    words: bool,
}

#[derive(Debug)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Trace {
    /// An empty record; with `words` it is printed on standard output as well.
    #[must_use]
    pub fn new(words: bool) -> Self {
        Self {
            digest: Fnv(0xcbf2_9ce4_8422_2325),
            words,
        }
    }

    /// A number that two runs have in common only if the same happened in both at the same times.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Notes what happened at `at`.
    pub fn note(&mut self, at: Time, entry: &Entry<'_>) {
        at.hash(&mut self.digest);
        entry.mix(&mut self.digest);
        if self.words {
            use std::io::Write;
            // Whoever closes the pipe has read enough.
            let _ = writeln!(std::io::stdout().lock(), "{at} {entry}");
        }
    }
}

impl Entry<'_> {
    fn mix(&self, digest: &mut Fnv) {
        match self {
            Self::Sent(parcel) => {
                parcel.id.hash(digest);
                parcel.to.hash(digest);
                // The tag at its end depends on all that is in it.
                let tail = parcel.bytes.len().saturating_sub(16);
                parcel.bytes[tail..].hash(digest);
            }
            Self::Arrived(parcel) | Self::Lost(parcel, _) => parcel.id.hash(digest),
            Self::Rejected(host, reason) => (host, reason).hash(digest),
            Self::Packet(end, id) | Self::Offered(end, id) => (end, id).hash(digest),
            Self::Followed(host, to) => (host, to).hash(digest),
            Self::Incident(_) | Self::Said(..) | Self::Trouble(..) => {}
        }
    }
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(parcel) => write!(f, "sent     {}", Words(parcel)),
            Self::Arrived(parcel) => write!(f, "arrived  {}", Words(parcel)),
            Self::Lost(parcel, why) => write!(f, "lost     {}: {why}", Words(parcel)),
            Self::Rejected(host, reason) => write!(f, "rejected {}: {reason}", host.name()),
            Self::Packet(end, id) => write!(f, "packet   {id} is delivered at {}", end.name()),
            Self::Offered(end, id) => write!(f, "packet   {id} is offered at {}", end.name()),
            Self::Incident(incident) => write!(f, "incident {incident:?}"),
            Self::Said(host, said) => write!(f, "said     {}: {said:?}", host.name()),
            Self::Followed(host, to) => write!(f, "followed {}: to {to}", host.name()),
            Self::Trouble(from, path, trouble) => {
                let from = from.map_or("both ends", End::name);
                write!(f, "trouble  on path {path} from {from}: {trouble:?}")
            }
        }
    }
}

struct Words<'a>(&'a Parcel);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parcel {
            id,
            source,
            to,
            truth,
            bytes,
        } = self.0;
        let kind = match bytes.first() {
            Some(1) => "initiation",
            Some(2) => "response",
            Some(3) => "transport",
            _ => "junk",
        };
        let truth = match truth {
            Truth::Genuine => "",
            Truth::Changed => ", changed",
            Truth::Old => ", of an earlier run",
            Truth::Forged => ", forged",
        };
        write!(
            f,
            "#{id} {source} > {to}, {kind} of {} B{truth}",
            bytes.len()
        )
    }
}
