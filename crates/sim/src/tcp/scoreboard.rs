//! The SACK scoreboard: selectively acknowledged segments and losses inferred from them (RFC 6675).

use super::ranges::{Range, RangeSet};

/// The number of later segments acknowledged that prove a segment lost (RFC 6675, `DupThresh`).
const LOSS_THRESHOLD: u32 = 3;

/// The scoreboard of a sender; its numbers are those of RFC 6675, "one past" in place of "highest".
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sacked: RangeSet,
    /// One past the highest segment that was retransmitted in this recovery (`HighRxt`).
    retransmitted: u32,
    /// One past the highest segment when this recovery's rescue was sent (`RescueRxt`).
    rescued: Option<u32>,
}

/// The bounds of a sender's sequence space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// The first unacknowledged segment.
    pub(super) una: u32,
    /// One past the highest segment that was sent.
    pub(super) max: u32,
    /// Whether a new segment may be sent.
    pub(super) has_new: bool,
}

/// The next segment to send in recovery (RFC 6675, `NextSeg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextSegment {
    /// A retransmission of this segment.
    Again(u32),
    /// This new segment.
    New,
}

impl Scoreboard {
    /// Adds the blocks of an ACK; returns whether they cover segments not known to have arrived.
    pub(super) fn update(&mut self, blocks: impl Iterator<Item = Range>, max: u32) -> bool {
        let mut is_new = false;
        for block in blocks {
            if block.end <= max {
                is_new |= self.sacked.insert(block);
            }
        }
        is_new
    }

    /// The parts of a block that are not known to have arrived.
    pub(super) fn not_acknowledged(&self, block: Range) -> impl Iterator<Item = Range> {
        self.sacked.gaps(block)
    }

    /// Advances to `una`, before which all segments are acknowledged.
    #[inline]
    pub(super) fn advance(&mut self, una: u32) {
        if !self.sacked.is_empty() {
            self.sacked.forget_before(una);
        }
    }

    /// The first segment from `number` on that is not known to have arrived.
    #[inline]
    pub(super) fn first_missing(&self, number: u32) -> u32 {
        if self.sacked.is_empty() {
            return number;
        }
        self.sacked.first_missing(number)
    }

    /// Whether `number`, which is not acknowledged, is known to be lost (`IsLost`).
    pub(super) fn is_lost(&self, number: u32) -> bool {
        number < self.lost_before(number)
    }

    /// Starts a recovery, whose first retransmission is `una`.
    pub(super) fn begin(&mut self, una: u32) {
        self.retransmitted = una + 1;
        self.rescued = None;
    }

    /// The estimated number of segments in flight (`SetPipe`).
    pub(super) fn pipe(&self, at: Outstanding) -> u32 {
        let not_lost = Range {
            start: self.lost_before(at.una).max(at.una),
            end: at.max,
        };
        let again = Range {
            start: at.una,
            end: self.retransmitted.min(at.max),
        };
        self.missing_within(not_lost) + self.missing_within(again)
    }

    /// Returns the next segment to send and records it as sent (RFC 6675, `NextSeg`).
    pub(super) fn next(&mut self, at: Outstanding) -> Option<NextSegment> {
        let hole = self.first_missing(self.retransmitted.max(at.una));
        if hole < self.lost_before(at.una) {
            self.retransmitted = hole + 1;
            return Some(NextSegment::Again(hole));
        }
        if at.has_new {
            return Some(NextSegment::New);
        }
        if self.sacked.nth_greatest(1).is_some_and(|last| hole < last) {
            self.retransmitted = hole + 1;
            return Some(NextSegment::Again(hole));
        }
        let last = self.last_missing(at)?;
        if self.rescued.is_some_and(|rescued| at.una < rescued) {
            return None;
        }
        self.rescued = Some(at.max);
        Some(NextSegment::Again(last))
    }

    /// One past the last segment known to be lost; `una` if none is.
    fn lost_before(&self, una: u32) -> u32 {
        self.sacked.nth_greatest(LOSS_THRESHOLD).unwrap_or(una)
    }

    /// The number of segments of `range` that are not known to have arrived.
    pub(super) fn missing_within(&self, range: Range) -> u32 {
        range.len() - self.sacked.count_within(range)
    }

    /// The highest outstanding segment that is not known to have arrived.
    fn last_missing(&self, at: Outstanding) -> Option<u32> {
        let end = match self.sacked.ranges().last() {
            Some(last) if last.end == at.max => last.start,
            _ => at.max,
        };
        (end > at.una).then(|| end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[(u32, u32)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        let ranges = blocks.iter().map(|&(start, end)| Range { start, end });
        board.update(ranges, 100);
        board
    }

    const AT: Outstanding = Outstanding {
        una: 10,
        max: 30,
        has_new: false,
    };

    #[test]
    fn three_segments_beyond_it_prove_a_segment_lost() {
        assert!(!board(&[(12, 14)]).is_lost(10));
        let board = board(&[(12, 14), (16, 17)]);
        assert!(board.is_lost(10) && board.is_lost(11));
        assert!(!board.is_lost(14) && !board.is_lost(15));
    }

    #[test]
    fn the_pipe_is_what_is_neither_there_nor_lost_and_what_was_repeated() {
        let mut board = board(&[(12, 14), (16, 17)]);
        // 14, 15 and 17 to 29 are not lost; 10 is in flight again.
        board.begin(10);
        assert_eq!(board.pipe(AT), 15 + 1);
        assert_eq!(board.next(AT), Some(NextSegment::Again(11)));
        assert_eq!(board.pipe(AT), 15 + 2);
    }

    #[test]
    fn lost_segments_go_first_then_new_ones_then_the_other_holes_then_one_rescue() {
        let mut board = board(&[(12, 14), (16, 17)]);
        board.begin(10);
        let new = Outstanding {
            has_new: true,
            ..AT
        };
        assert_eq!(board.next(new), Some(NextSegment::Again(11)));
        assert_eq!(board.next(new), Some(NextSegment::New));
        assert_eq!(board.next(AT), Some(NextSegment::Again(14)));
        assert_eq!(board.next(AT), Some(NextSegment::Again(15)));
        assert_eq!(board.next(AT), Some(NextSegment::Again(29)), "rescue");
        assert_eq!(board.next(AT), None);
    }
}
