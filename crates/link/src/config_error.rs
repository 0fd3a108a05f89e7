//! The problems of a configuration, and the checks that find them.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use crate::line::TraceError;

/// The largest IPv4 packet (RFC 791, section 3.1).
const MAX_PACKET: Bytes = Bytes(65_535);

/// A problem of a configuration. Keys are those of a link in a scenario file, such as
/// `queue.limit`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The rate is zero.
    #[error("a rate of zero carries nothing")]
    ZeroRate,
    /// The limit of the queue is zero.
    #[error("`{name}` is zero", name = last_part(.0))]
    ZeroLimit(&'static str),
    /// A duration is zero.
    #[error("`{name}` is zero", name = last_part(.0))]
    ZeroDuration(&'static str),
    /// The size of a packet is zero.
    #[error("`{name}` is zero", name = last_part(.0))]
    ZeroSize(&'static str),
    /// The size of a packet is greater than that of any IPv4 packet.
    #[error("a packet of {size} does not exist")]
    PacketTooLarge {
        /// The key of the size.
        key: &'static str,
        /// The size.
        size: Bytes,
    },
    /// A number with a default is zero, negative or not finite.
    #[error("`{name}` is not more than zero", name = last_part(.0))]
    NotPositive(&'static str),
    /// A probability is not within 0 and 1.
    #[error("`{name}` is not within 0 and 1", name = last_part(.0))]
    NotProbability(&'static str),
    /// Values contradict each other.
    #[error("{message}")]
    Inconsistent {
        /// The keys of the values, that of the most likely mistake first.
        keys: Vec<Cow<'static, str>>,
        /// The contradiction.
        message: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A recorded rate is not a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl ConfigError {
    /// The keys of the values at fault, that of the most likely mistake first.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::ZeroRate => alloc::vec!["rate"],
            Self::Trace(_) => alloc::vec!["trace"],
            Self::ZeroLimit(key)
            | Self::ZeroDuration(key)
            | Self::ZeroSize(key)
            | Self::PacketTooLarge { key, .. }
            | Self::NotPositive(key)
            | Self::NotProbability(key) => alloc::vec![*key],
            Self::Inconsistent { keys, .. } => keys.iter().map(AsRef::as_ref).collect(),
        }
    }

    /// The remedy, for users.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::ZeroRate => "for an outage use `outage`",
            Self::ZeroLimit(_) => "the packet in transmission counts: the minimum is 1 packet",
            Self::ZeroDuration(_) => "it must be longer",
            Self::ZeroSize(_) => "it must be at least 1 B",
            Self::PacketTooLarge { .. } => "an IPv4 packet has at most 65535 B",
            Self::NotPositive(_) => "leave it out for the default",
            Self::NotProbability(_) => "use a number from 0 to 1",
            Self::Inconsistent { remedy, .. } => remedy,
            Self::Trace(_) => "name another file",
        }
    }
}

/// A number that is positive and finite, or absent.
pub(crate) fn positive(key: &'static str, value: Option<f64>) -> Option<ConfigError> {
    let invalid = value.is_some_and(|value| value <= 0.0 || !value.is_finite());
    invalid.then_some(ConfigError::NotPositive(key))
}

/// A probability from 0 to 1.
pub(crate) fn probability(key: &'static str, value: f64) -> Option<ConfigError> {
    let valid = (0.0..=1.0).contains(&value);
    (!valid).then_some(ConfigError::NotProbability(key))
}

/// A duration of more than zero.
pub(crate) fn lasting(key: &'static str, value: Duration) -> Option<ConfigError> {
    (value == Duration::ZERO).then_some(ConfigError::ZeroDuration(key))
}

/// The size of an IPv4 packet.
pub(crate) fn packet_size(key: &'static str, size: Bytes) -> Option<ConfigError> {
    match size {
        Bytes(0) => Some(ConfigError::ZeroSize(key)),
        size if size > MAX_PACKET => Some(ConfigError::PacketTooLarge { key, size }),
        _ => None,
    }
}

/// The last part of a dotted key.
fn last_part(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, last)| last)
}
