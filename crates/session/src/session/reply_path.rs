//! On which path the peer's initiation is answered.
//!
//! An initiation comes on every path, and its first copy is answered: on the path where it came, and where else the peer's
//! address is known. If the answer does not get through there, the peer tries again, and the first copy comes the same way
//! as before. So a path on which an answer was of no use is passed over the next time: a copy on another path is answered.
//! Where none comes, all paths are taken again with the try after that.
//!
//! Each initiation is still answered once, and no copy of one that was answered tells an address: whoever replays it
//! learns nothing.

use polypath_core::frame::PathId;

/// The paths on which answers were of no use so far.
#[derive(Debug)]
pub(super) struct ReplyPath {
    tried: Vec<bool>,
    /// The timestamp of an initiation that was passed over, and has not been answered on another path yet.
    passed: Option<u64>,
}

impl ReplyPath {
    pub(super) fn new(paths: u8) -> Self {
        Self {
            tried: vec![false; usize::from(paths)],
            passed: None,
        }
    }

    /// Whether the initiation of `timestamp` is left to its copies on other paths than `path`; otherwise it is answered.
    pub(super) fn passes_over(&mut self, path: PathId, timestamp: u64) -> bool {
        let came_nowhere_else = self.passed.is_some_and(|passed| passed < timestamp);
        if came_nowhere_else || self.tried.iter().all(|tried| *tried) {
            self.forget();
        }
        let Some(tried) = self.tried.get_mut(path.index()) else {
            return false;
        };
        let was_tried = std::mem::replace(tried, true);
        self.passed = was_tried.then_some(timestamp);
        was_tried
    }

    /// An answer got through, or none is wanted.
    pub(super) fn forget(&mut self) {
        self.tried.fill(false);
        self.passed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each try the path on which it is answered, where copies come in the order of `paths`.
    fn answered(paths: &[u8], of: u8, tries: u64) -> Vec<Option<u8>> {
        let mut reply_path = ReplyPath::new(of);
        let mut answer = |timestamp| {
            let mut copies = paths.iter().copied();
            copies.find(|path| !reply_path.passes_over(PathId(*path), timestamp))
        };
        (1..=tries).map(&mut answer).collect()
    }

    #[test]
    fn paths_take_turns_where_no_answer_gets_through() {
        let turns = [0, 1, 2, 0, 1, 2].map(Some);
        assert_eq!(answered(&[0, 1, 2], 3, 6), turns);
    }

    #[test]
    fn the_only_path_on_which_initiations_come_answers_every_other_one() {
        let turns = [Some(1), None, Some(1), None, Some(1)];
        assert_eq!(answered(&[1], 2, 5), turns);
        assert_eq!(answered(&[0], 1, 3), [Some(0); 3], "of one path, each");
    }

    #[test]
    fn after_an_answer_that_got_through_nothing_is_passed_over() {
        let mut reply_path = ReplyPath::new(2);
        assert!(!reply_path.passes_over(PathId(0), 1));
        reply_path.forget();
        assert!(!reply_path.passes_over(PathId(0), 2));
        assert!(reply_path.passes_over(PathId(0), 3));
    }
}
