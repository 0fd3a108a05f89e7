use super::*;

const SECOND: Duration = Duration::from_secs(1);
/// A second of media.
const PIECE: Bytes = Bytes(100_000);

fn player() -> PlayOut {
    let config = PlayOutConfig {
        prebuffer: SECOND * 2,
        rebuffer: SECOND * 5,
        refill: 0,
    };
    PlayOut::new(config, TARGET.rate)
}

/// The events of a player that receives pieces at these seconds, until `end`.
fn events(player: &mut PlayOut, pieces: &[u64], end: u64) -> Vec<(u64, PlayOutEvent)> {
    let mut observed: Vec<(u64, PlayOutEvent)> = Vec::new();
    let mut pieces = pieces.iter().map(|at| Time::ZERO + SECOND * *at).peekable();
    let end = Time::ZERO + SECOND * end;
    loop {
        let due = player.deadline().map_or(Time::MAX, |deadline| deadline.at);
        let piece = pieces.peek().copied().unwrap_or(Time::MAX);
        let now = due.min(piece);
        if now > end {
            return observed;
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
            observed.push((now.0 / SECOND.0, event));
        });
    }
}

#[test]
fn a_short_buffer_wants_more_than_the_rate() {
    let config = PlayOutConfig {
        prebuffer: SECOND * 2,
        rebuffer: SECOND,
        refill: 50,
    };
    let mut player = PlayOut::new(config, TARGET.rate);
    let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    let percent = |player: &PlayOut, ms| player.wanted_rate(at(ms)).0 * 100 / TARGET.rate.0;
    let arrived = |seconds| PlayOutInput::Arrived(Bytes(PIECE.0 * seconds));
    assert_eq!(percent(&player, 0), 150, "nothing is buffered");
    step(&mut player, at(0), Wake::Input(arrived(1)), &mut |_| {});
    assert_eq!(percent(&player, 500), 125);
    step(&mut player, at(1000), Wake::Input(arrived(2)), &mut |_| {});
    // It plays the 3 s from 1 s on.
    assert_eq!(percent(&player, 2000), 100);
    assert_eq!(percent(&player, 3000), 125);
    assert_eq!(percent(&player, 9000), 150);
    step(
        &mut player,
        at(3000),
        Wake::Input(PlayOutInput::End),
        &mut |_| {},
    );
    assert_eq!(percent(&player, 3500), 100, "nothing more will arrive");
}

#[test]
fn playback_starts_after_the_prebuffer_and_stalls_on_an_empty_buffer() {
    use PlayOutEvent::{Plays, Stops};
    let mut player = player();
    let observed = events(&mut player, &[1, 3, 4, 7, 20], 30);
    // 2 s of media at 3 s, a third at 4 s: empty at 6 s, resumes at 11 s with one, empty at 12 s
    // until 20 s.
    let wanted = [
        (3, Plays),
        (6, Stops),
        (11, Plays),
        (12, Stops),
        (20, Plays),
        (21, Stops),
    ];
    assert_eq!(observed, wanted);
    assert_eq!(player.stops(), 3);
}

/// Passes inputs to a player at these seconds without timeouts in between, then one timeout at
/// `end`.
fn feed(player: &mut PlayOut, inputs: &[(u64, PlayOutInput)], end: u64) -> Vec<PlayOutEvent> {
    let mut observed = Vec::new();
    for (at, input) in inputs {
        let at = Time::ZERO + SECOND * *at;
        player.handle_input(at, *input, &mut |event| observed.push(event));
    }
    player.handle_timeout(Time::ZERO + SECOND * end, &mut |event| observed.push(event));
    observed
}

#[test]
fn a_late_timeout_performs_each_change_at_its_scheduled_time() {
    use PlayOutEvent::{Plays, Stops};
    let piece = PlayOutInput::Arrived(PIECE);
    let mut player = player();
    // Empty at 5 s, resumes at 10 s with the piece of 6 s, empty at 11 s.
    let inputs = [(1, piece), (3, piece), (6, piece)];
    assert_eq!(
        feed(&mut player, &inputs, 100),
        [Plays, Stops, Plays, Stops]
    );
    // The stall ended at 16 s, so playback resumes when data arrives at 101 s.
    let later = feed(&mut player, &[(101, piece), (101, piece)], 102);
    assert_eq!(later, [Plays]);
    assert_eq!(player.deadline().unwrap().at, Time::ZERO + SECOND * 103);
}

#[test]
fn the_end_of_the_media_is_not_a_stall() {
    use PlayOutEvent::{Ends, Plays, Stops};
    let piece = PlayOutInput::Arrived(PIECE);
    let mut player = player();
    let inputs = [(1, piece), (3, piece), (4, PlayOutInput::End), (4, piece)];
    assert_eq!(feed(&mut player, &inputs, 100), [Plays, Ends]);
    assert_eq!((player.stops(), player.deadline()), (0, None));

    // The media is shorter than the prebuffer.
    let mut short = self::player();
    let all = feed(&mut short, &[(1, piece), (2, PlayOutInput::End)], 100);
    assert_eq!(all, [Plays, Ends]);

    // Empty at 5 s, before the end was known.
    let mut late = self::player();
    let all = feed(
        &mut late,
        &[(1, piece), (3, piece), (6, PlayOutInput::End)],
        100,
    );
    assert_eq!((all, late.stops()), (alloc::vec![Plays, Stops, Ends], 1));
}

proptest! {
    /// Playback never exceeds the received media, and no stall is shorter than configured.
    #[test]
    fn playback_never_exceeds_received_media(pieces in prop::collection::vec(0_u64..120, 0..100)) {
        let mut pieces = pieces;
        pieces.sort_unstable();
        let mut player = player();
        let observed = events(&mut player, &pieces, 200);
        let mut played = 0;
        for pair in observed.windows(2) {
            match (pair[0], pair[1]) {
                ((from, PlayOutEvent::Plays), (to, PlayOutEvent::Stops)) => {
                    played += to - from;
                    let received = pieces.iter().filter(|at| **at < to).count() as u64;
                    prop_assert_eq!(played, received, "empty at {}", to);
                }
                ((from, PlayOutEvent::Stops), (to, PlayOutEvent::Plays)) => prop_assert!(to >= from + 5),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let enough = pieces.len() >= 2;
        prop_assert_eq!(observed.is_empty(), !enough);
    }
}
