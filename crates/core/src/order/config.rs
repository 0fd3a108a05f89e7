//! The configuration of the order of packets.

use core::fmt;
use core::str::FromStr;

use crate::class::{Classes, Treatment};
use crate::frame::Payload;
use crate::time::Duration;

/// The time for which a TCP segment is held by default.
pub const TCP_HOLD: Duration = Duration::from_millis(100);
/// The longest hold.
pub const MAX_HOLD: Duration = Duration::from_secs(2);

/// The packets that the receiver puts in order, and for how long it holds them. In files it is
/// `"none"`, `"tcp"`, or a time: `"30 ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Delivers packets in the order of their arrival.
    None,
    /// Holds TCP segments and, by its class, other bulk of a peer that repairs losses for at most
    /// [`TCP_HOLD`]; no segment that has another class.
    #[default]
    Tcp,
    /// Holds all packets for at most this time.
    All(Duration),
}

impl Order {
    /// The time for which a packet is held; `None` if it is not. The peer is assumed to have the
    /// same `classes`; `is_repaired` states whether it repairs losses.
    #[inline]
    pub(super) fn hold(
        self,
        packet: &impl Payload,
        classes: &Classes,
        is_repaired: bool,
    ) -> Option<Duration> {
        // Without classes the packet is not parsed for its fields.
        let class = (!classes.is_empty())
            .then(|| classes.classify(packet.fields()?))
            .flatten();
        match (self, class.map(|class| class.treatment)) {
            (Self::None, _) | (_, Some(Treatment::SinglePath)) => None,
            (Self::Tcp, treatment) => {
                let is_bulk = treatment
                    .map_or_else(|| packet.is_tcp(), |treatment| treatment == Treatment::Bulk);
                (is_repaired && is_bulk).then_some(TCP_HOLD)
            }
            (Self::All(hold), _) => Some(hold),
        }
    }
}

/// The error of an invalid order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an order: write \"none\", \"tcp\" or a time above 0 of at most {MAX_HOLD}, as \"30 ms\""
)]
pub struct OrderError;

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Self, OrderError> {
        match text {
            "none" => Ok(Self::None),
            "tcp" => Ok(Self::Tcp),
            time => {
                let hold: Duration = time.parse().map_err(|_| OrderError)?;
                let is_valid = hold > Duration::ZERO && hold <= MAX_HOLD;
                is_valid.then_some(Self::All(hold)).ok_or(OrderError)
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Tcp => f.write_str("tcp"),
            Self::All(hold) => hold.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
mod serialization {
    use alloc::borrow::Cow;
    use alloc::string::String;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Order;

    impl Serialize for Order {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Order {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            let named = |error| D::Error::custom(format_args!("`{text}` is {error}"));
            text.parse().map_err(named)
        }
    }

    impl schemars::JsonSchema for Order {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Order")
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "type": "string",
                "description": "\"none\", \"tcp\" or the longest time for which any packet is held: \"30 ms\""
            })
        }
    }
}
