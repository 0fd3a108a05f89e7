//! Nodes that are broken on purpose, to show that the invariants can fail.
//!
//! What is broken is the harness around a node and never the node: each stands for a fault that the product could have.

/// What is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing.
    #[default]
    Nothing,
    /// One packet in a hundred is delivered twice, as where the window that recognises copies is too small.
    DeliversTwice,
    /// One packet in a hundred has a bit changed, as where the seal does not cover everything.
    DeliversForged,
    /// Datagrams that a node rejects are answered.
    AnswersStrangers,
    /// A node sends something for each datagram that it rejects.
    ActsOnForgeries,
    /// Whoever takes a node's place has its key.
    SharesKeys,
    /// A node does nothing when its deadline comes.
    Oversleeps,
    /// A node takes the source of any datagram for its peer's address.
    FollowsAnybody,
    /// A node takes the source of a handshake that it answers for its peer's address.
    BelievesHandshakes,
    /// A node that starts anew counts its packets from 0 again.
    CountsFromZero,
    /// A node that has moved is not followed.
    FollowsNobody,
    /// A relay sends on what it could not open.
    RelaysUnopened,
    /// A relay answers what it rejects.
    RelayAnswersStrangers,
    /// A relay sends on twice.
    RelaysTwice,
    /// What a node holds counts as more than it may hold.
    Hoards,
}

impl Sabotage {
    /// The number of a node's first packet, where its wall clock shows `wall` at its start.
    #[must_use]
    pub fn first_sequence(self, wall: u64) -> u64 {
        if self == Self::CountsFromZero {
            0
        } else {
            wall
        }
    }

    /// How much a node holds that holds `held`.
    #[must_use]
    pub fn held(self, held: usize) -> usize {
        if self == Self::Hoards {
            held + (1 << 20)
        } else {
            held
        }
    }
}
