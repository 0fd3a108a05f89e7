use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);
const CONFIG: CopiesConfig = CopiesConfig {
    window: Duration::from_millis(10),
    later: 3,
    timeout: Duration::from_millis(50),
};

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// A window of 100 packets on two links, of which the second carries the first `copied`.
#[test]
fn copies_of_a_quarter_of_the_packets_are_copies() {
    let taken = |copied: u64| {
        let mut copies = Copies::new(CONFIG, 2);
        for sequence in 0..101 {
            let now = Time(sequence * 100_000);
            copies.on_copy(now, PathId(0), sequence, now, Ecn::Ect0);
            copies.on_delivered(sequence, false);
            if sequence < copied {
                copies.on_copy(now, PathId(1), sequence, now, Ecn::Ect0);
            }
        }
        let window = copies.take(at(1000), &mut Vec::new()).unwrap();
        assert_eq!(window.undelivered, 0);
        window.has_copies
    };
    assert_eq!([0, 24, 25, 100].map(taken), [false, false, true, true]);
}

/// The windows when packet `n` is sent at `n` ms on two links of 5 and 9 ms that drop the `lost`
/// copies.
fn windows_of(packets: u64, lost: impl Fn(u64, u8) -> bool) -> Vec<Vec<LinkWindow>> {
    let mut copies = Copies::new(CONFIG, 2);
    let mut arrivals: Vec<(u64, u8, u64)> = Vec::new();
    for sequence in 0..packets {
        for (path, delay) in [(0, 5), (1, 9)] {
            if !lost(sequence, path) {
                arrivals.push((sequence + delay, path, sequence));
            }
        }
    }
    arrivals.sort_unstable();
    let (mut windows, mut links) = (Vec::new(), Vec::new());
    for (ms, path, sequence) in arrivals {
        copies.on_copy(at(ms), PathId(path), sequence, at(sequence), Ecn::Ect0);
        while copies.take(at(ms), &mut links).is_some() {
            windows.push(links.clone());
        }
    }
    while let Some(deadline) = copies.deadline() {
        while copies.take(deadline.at, &mut links).is_some() {
            windows.push(links.clone());
        }
    }
    windows
}

fn sums(windows: &[Vec<LinkWindow>], link: usize) -> (u32, u32) {
    let of = windows.iter().map(|links| links[link]);
    of.fold((0, 0), |(sent, lost), link| {
        (sent + link.sent, lost + link.lost)
    })
}

#[test]
fn copies_on_a_slow_link_are_not_lost() {
    let windows = windows_of(100, |_, _| false);
    assert!(windows.len() > 5, "{}", windows.len());
    assert_eq!((sums(&windows, 0), sums(&windows, 1)), ((100, 0), (100, 0)));
}

#[test]
fn only_the_silent_link_loses_copies() {
    let windows = windows_of(100, |sequence, path| path == 1 && sequence >= 50);
    assert_eq!(
        (sums(&windows, 0), sums(&windows, 1)),
        ((100, 0), (100, 50))
    );
    assert!(windows.iter().any(|links| links[1].lost == links[1].sent));
}

#[test]
fn packets_that_never_arrive_are_lost_on_both_links() {
    let windows = windows_of(60, |sequence, _| sequence == 30);
    assert_eq!((sums(&windows, 0), sums(&windows, 1)), ((60, 1), (60, 1)));
}

#[test]
fn a_jump_of_the_sequence_numbers_is_not_a_loss() {
    let mut copies = Copies::new(CONFIG, 1);
    let mut links = Vec::new();
    for (ms, sequence) in [(0, 7), (1, 1 << 40), (2, (1 << 40) + 1)] {
        copies.on_copy(at(ms), PathId(0), sequence, at(0), Ecn::NotEct);
    }
    // The first deadline ends the window, the next one evaluates it.
    while let Some(deadline) = copies.deadline() {
        copies.take(deadline.at, &mut links);
    }
    assert_eq!((links[0].sent, links[0].lost), (2, 0));
}

#[test]
fn a_growing_queue_is_detected_with_unsynchronized_clocks() {
    let mut copies = Copies::new(CONFIG, 1);
    let (mut links, mut queueing) = (Vec::new(), Vec::new());
    for sequence in 0..100 {
        let ahead = Duration::from_secs(3600);
        let now = at(sequence) + MS * (sequence / 4);
        copies.on_copy(now, PathId(0), sequence, at(sequence) + ahead, Ecn::NotEct);
        while copies.take(now, &mut links).is_some() {
            queueing.extend(links[0].queueing);
        }
    }
    assert!(queueing.len() > 5, "{queueing:?}");
    assert!(queueing.last() > queueing.first(), "{queueing:?}");
    assert!(queueing.iter().all(|share| (0.0..=1.0).contains(share)));
}

/// The queueing of a link per window with one copy each ms: copy `n` queues for `queue(n)` ms and
/// has sequence number `sequence(n)`, and the sender's clock is `behind(n)` behind the receiver's.
fn queueing(
    copies: u64,
    queue: impl Fn(u64) -> u64,
    sequence: impl Fn(u64) -> u64,
    behind: impl Fn(u64) -> Duration,
) -> Vec<f64> {
    let mut received = Copies::new(CopiesConfig::default(), 1);
    let (mut links, mut shares) = (Vec::new(), Vec::new());
    let epoch = Time::ZERO + Duration::from_secs(200 * 86_400);
    for n in 0..copies {
        let now = epoch + MS * n;
        let sent = Time(now.0 - behind(n).0 - queue(n) * MS.0);
        received.on_copy(now, PathId(0), sequence(n), sent, Ecn::Ect0);
        while received.take(now, &mut links).is_some() {
            shares.extend(links[0].queueing);
        }
    }
    shares
}

/// A queue that grows from 0 to 9 ms over ten windows, then alternates between 9 ms and 0 every ten
/// windows.
fn alternating(n: u64) -> u64 {
    match n / 1000 {
        0 => n / 100,
        period => period % 2 * 9,
    }
}

#[test]
fn a_delay_spike_decays() {
    let spike = |n| if n == 2500 { 10_000 } else { alternating(n) };
    let shares = queueing(1_000_000, spike, |n| n, |_| Duration::ZERO);
    assert!(shares[24..40].iter().all(|share| *share < 0.02));
    let last = &shares[shares.len() - 20..];
    let longest = last.iter().copied().fold(0.0, f64::max);
    assert!((0.3..=1.0).contains(&longest), "{last:?}");
    assert!(last.iter().any(|share| *share < 0.05), "{last:?}");
}

#[test]
fn a_restarted_sender_may_have_another_clock() {
    let hour = Duration::from_secs(3600);
    for (before, after) in [(hour, Duration::ZERO), (Duration::ZERO, hour)] {
        let sequence = |n| if n < 2000 { n } else { n + (1 << 40) };
        let behind = |n| if n < 2000 { before } else { after };
        // The restart discards the windows that have not been read.
        let shares = queueing(4000, |n| alternating(n % 2000), sequence, behind);
        let [first, again] = [&shares[5..15], &shares[shares.len() - 14..shares.len() - 4]];
        assert!(first.iter().all(|share| *share > 0.4), "{shares:?}");
        assert!(again.iter().all(|share| *share > 0.4), "{shares:?}");
    }
}

#[test]
fn clocks_that_are_days_apart_change_nothing() {
    let of = |behind| {
        let mut copies = Copies::new(CopiesConfig::default(), 1);
        let (mut links, mut shares) = (Vec::new(), Vec::new());
        for n in 0..20_000 {
            let sent = Time(n * 50_000);
            let now = sent + behind + MS * if n < 2000 { n % 10 } else { 9 };
            copies.on_copy(now, PathId(0), n, sent, Ecn::Ect0);
            while copies.take(now, &mut links).is_some() {
                shares.extend(links[0].queueing);
            }
        }
        shares
    };
    let near = of(Duration::ZERO);
    assert!(near.last().is_some_and(|share| *share > 0.9), "{near:?}");
    assert_eq!(of(Duration::from_secs(100 * 86_400)), near);
}

#[test]
fn a_copy_too_old_for_any_window_does_not_change_the_delay_range() {
    let mut copies = Copies::new(CONFIG, 1);
    copies.on_copy(at(10_000), PathId(0), 7, at(9_000), Ecn::Ect0);
    copies.on_copy(at(10_001), PathId(0), 1 << 40, at(10_000), Ecn::Ect0);
    copies.on_copy(at(10_002), PathId(0), 8, at(9_002), Ecn::Ect0);
    let link = copies.links[0];
    assert_eq!((link.min, link.range), (Some(1_000_000), 0));
}

proptest! {
    /// With in-order links that lose some copies, each copy from the first packet that arrives to
    /// the last is counted once, as lost or as arrived.
    #[test]
    fn every_copy_counts_once(lost in prop::collection::vec(any::<[bool; 2]>(), 1..300)) {
        let index = |sequence: u64| usize::try_from(sequence).unwrap();
        let is_lost = |sequence: u64, path: u8| lost[index(sequence)][usize::from(path)];
        let windows = windows_of(lost.len() as u64, is_lost);
        let number = |index: usize| index as u64;
        let first_arrival = |path: usize, delay: u64| {
            let first = lost.iter().position(|both| !both[path]).map(number);
            first.map(|sequence| (sequence + delay, path, index(sequence)))
        };
        let first = first_arrival(0, 5).into_iter().chain(first_arrival(1, 9)).min();
        let last = lost.iter().rposition(|both| *both != [true, true]);
        let Some(((_, _, first), last)) = first.zip(last) else {
            prop_assert!(windows.is_empty());
            return Ok(());
        };
        for path in 0..2_usize {
            let missing = lost[first..=last].iter().filter(|both| both[path]).count();
            let (sent, lost) = sums(&windows, path);
            prop_assert_eq!(sent as usize, last + 1 - first);
            prop_assert_eq!(lost as usize, missing);
        }
    }

    /// Any arrivals at any times use bounded memory, and the deadlines come to an end.
    #[test]
    fn any_arrivals_use_bounded_memory(
        arrivals in prop::collection::vec((0_u64..50, 0_u8..4, any::<u64>()), 1..200),
    ) {
        let mut copies = Copies::new(CONFIG, 3);
        let (mut links, mut now) = (Vec::new(), 0);
        for (step, path, sequence) in arrivals {
            now += step;
            copies.on_copy(at(now), PathId(path), sequence, at(0), Ecn::Ce);
            while copies.take(at(now), &mut links).is_some() {
                prop_assert!(links.iter().all(|link| link.lost <= link.sent));
            }
            prop_assert!(copies.windows.len() <= MAX_WINDOWS + 1);
        }
        for _ in 0..1000 {
            let Some(deadline) = copies.deadline() else {
                return Ok(());
            };
            while copies.take(deadline.at, &mut links).is_some() {}
        }
        prop_assert!(false, "deadlines do not end");
    }
}
