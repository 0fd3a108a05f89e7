//! The states of path MTU discovery.

/// How far the discovery is on a path: the states of RFC 8899 (5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum MtuState {
    /// A small size is to be confirmed.
    #[default]
    Base,
    /// Larger sizes are tried.
    Search,
    /// The size is found, and confirmed again and again.
    Complete,
    /// Not even the least size is answered; nothing is known.
    Error,
}
