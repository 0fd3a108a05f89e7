use super::*;

const SECOND: Duration = Duration::from_secs(1);
/// A second of media.
const PIECE: Bytes = Bytes(100_000);

fn player() -> PlayOut {
    let config = PlayOutConfig {
        prebuffer: SECOND * 2,
        rebuffer: SECOND * 5,
    };
    PlayOut::new(config, TARGET.rate)
}

/// What the player does when pieces come at these seconds, until `end`.
fn events(player: &mut PlayOut, pieces: &[u64], end: u64) -> Vec<(u64, PlayOutEvent)> {
    let mut said: Vec<(u64, PlayOutEvent)> = Vec::new();
    let mut pieces = pieces.iter().map(|at| Time::ZERO + SECOND * *at).peekable();
    let end = Time::ZERO + SECOND * end;
    loop {
        let due = player.deadline().map_or(Time::MAX, |deadline| deadline.at);
        let piece = pieces.peek().copied().unwrap_or(Time::MAX);
        let now = due.min(piece);
        if now > end {
            return said;
        }
        let wake = if piece < due {
            Wake::Input(PIECE)
        } else {
            Wake::Timeout
        };
        if piece < due {
            pieces.next();
        }
        step(player, now, wake, &mut |event| {
            said.push((now.0 / SECOND.0, event));
        });
    }
}

#[test]
fn it_begins_with_enough_and_rests_when_it_runs_dry() {
    use PlayOutEvent::{Plays, Stops};
    let mut player = player();
    let said = events(&mut player, &[1, 3, 4, 7, 20], 30);
    // 2 s of media at 3 s, a third at 4 s: dry at 6 s, on at 11 s with one, dry at 12 s, nothing until 20 s.
    let wanted = [
        (3, Plays),
        (6, Stops),
        (11, Plays),
        (12, Stops),
        (20, Plays),
        (21, Stops),
    ];
    assert_eq!(said, wanted);
    assert_eq!(player.stops(), 3);
}

proptest! {
    /// It never plays what has not come, and never rests for less than it is told.
    #[test]
    fn it_plays_what_has_come(pieces in prop::collection::vec(0_u64..120, 0..100)) {
        let mut pieces = pieces;
        pieces.sort_unstable();
        let mut player = player();
        let said = events(&mut player, &pieces, 200);
        let mut played = 0;
        for pair in said.windows(2) {
            match (pair[0], pair[1]) {
                ((from, PlayOutEvent::Plays), (to, PlayOutEvent::Stops)) => {
                    played += to - from;
                    let come = pieces.iter().filter(|at| **at < to).count() as u64;
                    prop_assert_eq!(played, come, "dry at {}", to);
                }
                ((from, PlayOutEvent::Stops), (to, PlayOutEvent::Plays)) => prop_assert!(to >= from + 5),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let enough = pieces.len() >= 2;
        prop_assert_eq!(said.is_empty(), !enough);
    }
}
