//! Nodes that are broken on purpose, to show that the invariants can fail.
//!
//! What is broken is the harness around a node and never the node: each stands for a fault that the product could have.

use polypath_core::liveness::LivenessConfig;
use polypath_core::rng::Stream;
use polypath_session::entropy::{BoxedEntropy, Entropy, EntropyError};

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
    /// A node that starts anew says that it is the one before.
    HidesRestart,
    /// A node that has moved is not followed.
    FollowsNobody,
    /// A relay sends on what it could not open.
    RelaysUnopened,
    /// A relay answers what it rejects.
    RelayAnswersStrangers,
    /// A relay sends on twice.
    RelaysTwice,
    /// A node uses its paths whether they live or not.
    IgnoresSilence,
    /// A node does not find out how long packets cross.
    AsksForNoSize,
    /// What a node found to cross counts as more than that.
    Exaggerates,
    /// A node panics.
    Panics,
    /// What a node holds counts as more than it may hold.
    Hoards,
}

impl Sabotage {
    /// What a node draws at random.
    #[must_use]
    pub fn entropy(self, stream: Stream) -> BoxedEntropy {
        if self == Self::HidesRestart {
            Box::new(OneInstance(stream))
        } else {
            Box::new(stream)
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

    /// How a node watches its paths that is to watch them like this.
    #[must_use]
    pub fn liveness(self, liveness: Option<LivenessConfig>) -> Option<LivenessConfig> {
        liveness.filter(|_| self != Self::IgnoresSilence)
    }

    /// The longest packet that an interface is said to let through, where it does `room`, in bytes.
    #[must_use]
    pub fn room(self, room: u16) -> u16 {
        if self == Self::AsksForNoSize { 0 } else { room }
    }

    /// How long packets cross by what a node found, in bytes.
    #[must_use]
    pub fn found(self, found: u16) -> u16 {
        if self == Self::Exaggerates {
            found + 1
        } else {
            found
        }
    }
}

/// Gives a node the same instance number at each start: nothing else that it draws has eight bytes.
struct OneInstance(Stream);

impl Entropy for OneInstance {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        self.0.fill(bytes)?;
        if bytes.len() == size_of::<u64>() {
            bytes.fill(0);
        }
        Ok(())
    }
}
