//! The configuration of repairs.

use crate::order::Order;
use crate::time::Duration;

/// The shortest deadline.
const MIN_DEADLINE: Duration = Duration::from_millis(10);
/// The longest deadline: packets are kept for as long.
const MAX_DEADLINE: Duration = Duration::from_secs(10);

/// The configuration of repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct RepairConfig {
    /// The time from the application of the sender to that of the receiver within which a packet is
    /// useful.
    pub deadline: Duration,
    /// The bytes of repairs and copies, as a share of those of first transmissions and of a head
    /// start of 1 MiB.
    pub redundancy: Share,
    /// The order in which this end delivers the packets of its peer ([`crate::order`]): `"tcp"`,
    /// the default, holds TCP segments until those before them have arrived, or what `[[class]]`
    /// treats as bulk; `"none"` nothing, a time any packet for at most as long.
    pub order: Order,
}

impl Default for RepairConfig {
    /// A deadline that live video over the Internet commonly has, and an eighth of the bytes that
    /// sending everything twice costs.
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(200),
            redundancy: Share::from_millionths(100_000),
            order: Order::default(),
        }
    }
}

/// The error of an invalid configuration; each names its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The deadline is out of range.
    #[error("`deadline` must be {MIN_DEADLINE} to {MAX_DEADLINE}, not {0}")]
    Deadline(Duration),
    /// More than a copy of everything.
    #[error("`redundancy` must be 0 to 1")]
    Redundancy,
}

impl RepairError {
    /// The key of the invalid value.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Deadline(_) => "deadline",
            Self::Redundancy => "redundancy",
        }
    }
}

impl RepairConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), RepairError> {
        check_deadline(self.deadline)?;
        if self.redundancy > Share::ONE {
            return Err(RepairError::Redundancy);
        }
        Ok(())
    }
}

/// Checks a deadline of packets.
pub(crate) fn check_deadline(deadline: Duration) -> Result<(), RepairError> {
    if (MIN_DEADLINE..=MAX_DEADLINE).contains(&deadline) {
        Ok(())
    } else {
        Err(RepairError::Deadline(deadline))
    }
}

/// A share of a quantity, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// A share in millionths.
    #[must_use]
    pub const fn from_millionths(millionths: u32) -> Self {
        Self(millionths)
    }

    /// The share in millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

/// Shares are numbers in files: `0.1`.
#[cfg(feature = "serde")]
mod serialization {
    use alloc::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Share;

    impl Serialize for Share {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            (f64::from(self.0) / f64::from(Self::ONE.0)).serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Share {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let share = f64::deserialize(deserializer)?;
            if !(0.0..=1.0).contains(&share) {
                return Err(D::Error::custom(format_args!("{share} is not 0 to 1")));
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is 0 to 1"
            )]
            Ok(Self(libm::round(share * f64::from(Self::ONE.0)) as u32))
        }
    }

    impl schemars::JsonSchema for Share {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Share")
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
        }
    }
}
