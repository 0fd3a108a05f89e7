//! The check that a carrier uses the paths that it is meant to use when the stream begins.

use polypath_core::time::Duration;

use crate::network::Snapshot;

/// The time from the first packet to the check.
pub(super) const CHECK: Duration = Duration::from_secs(1);

/// The use of paths that is expected of a carrier from the start of the stream on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathUse {
    /// One path; the others are not checked.
    One,
    /// A connection on every path: both sides have sent packets on it. Which of them carry data is
    /// the carrier's choice.
    Connected,
    /// A part of the data on every path.
    Shared,
    /// All data on every path.
    Duplicated,
}

impl PathUse {
    /// Whether each path is used as expected, by the totals of the carrier's network when the stream
    /// began and at the check, between which `payload` bytes were sent; `None` where nothing is
    /// expected.
    pub(super) fn check(
        self,
        totals: (&Snapshot, &Snapshot),
        payload: u64,
    ) -> impl Iterator<Item = Option<bool>> {
        let (before, after) = totals;
        let paths = before.sent.iter().zip(&after.sent);
        let count = after.sent.len() as u64;
        paths.map(move |(before, after)| {
            let sent = after[0].bytes - before[0].bytes;
            match self {
                Self::One => None,
                Self::Connected => Some(after.iter().all(|side| side.packets > 0)),
                // Less than half of the expected bytes, since sharing is not exact.
                Self::Shared => Some(sent * count * SLACK >= payload),
                Self::Duplicated => Some(sent * SLACK >= payload),
            }
        })
    }
}

/// The factor by which the bytes on a path may be fewer than expected.
const SLACK: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::time::Time;
    use polypath_live::stats::Volume;
    use polypath_sim::world::BackgroundBytes;

    use crate::network::BoundaryCounters;

    /// Totals with these packets of the server's side and the client's on two paths.
    fn totals(packets: [[u64; 2]; 2]) -> Snapshot {
        let volume = |packets| Volume {
            packets,
            bytes: packets * 1000,
        };
        Snapshot {
            at: Time::ZERO,
            background: BackgroundBytes::default(),
            sent: packets.map(|path| path.map(volume)).into(),
            boundary: BoundaryCounters::default(),
            links: Vec::new(),
        }
    }

    #[test]
    fn a_path_is_used_if_it_carries_what_the_carrier_should_send_on_it() {
        let before = totals([[5, 5], [5, 0]]);
        let used = |of: PathUse, at_check| {
            let after = totals(at_check);
            let used: Vec<_> = of.check((&before, &after), 100_000).collect();
            used
        };
        let [yes, no] = [true, false].map(Some);
        let one_way = [[105, 9], [105, 0]];
        assert_eq!(used(PathUse::One, one_way), [None, None]);
        assert_eq!(used(PathUse::Connected, one_way), [yes, no]);
        assert_eq!(used(PathUse::Connected, [[105, 9], [5, 1]]), [yes, yes]);
        assert_eq!(used(PathUse::Duplicated, one_way), [yes, yes]);
        assert_eq!(used(PathUse::Duplicated, [[105, 9], [54, 9]]), [yes, no]);
        assert_eq!(used(PathUse::Shared, [[80, 9], [30, 9]]), [yes, yes]);
        assert_eq!(used(PathUse::Shared, [[95, 9], [20, 9]]), [yes, no]);
    }
}
