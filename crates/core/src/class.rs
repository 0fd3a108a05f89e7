//! Classes of packets: rules that select packets by their headers, and how these are treated.
//!
//! The first class that matches a packet determines its [`Treatment`]; a packet that no class
//! matches is treated by its kind. The policy [`in-time`](crate::policy::InTime) follows this; the
//! sender of a packet and its receiver, which puts bulk in order, each by its own classes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::packet::{Dscp, Kind, PacketFields, PacketMeta};
use crate::repair::{self, RepairError};
use crate::time::Duration;

mod ports;
mod protocol;

pub use ports::{ParsePortsError, PortRange};
pub use protocol::{ParseProtocolError, Protocol};

/// The maximum number of classes: each packet is compared with all until one matches.
pub const MAX_CLASSES: usize = 64;

/// The way in which packets are sent, and put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Treatment {
    /// Sent at once on the path on which it arrives first, repaired within the deadline and the
    /// budget, and copied where a repair would be late; not held for its order. The treatment of
    /// all packets without a class but TCP segments with data.
    Media,
    /// Sent at the rates of the paths, over all that suffice, marked or dropped if it waits
    /// too long; repaired, and put in order. Segments of TCP without data, and those that begin or
    /// end a connection, do not wait. The treatment of TCP without a class.
    Bulk,
    /// Sent at once on the active path alone; neither repaired nor copied, and not held for its
    /// order.
    SinglePath,
}

/// A rule that selects packets, and their treatment. A condition that is absent holds for any
/// packet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Class {
    /// The name in statistics.
    pub name: String,
    /// The codepoints, of which a packet has one: `["ef", "af41", 12]`.
    #[cfg_attr(
        feature = "serde",
        serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "not_empty"
        )
    )]
    pub dscp: Vec<Dscp>,
    /// The protocol in the IP packet: `"udp"`.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub protocol: Option<Protocol>,
    /// The ports of TCP or UDP, of which the packet has one as its source or destination:
    /// `[5004, "6000-6100"]`. Fragments have none.
    #[cfg_attr(
        feature = "serde",
        serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "not_empty"
        )
    )]
    pub ports: Vec<PortRange>,
    /// The treatment of the packets.
    pub treatment: Treatment,
    /// The deadline of packets that are treated as media; by default that of the policy, by which
    /// paths are chosen in any case.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub deadline: Option<Duration>,
}

impl Class {
    fn matches(&self, fields: PacketFields) -> bool {
        let has_port = |ports: [u16; 2]| {
            let mut ranges = self.ports.iter();
            ranges.any(|range| ports.iter().any(|port| range.contains(*port)))
        };
        (self.protocol).is_none_or(|protocol| protocol.number() == fields.protocol)
            && (self.dscp.is_empty() || self.dscp.contains(&fields.dscp))
            && (self.ports.is_empty() || fields.ports.is_some_and(has_port))
    }

    /// Whether it matches every packet that `other` matches.
    fn covers(&self, other: &Self) -> bool {
        let has_dscp = |dscp: &Dscp| self.dscp.contains(dscp);
        let has_ports = |ports: &PortRange| self.ports.iter().any(|own| own.covers(*ports));
        (self.protocol.is_none() || self.protocol == other.protocol)
            && (self.dscp.is_empty() || !other.dscp.is_empty() && other.dscp.iter().all(has_dscp))
            && (self.ports.is_empty()
                || !other.ports.is_empty() && other.ports.iter().all(has_ports))
    }
}

/// The class of a packet. It is small, since every packet carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedClass {
    /// Its position among the classes.
    pub number: u8,
    /// The treatment.
    pub treatment: Treatment,
    /// The deadline in microseconds, if it is not that of the policy.
    deadline_us: Option<NonZeroU32>,
}

impl AssignedClass {
    /// The class at position `number`. Its deadline is rounded down to microseconds, to at least one
    /// and at most 71 minutes: the limits of a class are within these.
    #[must_use]
    pub fn new(number: u8, treatment: Treatment, deadline: Option<Duration>) -> Self {
        let in_us =
            |deadline: Duration| u32::try_from(deadline.0 / 1000).unwrap_or(u32::MAX).max(1);
        Self {
            number,
            treatment,
            deadline_us: deadline.and_then(|deadline| NonZeroU32::new(in_us(deadline))),
        }
    }

    /// The deadline, if it is not that of the policy.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_us
            .map(|us| Duration::from_micros(us.get().into()))
    }
}

/// The classes, in their order: the first that matches a packet is its class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Classes(Vec<Class>);

impl Classes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The classes in their order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Class> {
        self.0.iter()
    }

    /// The class of a packet with these fields.
    #[must_use]
    pub fn classify(&self, fields: PacketFields) -> Option<AssignedClass> {
        let mut classes = (0..).zip(&self.0);
        let (number, class) = classes.find(|(_, class)| class.matches(fields))?;
        Some(AssignedClass::new(number, class.treatment, class.deadline))
    }

    /// The invalid classes, in their order.
    pub fn problems(&self) -> impl Iterator<Item = ClassError> {
        let classes = self.0.iter().enumerate();
        let problems = classes.flat_map(|(index, class)| self.problems_of(index, class));
        let excess = (self.0.len() > MAX_CLASSES).then_some(ClassError::TooMany(self.0.len()));
        excess.into_iter().chain(problems)
    }

    fn problems_of(&self, index: usize, class: &Class) -> impl Iterator<Item = ClassError> {
        let earlier = &self.0[..index];
        let is_named = |other: &Class| other.name == class.name;
        let name = if class.name.is_empty() || class.name.contains(char::is_control) {
            Some(ClassError::Name(index))
        } else {
            let named = earlier.iter().any(is_named);
            named.then_some(ClassError::SameName(index))
        };
        let by = earlier.iter().position(|other| other.covers(class));
        let unreachable = by.map(|by| ClassError::Unreachable { index, by });
        let has_ports = class.protocol.is_none_or(Protocol::has_ports);
        let portless = (!has_ports && !class.ports.is_empty())
            .then_some(ClassError::ProtocolWithoutPorts(index));
        let deadline = class.deadline.and_then(|deadline| {
            if class.treatment != Treatment::Media {
                return Some(ClassError::DeadlineWithoutMedia(index));
            }
            let error = repair::check_deadline(deadline).err()?;
            Some(ClassError::Deadline { index, error })
        });
        [name, portless, unreachable, deadline]
            .into_iter()
            .flatten()
    }

    /// Checks the classes.
    ///
    /// # Errors
    /// The first one that is invalid.
    pub fn check(&self) -> Result<(), ClassError> {
        self.problems().next().map_or(Ok(()), Err)
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Self {
        Self(classes.into_iter().collect())
    }
}

/// Reads a list of alternatives. An empty one would match nothing, and an absent one anything.
#[cfg(feature = "serde")]
fn not_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    let list = <Vec<T> as serde::Deserialize>::deserialize(deserializer)?;
    if list.is_empty() {
        let message = "an empty list matches no packet; omit it to match any";
        return Err(serde::de::Error::custom(message));
    }
    Ok(list)
}

/// The counters of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClassStatistics {
    /// Packets for the peer, with those that are dropped when they come.
    pub packets: u64,
    /// Their bytes, without the headers of the overlay.
    pub bytes: u64,
}

/// The error of an invalid class; each names its key. Positions count from 0, as in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassError {
    /// There are more than [`MAX_CLASSES`].
    #[error("there are {0} classes")]
    TooMany(usize),
    /// The name is empty, or has control characters.
    #[error("the name is empty or has control characters")]
    Name(usize),
    /// An earlier class has the same name.
    #[error("an earlier class has the same name")]
    SameName(usize),
    /// It matches no packet: an earlier class matches all of its packets.
    #[error("the class never matches: `class.{by}` matches all of its packets before")]
    Unreachable {
        /// Its position.
        index: usize,
        /// The position of the earlier class.
        by: usize,
    },
    /// Only TCP and UDP have ports that are read.
    #[error("the class never matches: only TCP and UDP have ports")]
    ProtocolWithoutPorts(usize),
    /// The deadline is out of range.
    #[error("{error}")]
    Deadline {
        /// Its position.
        index: usize,
        /// The valid range.
        error: RepairError,
    },
    /// Another treatment has no deadline of its own.
    #[error("only a class with `treatment = \"media\"` has a deadline of its own")]
    DeadlineWithoutMedia(usize),
}

impl ClassError {
    /// The key of the invalid value.
    #[must_use]
    pub fn key(self) -> String {
        let (index, leaf) = match self {
            Self::TooMany(_) => return String::from("class"),
            Self::Name(index) | Self::SameName(index) => (index, "name"),
            Self::Unreachable { index, .. } => return format!("class.{index}"),
            Self::ProtocolWithoutPorts(index) => (index, "ports"),
            Self::Deadline { index, .. } | Self::DeadlineWithoutMedia(index) => (index, "deadline"),
        };
        format!("class.{index}.{leaf}")
    }

    /// The remedy, for users; empty if the message states it.
    #[must_use]
    pub fn remedy(self) -> String {
        match self {
            Self::TooMany(_) => format!("at most {MAX_CLASSES} are possible: join some"),
            Self::Name(_) => String::from("use letters, digits, spaces"),
            Self::SameName(_) => String::from("rename one of them"),
            Self::Unreachable { by, .. } => {
                format!("remove it, or move it before `class.{by}`: the first match counts")
            }
            Self::ProtocolWithoutPorts(_) => {
                String::from("omit `ports`, or use protocol = \"tcp\" or \"udp\"")
            }
            Self::Deadline { .. } => String::new(),
            Self::DeadlineWithoutMedia(_) => {
                String::from("omit the deadline, or use treatment = \"media\"")
            }
        }
    }
}

impl PacketMeta {
    /// The treatment of the packet: that of its class, or by its kind.
    #[must_use]
    pub const fn treatment(&self) -> Treatment {
        // TCP waits for its segments without data, and for those that begin or end a connection.
        let is_awaited = matches!(self.kind, Kind::PureAck | Kind::Control);
        match self.class {
            Some(class) if matches!(class.treatment, Treatment::Bulk) && is_awaited => {
                Treatment::Media
            }
            Some(class) => class.treatment,
            None if matches!(self.kind, Kind::Data) => Treatment::Bulk,
            None => Treatment::Media,
        }
    }

    /// The deadline of the packet, from its first transmission on: that of its class, or `policy`.
    #[must_use]
    pub fn deadline_or(&self, policy: Duration) -> Duration {
        let own = self.class.and_then(|class| class.deadline());
        own.unwrap_or(policy)
    }

    /// Whether the packet is repaired, and copied where a repair would be late.
    #[must_use]
    pub fn is_repaired(&self) -> bool {
        self.treatment() != Treatment::SinglePath
    }
}

#[cfg(test)]
mod tests;
