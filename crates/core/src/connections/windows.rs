//! The wanted state: the number of connections and the receiver window of each.

/// The maximum number of connections of a stream.
pub const MAX_CONNECTIONS: u32 = 1024;
/// The maximum sum of windows, in segments.
pub const MAX_WINDOW_SUM: u32 = 1_000_000;

/// The receiver windows of all connections, in segments; no two differ by more than one.
///
/// Algorithm 1 raises the smallest windows first and lowers the largest first (lines 5 to 9 and 12
/// to 16), which keeps them balanced. The sum is therefore the whole state: the larger windows come
/// first, and changing the sum by one changes one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    connections: u32,
    sum: u32,
}

impl Windows {
    /// `connections` (at least 1) windows that add up to `sum`, or to one segment each if `sum` is
    /// less.
    #[must_use]
    pub fn new(connections: u32, sum: u32) -> Self {
        let connections = connections.clamp(1, MAX_CONNECTIONS);
        Self {
            connections,
            sum: sum.clamp(connections, MAX_WINDOW_SUM),
        }
    }

    /// The number of connections.
    #[must_use]
    pub const fn connections(self) -> u32 {
        self.connections
    }

    /// The sum of their windows, `W_s`, in segments.
    #[must_use]
    pub const fn sum(self) -> u32 {
        self.sum
    }

    /// The window `w_i` of connection `position`, from 0, in segments; `None` beyond the last.
    #[must_use]
    pub const fn window(self, position: u32) -> Option<u32> {
        if position >= self.connections {
            return None;
        }
        let one_more = position < self.sum % self.connections;
        Some(self.sum / self.connections + one_more as u32)
    }

    /// Iterates over the windows in the order of the connections.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.connections).filter_map(move |position| self.window(position))
    }

    /// Adds `segments`, to the smallest windows first.
    #[must_use]
    pub fn raised(self, segments: u32) -> Self {
        Self::new(self.connections, self.sum.saturating_add(segments))
    }

    /// Removes `segments`, from the largest windows first; each keeps at least 1.
    #[must_use]
    pub fn lowered(self, segments: u32) -> Self {
        Self::new(self.connections, self.sum.saturating_sub(segments))
    }

    /// Like [`over`](Self::over), except that windows of one segment each, the least that there may be,
    /// stay so: fewer of them would have more than that.
    #[must_use]
    pub fn limited_to(self, connections: u32) -> Self {
        let sum = if self.sum == self.connections {
            1
        } else {
            self.sum
        };
        Self::new(connections, sum)
    }

    /// Redistributes the sum over `connections` connections.
    #[must_use]
    pub fn over(self, connections: u32) -> Self {
        Self::new(connections, self.sum)
    }
}
