//! Source routes: every packet carries its position in a list of hops that all packets of a flow
//! share.

use polypath_core::packet::FlowId;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    /// The end that sends data.
    Sender,
    /// The end that receives data.
    Receiver,
}

/// One end of an agent, packed into one word so that events and ends of routes fit two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentEnd(u32);

impl AgentEnd {
    /// An end of the agent of this number.
    pub(crate) const fn new(agent: u32, end: FlowEnd) -> Self {
        Self(agent << 1 | end as u32)
    }

    /// The number of the agent.
    pub(crate) const fn agent(self) -> u32 {
        self.0 >> 1
    }

    /// The end.
    pub(crate) const fn end(self) -> FlowEnd {
        match self.0 & 1 {
            0 => FlowEnd::Sender,
            _ => FlowEnd::Receiver,
        }
    }
}

/// The end of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// The source of a background TCP session, which receives an ACK.
    Source(u32),
    /// The sink of a background TCP session, which receives a segment.
    Sink(u32),
    /// The sink of a background UDP flow, which receives a datagram.
    DatagramSink(u32),
    /// One end of an agent.
    Agent(AgentEnd),
    /// A port, at which the packet leaves the network.
    Port(u32),
}

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    Link(u32),
    End(Terminal),
}

/// A position in the arena of routes; that of the first hop identifies the route.
///
/// It carries the next hop, so that no hop waits for memory: the next entry of the arena
/// is needed a link later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    next: Hop,
    place: u32,
    label: u32,
}

impl Cursor {
    /// The label of the flow: the number of its route, spread by that of its connection.
    ///
    /// It is here, and not in the packet, since a cursor of 16 bytes is copied at once.
    #[inline]
    pub(crate) const fn label(&self) -> u32 {
        self.label
    }

    /// The start of the route for one of several connections at the same time.
    #[inline]
    pub(crate) const fn of_connection(self, connection: u32) -> Self {
        let spread = connection.wrapping_mul(Self::SPREAD);
        Self {
            label: self.place.wrapping_add(spread),
            ..self
        }
    }

    /// The start of the route for a flow from outside.
    #[expect(clippy::cast_possible_truncation, reason = "both halves count")]
    pub(crate) const fn of_flow(self, flow: FlowId) -> Self {
        self.of_connection((flow.0 ^ flow.0 >> 32) as u32)
    }

    /// Odd, so that each connection of a route has a label of its own (2^32 / golden ratio).
    const SPREAD: u32 = 0x9e37_79b1;

    /// True if no link is left.
    #[inline]
    pub(crate) const fn is_at_end(&self) -> bool {
        matches!(self.next, Hop::End(_))
    }
}

/// All routes of a network, in one arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    hops: Vec<Hop>,
}

impl Routes {
    /// Adds a route over `links` that ends at `end`.
    pub(crate) fn add(&mut self, links: impl IntoIterator<Item = u32>, end: Terminal) -> Cursor {
        let start = u32::try_from(self.hops.len()).expect("fewer than 2^32 hops");
        self.hops.extend(links.into_iter().map(Hop::Link));
        self.hops.push(Hop::End(end));
        Cursor {
            next: self.hops[start as usize],
            place: start,
            label: start,
        }
    }

    /// The hop at the cursor; advances the cursor.
    #[inline]
    pub(crate) fn advance(&self, cursor: &mut Cursor) -> Hop {
        let hop = cursor.next;
        if let Hop::Link(_) = hop {
            cursor.place += 1;
            cursor.next = self.hops[cursor.place as usize];
        }
        hop
    }

    /// The link before the cursor: the one crossed last.
    pub(crate) fn last_link(&self, cursor: Cursor) -> Option<u32> {
        match self.hops.get(cursor.place.checked_sub(1)? as usize)? {
            Hop::Link(link) => Some(*link),
            Hop::End(_) => None,
        }
    }

    /// The end of the cursor's route.
    pub(crate) fn end(&self, cursor: Cursor) -> Terminal {
        let mut rest = self.hops[cursor.place as usize..].iter();
        let end = rest.find_map(|hop| match hop {
            Hop::Link(_) => None,
            Hop::End(end) => Some(*end),
        });
        end.expect("every route has an end")
    }
}
