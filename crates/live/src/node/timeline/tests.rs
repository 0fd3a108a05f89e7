use super::*;
use crate::node::inbox::Inbox;
use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::Duration;
use std::collections::VecDeque;

const PATHS: usize = 2;
const PATIENCE: Duration = Duration::from_millis(5);

/// Gives data on path 1 the time of its patience to arrive after the first data on path 0, as a comparison
/// of paths does; and notes what it saw, and when.
#[derive(Default)]
struct Judge {
    due: Option<Time>,
    seen: Vec<(Time, &'static str)>,
}

impl Machine for Judge {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Time, input: Input, _: &mut impl FnMut(Output)) {
        let Input::Datagram { path, .. } = input else {
            return self.seen.push((now, "packet"));
        };
        if path == PathId(0) {
            self.seen.push((now, "data"));
            self.due.get_or_insert(now + PATIENCE);
        } else {
            let met = self.due.take().is_some();
            self.seen.push((now, if met { "in time" } else { "alone" }));
        }
    }

    fn handle_timeout(&mut self, now: Time, _: &mut impl FnMut(Output)) {
        self.due = None;
        self.seen.push((now, "too late"));
    }

    fn deadline(&self) -> Option<Deadline> {
        let why = "patience";
        self.due.map(|at| Deadline { at, why })
    }
}

/// Sockets in which datagrams wait.
struct Sockets {
    inbox: Inbox,
    paths: [VecDeque<Time>; PATHS],
}

impl Surroundings for Sockets {
    fn next_at(&mut self, until: Time) -> io::Result<Option<Time>> {
        let paths = &mut self.paths;
        self.inbox.next_at(until, |path| {
            Ok(paths[path.index()].pop_front().map(|at| Arrival {
                at,
                source: "192.0.2.1:1".parse().unwrap(),
                input: Input::Datagram {
                    path,
                    datagram: Bytes::new(),
                },
            }))
        })
    }

    fn take(&mut self) -> Option<Arrival> {
        self.inbox.take()
    }

    fn is_empty(&self) -> bool {
        self.inbox.is_empty()
    }

    fn say(&mut self, _: Occasion, _: Output) -> io::Result<()> {
        Ok(())
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

/// What a judge sees of these arrivals when it is woken at `wakes` and, as the drive loop does, again 50 us
/// later while something is due; the number of turns that this took.
fn judge(paths: [Vec<Time>; PATHS], wakes: &[Time]) -> (Vec<(Time, &'static str)>, usize) {
    let mut pending = paths.map(VecDeque::from);
    let mut sockets = Sockets {
        inbox: Inbox::new(PATHS),
        paths: Default::default(),
    };
    let mut timeline = Timeline::new(Judge::default());
    let mut turns = 0;
    for wake in wakes {
        let mut now = *wake;
        loop {
            for (pending, socket) in pending.iter_mut().zip(&mut sockets.paths) {
                while let Some(at) = pending.pop_front_if(|at| *at <= now) {
                    socket.push_back(at);
                }
            }
            let before = timeline.deadline().map(|d| d.at);
            let (taken, until) = timeline.catch_up(now, &mut sockets).unwrap();
            assert!(taken <= BUDGET && until <= now);
            let again = timeline.catch_up(now, &mut sockets).unwrap();
            assert_eq!(again, (0, until), "one turn at a time");
            turns += 1;
            let Some(due) = timeline.deadline().filter(|due| due.at <= now) else {
                break;
            };
            assert!(before.is_none_or(|before| due.at > before), "it is stuck");
            now += Duration::from_micros(50);
        }
    }
    (timeline.machine.seen, turns)
}

/// 40 datagrams on path 0, one each millisecond, and 2 on path 1.
fn arrivals() -> [Vec<Time>; PATHS] {
    let second = [ms(18), ms(21) + Duration::from_micros(500)];
    [(1..=40).map(ms).collect(), second.to_vec()]
}

#[test]
fn a_node_that_sleeps_decides_as_one_that_is_woken_in_time() {
    let in_time: Vec<Time> = (0..500)
        .map(|n| Time::ZERO + Duration::from_micros(100) * n)
        .collect();
    let (expected, _) = judge(arrivals(), &in_time);
    let count = |what| expected.iter().filter(|(_, seen)| *seen == what).count();
    assert_eq!(
        (count("data"), count("in time"), count("alone")),
        (40, 2, 0)
    );
    assert!(count("too late") > 3);
    let late = [
        (&[ms(50)][..], 3),
        (&[ms(20), ms(50)], 4),
        (&[ms(3), ms(39), ms(50)], 5),
    ];
    for (wakes, expected_turns) in late {
        let (seen, turns) = judge(arrivals(), wakes);
        assert_eq!(seen, expected, "woken at {wakes:?}");
        assert_eq!(turns, expected_turns, "woken at {wakes:?}");
    }
}

#[test]
fn a_datagram_that_comes_while_others_are_read_has_its_own_time() {
    let mut sockets = Sockets {
        inbox: Inbox::new(PATHS),
        paths: [vec![ms(1), ms(9)].into(), VecDeque::new()],
    };
    let mut timeline = Timeline::new(Judge::default());
    // The datagram of ms 9 is read by a turn of ms 4.
    assert_eq!(timeline.catch_up(ms(4), &mut sockets).unwrap(), (1, ms(4)));
    assert_eq!(timeline.deadline().map(|d| d.at), Some(ms(4)), "at once");
    assert_eq!(
        timeline.catch_up(ms(10), &mut sockets).unwrap(),
        (1, ms(10))
    );
    let expected = [(ms(1), "data"), (ms(6), "too late"), (ms(9), "data")];
    assert_eq!(timeline.machine().seen, expected);
}
