//! The trace of a run: a digest of all events, and their text in verbose runs.

use std::fmt;
use std::hash::{Hash, Hasher};

use polypath_core::packet::Ecn;
use polypath_core::time::Time;

use crate::datagram::{Address, End, Host, Provenance, TestDatagram};
use crate::schedule::{Impairment, Incident};

/// An event of the run.
#[derive(Debug)]
pub enum TraceEvent<'a> {
    /// A node or an attacker sent a datagram.
    Sent(&'a TestDatagram),
    /// A datagram arrived at a node.
    Arrived(&'a TestDatagram),
    /// The network lost a datagram.
    Lost(&'a TestDatagram, &'static str),
    /// A node rejected a datagram.
    Rejected(Host, &'static str),
    /// A node delivered a packet to its applications.
    PacketDelivered(End, u64),
    /// An application sent a packet.
    PacketSent(End, u64),
    /// An incident of the schedule.
    Incident(&'a Incident),
    /// An event of a node, which the digest does not cover.
    Event(Host, &'a dyn fmt::Debug),
    /// A node learned a new address of its peer, or a relay one of a node.
    AddressLearned(Host, Address),
    /// A fault interval of the network begins.
    Impairment(Option<End>, u8, &'a Impairment),
}

/// The trace.
#[derive(Debug)]
pub struct Trace {
    digest: Fnv,
    verbose: bool,
}

#[derive(Debug)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);
}

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
    /// An empty trace; a `verbose` one is printed to standard output as well.
    #[must_use]
    pub fn new(verbose: bool) -> Self {
        Self {
            digest: Fnv::EMPTY,
            verbose,
        }
    }

    /// The digest, which two runs share only if the same events happened at the same times.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Records an event at `at`.
    pub fn record(&mut self, at: Time, event: &(impl fmt::Display + Hash)) {
        (at, event).hash(&mut self.digest);
        if self.verbose {
            use std::io::Write;
            // A reader that closes the pipe is done.
            let _ = writeln!(std::io::stdout().lock(), "{at} {event}");
        }
    }
}

/// The digest takes the part of an event in which two runs would differ.
impl Hash for TraceEvent<'_> {
    fn hash<H: Hasher>(&self, digest: &mut H) {
        match self {
            Self::Sent(datagram) => {
                datagram.id.hash(digest);
                datagram.to.hash(digest);
                // The authentication tag at its end covers the whole datagram.
                let tail = datagram.bytes.len().saturating_sub(16);
                datagram.bytes[tail..].hash(digest);
            }
            Self::Arrived(datagram) | Self::Lost(datagram, _) => {
                (datagram.id, datagram.ecn.codepoint()).hash(digest);
            }
            Self::Rejected(host, reason) => (host, reason).hash(digest),
            Self::PacketDelivered(end, id) | Self::PacketSent(end, id) => (end, id).hash(digest),
            Self::AddressLearned(host, to) => (host, to).hash(digest),
            Self::Incident(_) | Self::Event(..) | Self::Impairment(..) => {}
        }
    }
}

impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(datagram) => write!(f, "sent     {}", Describe(datagram)),
            Self::Arrived(datagram) => write!(f, "arrived  {}", Describe(datagram)),
            Self::Lost(datagram, why) => write!(f, "lost     {}: {why}", Describe(datagram)),
            Self::Rejected(host, reason) => write!(f, "rejected {}: {reason}", host.name()),
            Self::PacketDelivered(end, id) => {
                write!(f, "packet   {id} is delivered at {}", end.name())
            }
            Self::PacketSent(end, id) => write!(f, "packet   {id} is sent at {}", end.name()),
            Self::Incident(incident) => write!(f, "incident {incident:?}"),
            Self::Event(host, event) => write!(f, "event    {}: {event:?}", host.name()),
            Self::AddressLearned(host, to) => write!(f, "learned  {}: {to}", host.name()),
            Self::Impairment(from, path, impairment) => {
                let from = from.map_or("both nodes", End::name);
                write!(f, "fault    on path {path} from {from}: {impairment:?}")
            }
        }
    }
}

struct Describe<'a>(&'a TestDatagram);

impl fmt::Display for Describe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TestDatagram {
            id,
            source,
            to,
            provenance,
            ecn,
            bytes,
        } = self.0;
        let kind = match bytes.first() {
            Some(1) => "initiation",
            Some(2) => "response",
            Some(3) => "transport",
            _ => "other",
        };
        let provenance = match provenance {
            Provenance::Genuine => "",
            Provenance::Modified => ", modified",
            Provenance::UnknownCopy => ", an unknown copy",
            Provenance::Forged => ", forged",
        };
        let mark = if *ecn == Ecn::Ce { ", marked" } else { "" };
        write!(
            f,
            "#{id} {source} > {to}, {kind} of {} B{provenance}{mark}",
            bytes.len()
        )
    }
}
