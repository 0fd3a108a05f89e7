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
            Wake::Input(PlayOutInput::Arrived(PIECE))
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

/// Takes what is told to a player at these seconds, without a wake between.
fn told(player: &mut PlayOut, inputs: &[(u64, PlayOutInput)], end: u64) -> Vec<PlayOutEvent> {
    let mut said = Vec::new();
    for (at, input) in inputs {
        let at = Time::ZERO + SECOND * *at;
        player.handle_input(at, *input, &mut |event| said.push(event));
    }
    player.handle_timeout(Time::ZERO + SECOND * end, &mut |event| said.push(event));
    said
}

#[test]
fn a_late_wake_counts_the_times_at_which_it_was_due() {
    use PlayOutEvent::{Plays, Stops};
    let piece = PlayOutInput::Arrived(PIECE);
    let mut player = player();
    // Dry at 5 s, on at 10 s with the piece of 6 s, dry at 11 s.
    let inputs = [(1, piece), (3, piece), (6, piece)];
    assert_eq!(
        told(&mut player, &inputs, 100),
        [Plays, Stops, Plays, Stops]
    );
    // It rested until 16 s, and goes on with what comes at 101 s, when that comes.
    let later = told(&mut player, &[(101, piece), (101, piece)], 102);
    assert_eq!(later, [Plays]);
    assert_eq!(player.deadline().unwrap().at, Time::ZERO + SECOND * 103);
}

#[test]
fn the_end_of_the_media_is_no_stop() {
    use PlayOutEvent::{Ends, Plays, Stops};
    let piece = PlayOutInput::Arrived(PIECE);
    let mut player = player();
    let inputs = [(1, piece), (3, piece), (4, PlayOutInput::End), (4, piece)];
    assert_eq!(told(&mut player, &inputs, 100), [Plays, Ends]);
    assert_eq!((player.stops(), player.deadline()), (0, None));

    // A second of media is less than the pre-buffer, and all there is.
    let mut short = self::player();
    let all = told(&mut short, &[(1, piece), (2, PlayOutInput::End)], 100);
    assert_eq!(all, [Plays, Ends]);

    // It was dry at 5 s, when more might have come.
    let mut late = self::player();
    let all = told(
        &mut late,
        &[(1, piece), (3, piece), (6, PlayOutInput::End)],
        100,
    );
    assert_eq!((all, late.stops()), (alloc::vec![Plays, Stops, Ends], 1));
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
