//! Nodes with deliberate defects, which show that the invariants can be violated.
//!
//! The defects are in the harness around a node, not in the node; each stands for a possible defect
//! of the product.

use bytes::Bytes;
use polypath_core::liveness::LivenessConfig;
use polypath_core::metering::ClosedPaths;
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_core::policy::PathSet;
use polypath_core::rng::Stream;
use polypath_session::address::Source;
use polypath_session::datagram::{
    COOKIE_MAC_OFFSET, INITIATION, INITIATION_LEN, SESSION_MAC_OFFSET,
};
use polypath_session::entropy::{BoxedEntropy, Entropy, EntropyError};
use polypath_session::tunnel::Output;

use crate::datagram::{Address, Host, TestDatagram};
use crate::schedule::LimitedPath;

/// A deliberate defect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// No defect.
    #[default]
    None,
    /// One packet in a hundred is delivered twice, as if the duplicate window were too small.
    DeliversTwice,
    /// One packet in a hundred has a flipped bit, as if the authentication tag did not cover it.
    DeliversCorrupted,
    /// A node replies to the source of each datagram that it rejects.
    RepliesToRejected,
    /// A node sends a datagram on the path of each datagram that it rejects.
    SendsOnRejected,
    /// A node sends its peer the cookies for other addresses.
    MisdirectsCookies,
    /// An impostor has the key of the node that it replaces.
    ImpostorHasKey,
    /// A node does nothing at its deadlines.
    IgnoresDeadline,
    /// A node learns its peer's address from any datagram.
    LearnsUnauthenticated,
    /// A node learns its peer's address from initiations.
    LearnsFromInitiation,
    /// A restarted node uses its previous instance number.
    ReusesInstance,
    /// A restarted node does not know the timestamp that it kept.
    ForgetsTimestamp,
    /// A node admits the initiations of its peer like those of strangers.
    IgnoresEvidence,
    /// A node does not recognise session MACs.
    IgnoresSessionMac,
    /// A node does not recognise cookies.
    IgnoresCookies,
    /// A node or relay answers the first copy of an initiation only.
    AnswersFirstCopy,
    /// A node initiates a handshake with a relay 45 s after its start or later.
    RejoinsRelayLate,
    /// Address changes of nodes are not learned.
    NeverFollows,
    /// A relay forwards datagrams that it could not open.
    RelaysUnauthenticated,
    /// A relay replies to datagrams that it rejects.
    RelayRepliesToRejected,
    /// A relay forwards each datagram twice.
    RelaysTwice,
    /// A node does not monitor the liveness of its paths.
    IgnoresLiveness,
    /// A node does not discover path MTUs.
    NoMtuDiscovery,
    /// A node reports a larger MTU than it discovered.
    OverstatesMtu,
    /// A node goes on sending on a path that it has closed.
    SendsOnClosedPath,
    /// A node goes on sending on a path that the peer has closed.
    SendsOnPathClosedByPeer,
    /// A node ignores the ceiling of a path.
    IgnoresCeiling,
    /// A node sends packets that are not ECN-capable in datagrams that are.
    CarriesUnmarkable,
    /// A node marks packets that nothing else marked.
    InventsMarks,
    /// A node loses the marks of the network.
    LosesMarks,
    /// A node or a relay states that it receives ECN fields, and does not.
    OverstatesEcn,
    /// A node panics.
    Panics,
    /// A node reports more buffered items than it has.
    OverstatesMemory,
}

impl Mutant {
    /// The source of entropy of a node.
    #[must_use]
    pub fn entropy(self, stream: Stream) -> BoxedEntropy {
        if self == Self::ReusesInstance {
            Box::new(FixedInstance(stream))
        } else {
            Box::new(stream)
        }
    }

    /// The source of a datagram as a node sees it.
    #[must_use]
    pub fn source(self, datagram: &TestDatagram) -> Source {
        let is_initiation = datagram.bytes.first() == Some(&INITIATION);
        if self == Self::IgnoresEvidence && is_initiation {
            let host = Host::Attacker;
            return Address {
                host,
                ..datagram.source
            }
            .into();
        }
        datagram.source.into()
    }

    /// A datagram as a node or relay receives it.
    #[must_use]
    pub fn received(self, datagram: &Bytes) -> Bytes {
        let is_initiation =
            datagram.first() == Some(&INITIATION) && datagram.len() == INITIATION_LEN;
        let ignored = match self {
            Self::IgnoresEvidence => SESSION_MAC_OFFSET..INITIATION_LEN,
            Self::IgnoresSessionMac => SESSION_MAC_OFFSET..COOKIE_MAC_OFFSET,
            Self::IgnoresCookies => COOKIE_MAC_OFFSET..INITIATION_LEN,
            _ => return datagram.clone(),
        };
        if !is_initiation {
            return datagram.clone();
        }
        let mut bytes = datagram.to_vec();
        bytes[ignored].fill(0);
        bytes.into()
    }

    /// Adds a datagram on each of the `closed` paths to the outputs of a node.
    pub fn mutate_closed(self, closed: ClosedPaths, outputs: &mut Vec<Output>) {
        let paths = match self {
            Self::SendsOnClosedPath => closed.own,
            Self::SendsOnPathClosedByPeer => closed.by_peer,
            _ => PathSet::EMPTY,
        };
        if !paths.is_empty() {
            let datagram = Bytes::from_static(b"still here");
            let datagrams = paths.into_iter().map(|path| Output::Datagram {
                path,
                datagram: datagram.clone(),
                traffic_class: TrafficClass::DEFAULT,
            });
            outputs.extend(datagrams);
        }
    }

    /// The limits of a path that a node observes.
    #[must_use]
    pub fn limited(self, limited: LimitedPath) -> LimitedPath {
        LimitedPath {
            ceiling: limited.ceiling.filter(|_| self != Self::IgnoresCeiling),
            ..limited
        }
    }

    /// The ECN field of a datagram that a node sends.
    #[must_use]
    pub fn ecn(self, ecn: Ecn) -> Ecn {
        if self == Self::CarriesUnmarkable {
            Ecn::Ect0
        } else {
            ecn
        }
    }

    /// Whether a node or relay states that it receives ECN fields.
    #[must_use]
    pub fn receives_ecn(self, receives: bool) -> bool {
        receives || self == Self::OverstatesEcn
    }

    /// The number of items that a node with `buffered` items reports.
    #[must_use]
    pub fn buffered(self, buffered: usize) -> usize {
        if self == Self::OverstatesMemory {
            buffered + (1 << 20)
        } else {
            buffered
        }
    }

    /// The liveness configuration of a node that is configured with `liveness`.
    #[must_use]
    pub fn liveness(self, liveness: Option<LivenessConfig>) -> Option<LivenessConfig> {
        liveness.filter(|_| self != Self::IgnoresLiveness)
    }

    /// The interface MTU that a node with MTU `mtu` receives, in bytes.
    #[must_use]
    pub fn interface_mtu(self, mtu: u16) -> u16 {
        if self == Self::NoMtuDiscovery { 0 } else { mtu }
    }

    /// The path MTU that a node with the discovered MTU `found` reports, in bytes.
    #[must_use]
    pub fn discovered_mtu(self, found: u16) -> u16 {
        if self == Self::OverstatesMtu {
            found + 1
        } else {
            found
        }
    }
}

/// Gives a node the same instance number at each start: no other draw has eight bytes.
struct FixedInstance(Stream);

impl Entropy for FixedInstance {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        self.0.fill(bytes)?;
        if bytes.len() == size_of::<u64>() {
            bytes.fill(0);
        }
        Ok(())
    }
}
