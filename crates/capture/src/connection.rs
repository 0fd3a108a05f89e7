//! The state that a capture keeps of a flow's connections.

use std::collections::BTreeSet;

use polypath_core::rng::Seed;
use polypath_sim::tcp::{Segment, SegmentKind};

/// The initial sequence numbers of both directions of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origins {
    /// The sequence number of the sender's SYN.
    pub(crate) source: u32,
    /// The sequence number of the receiver's SYN-ACK.
    pub(crate) sink: u32,
}

/// The connections of a flow; several may be open at once.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    seed: Seed,
    newest: u32,
    /// The origins of the newest connection.
    origins: Origins,
    /// Connections up to the newest without data on any link so far.
    opening: BTreeSet<u32>,
}

impl Connections {
    /// The connections of the flow called `name`, before the first.
    pub(crate) fn new(seed: Seed, name: &str) -> Self {
        let seed = seed.child(&format!("capture/{name}"));
        Self {
            seed,
            newest: 0,
            origins: origins(seed, 0),
            opening: BTreeSet::new(),
        }
    }

    /// Records a segment seen on any link.
    pub(crate) fn note(&mut self, segment: &Segment, first_data: u32) {
        if segment.connection > self.newest {
            self.opening.extend(self.newest + 1..=segment.connection);
            self.newest = segment.connection;
            self.origins = origins(self.seed, segment.connection);
        }
        let is_data = segment.kind == SegmentKind::Data && segment.number >= first_data;
        if is_data {
            self.opening.remove(&segment.connection);
        }
    }

    /// The initial sequence numbers of a recorded connection.
    pub(crate) fn origins(&self, connection: u32) -> Origins {
        if connection == self.newest {
            self.origins
        } else {
            origins(self.seed, connection)
        }
    }

    /// Whether the sender has received from the receiver: before that, an ACK is part of the
    /// handshake.
    pub(crate) fn is_established(&self, connection: u32) -> bool {
        connection <= self.newest && !self.opening.contains(&connection)
    }
}

fn origins(seed: Seed, connection: u32) -> Origins {
    let mut stream = seed.stream(&connection.to_string());
    let mut draw = || u32::try_from(stream.bits() >> 32).unwrap_or_default();
    Origins {
        source: draw(),
        sink: draw(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_belongs_to_the_handshake_until_there_is_data() {
        let mut connections = Connections::new(Seed(1), "x");
        let segment = |kind, connection, number| Segment::new(kind, connection, number, 40);
        connections.note(&segment(SegmentKind::Data, 1, 0), 1);
        assert!(!connections.is_established(1));
        connections.note(&segment(SegmentKind::Ack, 1, 1), 1);
        assert!(!connections.is_established(1), "the SYN may come again");
        connections.note(&segment(SegmentKind::Data, 1, 1), 1);
        assert!(connections.is_established(1));
        let first = connections.origins(1);
        connections.note(&segment(SegmentKind::Data, 2, 0), 1);
        assert!(connections.is_established(1) && !connections.is_established(2));
        assert_eq!(connections.origins(1), first);
        assert_ne!(connections.origins(2), first);
        connections.note(&segment(SegmentKind::Data, 3, 0), 1);
        connections.note(&segment(SegmentKind::Data, 2, 1), 1);
        assert!(
            connections.is_established(2) && !connections.is_established(3),
            "two open connections"
        );
    }
}
