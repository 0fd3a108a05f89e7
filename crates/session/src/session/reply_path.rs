//! The path on which the peer's initiation is answered.
//!
//! An initiation is sent on every path, and its first copy is answered: on the path where it was
//! received, to its source unless the peer's address is configured, and on other paths to the peer's
//! address where that is known. If the
//! response is lost, the peer tries again, and the first copy probably arrives on the same path as
//! before. That path is therefore skipped next time, and a copy on another path is answered. If no
//! other path brings a copy, all paths are eligible again for the following initiation.
//!
//! Each initiation is answered once, and a copy of an answered one never changes an address, so a
//! replay gains nothing.

use polypath_core::frame::PathId;

/// The paths on which responses have not completed the handshake so far.
#[derive(Debug)]
pub(super) struct ReplyPath {
    tried: Vec<bool>,
    /// The timestamp of an initiation that was skipped on one path and not yet answered on another.
    skipped: Option<u64>,
}

impl ReplyPath {
    pub(super) fn new(paths: u8) -> Self {
        Self {
            tried: vec![false; usize::from(paths)],
            skipped: None,
        }
    }

    /// Whether the initiation of `timestamp` is skipped on `path`, so that a copy on another path
    /// is answered; otherwise the path counts as tried.
    pub(super) fn skips(&mut self, path: PathId, timestamp: u64) -> bool {
        let no_other_copy = self.skipped.is_some_and(|skipped| skipped < timestamp);
        if no_other_copy || self.tried.iter().all(|tried| *tried) {
            self.reset();
        }
        let Some(tried) = self.tried.get_mut(path.index()) else {
            return false;
        };
        let was_tried = std::mem::replace(tried, true);
        self.skipped = was_tried.then_some(timestamp);
        was_tried
    }

    /// Makes all paths eligible, after a handshake has completed.
    pub(super) fn reset(&mut self) {
        self.tried.fill(false);
        self.skipped = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each of `attempts` initiations, the path on which it is answered when its copies arrive
    /// in the order of `arrivals`.
    fn answered(arrivals: &[u8], paths: u8, attempts: u64) -> Vec<Option<u8>> {
        let mut reply_path = ReplyPath::new(paths);
        let mut answer = |timestamp| {
            let mut copies = arrivals.iter().copied();
            copies.find(|path| !reply_path.skips(PathId(*path), timestamp))
        };
        (1..=attempts).map(&mut answer).collect()
    }

    #[test]
    fn paths_alternate_while_no_response_completes_the_handshake() {
        let turns = [0, 1, 2, 0, 1, 2].map(Some);
        assert_eq!(answered(&[0, 1, 2], 3, 6), turns);
    }

    #[test]
    fn the_only_path_that_delivers_initiations_answers_every_second_one() {
        let turns = [Some(1), None, Some(1), None, Some(1)];
        assert_eq!(answered(&[1], 2, 5), turns);
        assert_eq!(answered(&[0], 1, 3), [Some(0); 3], "a single path");
    }

    #[test]
    fn nothing_is_skipped_after_a_completed_handshake() {
        let mut reply_path = ReplyPath::new(2);
        assert!(!reply_path.skips(PathId(0), 1));
        reply_path.reset();
        assert!(!reply_path.skips(PathId(0), 2));
        assert!(reply_path.skips(PathId(0), 3));
    }
}
