//! The units of rules.

/// The dimension of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Time, in seconds.
    Time,
    /// A rate, in bits per second.
    Rate,
}

/// A unit as a multiple of the base unit of its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) factor: f64,
    pub(super) dimension: Dimension,
}

impl Unit {
    /// The unit of this name, if rules know it.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (factor, dimension) = match name {
            "Mb/s" | "Mbit/s" => (1e6, Dimension::Rate),
            "kb/s" => (1e3, Dimension::Rate),
            "b/s" => (1.0, Dimension::Rate),
            "ms" => (1e-3, Dimension::Time),
            "us" => (1e-6, Dimension::Time),
            "s" => (1.0, Dimension::Time),
            _ => return None,
        };
        Some(Self { factor, dimension })
    }
}

/// The factor from `unit` to the base unit; 1 for units that rules do not know.
pub(crate) fn factor_of(unit: &str) -> f64 {
    Unit::named(unit).map_or(1.0, |unit| unit.factor)
}

/// The dimension of `unit`, if rules know it.
pub(crate) fn dimension_of(unit: &str) -> Option<Dimension> {
    Unit::named(unit).map(|unit| unit.dimension)
}
