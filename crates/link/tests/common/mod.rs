//! Packets, arrivals and fates, for the tests of links.

use polypath_core::frame::Payload;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::time::{Duration, Time};
use polypath_link::{DropReason, Link, Output};

/// A packet with a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbered {
    pub(crate) number: usize,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
}

impl Payload for Numbered {
    fn len(&self) -> usize {
        self.size as usize
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        assert!(self.ecn.is_capable());
        self.ecn = Ecn::Ce;
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    /// Its last bit arrived then.
    Delivered(Time, Ecn),
    Dropped(DropReason),
}

/// The arrival time of each packet, its size, and whether it is ECN-capable.
pub(crate) type Arrivals = Vec<(Time, u32, bool)>;

/// Arrivals from gaps in units of `unit` and sizes in units of 250 B: on a grid, so that times are
/// often equal.
pub(crate) fn arrivals(steps: &[(u64, u32)], unit: Duration) -> Arrivals {
    let mut now = Time::ZERO;
    let arrive = |&(gap, quarters): &(u64, u32)| {
        now += unit * gap;
        (now, 250 * quarters, quarters % 2 == 0)
    };
    steps.iter().map(arrive).collect()
}

/// The fates of packets in the order in which they were decided, with the link woken at its
/// deadlines.
pub(crate) fn drive(link: &mut Link<Numbered>, arrivals: &Arrivals) -> Vec<(usize, Fate)> {
    let mut fates = Vec::new();
    let mut deadline = None;
    let mut out = |output: Output<Numbered>| {
        fates.push(match output {
            Output::Deliver { at, packet } => (packet.number, Fate::Delivered(at, packet.ecn)),
            Output::Dropped { reason, packet } => (packet.number, Fate::Dropped(reason)),
        });
    };
    for (number, &(at, size, capable)) in arrivals.iter().enumerate() {
        while let Some(due) = deadline.filter(|due| *due <= at) {
            deadline = wake(link, due, Wake::Timeout, &mut out);
        }
        let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        let packet = Numbered { number, size, ecn };
        deadline = wake(link, at, Wake::Input(packet), &mut out);
    }
    while let Some(due) = deadline {
        deadline = wake(link, due, Wake::Timeout, &mut out);
    }
    fates
}

/// Wakes a link; its deadline is then later.
fn wake(
    link: &mut Link<Numbered>,
    now: Time,
    wake: Wake<Numbered>,
    out: &mut impl FnMut(<Link<Numbered> as Machine>::Output),
) -> Option<Time> {
    let deadline = step(link, now, wake, out).map(|deadline| deadline.at);
    assert!(deadline.is_none_or(|at| at > now), "{deadline:?} at {now}");
    deadline
}
