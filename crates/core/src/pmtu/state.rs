//! The states of path MTU discovery.

/// The state of the discovery on a path (RFC 8899, 5.2).
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
    /// Not even the minimum size is answered, so nothing is known.
    Error,
}
