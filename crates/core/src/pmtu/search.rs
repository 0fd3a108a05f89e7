//! The search for the size of one path.

use super::{
    BASE_PACKET, CONFIRM_INTERVAL, IDLE_CONFIRM_INTERVAL, MAX_PROBES, MIN_PACKET, MtuState,
    PathMtu, RAISE_INTERVAL, RETRY_INTERVAL, STEP,
};
use crate::liveness::LivenessSnapshot;
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct Search {
    room: u16,
    state: MtuState,
    /// The largest size that was answered.
    confirmed: Option<u16>,
    /// The smallest that failed.
    failed: Option<u16>,
    /// The size that failed after it had been found, until it is asked for once more.
    doubted: Option<u16>,
    /// Whether only confirmed sizes are to be relied on: one failed since the room was last confirmed.
    is_narrow: bool,
    /// What was found before, where a search for more follows.
    held: Option<u16>,
    /// When complete or error was reached, or tried last.
    since: Time,
    /// When an answer last came; none where the path was away since.
    verified: Option<Time>,
    asked: Asked,
}

/// What is worth telling when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// How far it is, steps of a search aside.
    pub(super) state: MtuState,
    /// The size that was found, and holds while more is tried.
    pub(super) found: Option<u16>,
    /// The longest packet that may go on the path; none while no size has failed, or where nothing is known.
    pub(super) limit: Option<u16>,
}

/// The probes of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    size: u16,
    /// The number of the first.
    first: u64,
    /// The number of the next of any size.
    next: u64,
    /// When the newest left, as long as it is not overdue.
    sent: Option<Time>,
    overdue: u32,
}

impl Search {
    pub(super) fn new(room: u16) -> Self {
        Self {
            room,
            state: MtuState::Base,
            confirmed: None,
            failed: None,
            doubted: None,
            is_narrow: false,
            held: None,
            since: Time::ZERO,
            verified: None,
            asked: Asked::default(),
        }
    }

    /// Begins anew where the room is another than before, or the way is.
    pub(super) fn set_interface_mtu(&mut self, room: u16, elsewhere: bool) {
        if elsewhere || room != self.room {
            self.room = room;
            self.restart();
        }
    }

    /// Begins anew.
    pub(super) fn restart(&mut self) {
        let mut asked = self.asked;
        asked.close();
        *self = Self {
            asked,
            ..Self::new(self.room)
        };
    }

    pub(super) fn known(&self) -> PathMtu {
        PathMtu {
            state: self.state,
            confirmed: self.confirmed,
        }
    }

    pub(super) fn report(&self) -> Report {
        let (state, found) = match self.state {
            MtuState::Complete => (MtuState::Complete, self.confirmed),
            MtuState::Error => (MtuState::Error, None),
            MtuState::Base | MtuState::Search => (MtuState::Search, self.held),
        };
        let is_known = self.is_narrow || state == MtuState::Complete;
        Report {
            state,
            found,
            limit: is_known.then(|| self.limit()),
        }
    }

    /// The longest packet that may go on the path. Its interface lets through none longer than the room whole, but for an
    /// other end of which nothing can be found out all is left to fragmentation.
    pub(super) fn limit(&self) -> u16 {
        let base = || match self.failed {
            Some(failed) if failed <= self.base() => self.least(),
            _ => self.base(),
        };
        match self.state {
            MtuState::Error => u16::MAX,
            MtuState::Complete => self.confirmed.unwrap_or(self.room),
            _ if self.is_narrow => self.confirmed.unwrap_or_else(base),
            _ => self.room,
        }
    }

    /// Whether no search is under way that may raise the limit soon.
    pub(super) fn is_final(&self) -> bool {
        self.held.is_some() || self.state == MtuState::Complete || self.limit() >= self.room
    }

    /// Takes the answer to the probe `id`.
    pub(super) fn answer(&mut self, now: Time, id: u64) {
        if !(self.asked.first..self.asked.next).contains(&id) {
            return;
        }
        let size = self.asked.size;
        self.asked.close();
        self.verified = Some(now);
        if self.state == MtuState::Complete {
            return;
        }
        self.confirmed = Some(size);
        self.failed = self.failed.filter(|failed| *failed > size);
        self.state = MtuState::Search;
        self.complete(now);
    }

    /// Does what is due: the number and the size of the probe to send, if any.
    pub(super) fn wake(&mut self, now: Time, snapshot: &LivenessSnapshot) -> Option<(u64, u16)> {
        if !snapshot.is_live {
            // It may come back by another way.
            self.verified = None;
            self.asked.close();
            return None;
        }
        if self.asked.sent.is_some() {
            self.overdue_at(snapshot).filter(|at| *at <= now)?;
            self.asked.sent = None;
            self.asked.overdue += 1;
            let most = match self.state {
                MtuState::Error => 1,
                _ => snapshot.needed.max(MAX_PROBES),
            };
            if self.asked.overdue >= most {
                self.asked.close();
                self.fail(now, self.asked.size);
            }
        }
        self.begin_again(now);
        let size = self.wanted(now, snapshot)?;
        Some((self.asked.push(now, size), size))
    }

    /// When it next wants to act, if nothing comes.
    pub(super) fn deadline(&self, snapshot: &LivenessSnapshot) -> Option<Time> {
        if !snapshot.is_live {
            return None;
        }
        if self.asked.sent.is_some() {
            return self.overdue_at(snapshot);
        }
        Some(match self.state {
            MtuState::Base | MtuState::Search => Time::ZERO,
            MtuState::Error => self.since + RETRY_INTERVAL,
            MtuState::Complete => self.confirm_at(snapshot).min(self.raise_at()),
        })
    }

    fn base(&self) -> u16 {
        BASE_PACKET.min(self.room)
    }

    fn least(&self) -> u16 {
        MIN_PACKET.min(self.room)
    }

    /// When the probe under way is overdue; not before a plain heartbeat that followed it was answered.
    fn overdue_at(&self, snapshot: &LivenessSnapshot) -> Option<Time> {
        let sent = self.asked.sent?;
        (snapshot.answered? > sent).then(|| sent + snapshot.timeout * 2)
    }

    fn confirm_at(&self, snapshot: &LivenessSnapshot) -> Time {
        let every = if snapshot.is_busy {
            CONFIRM_INTERVAL
        } else {
            IDLE_CONFIRM_INTERVAL
        };
        self.verified.map_or(Time::ZERO, |at| at + every)
    }

    fn raise_at(&self) -> Time {
        if self.confirmed == Some(self.room) {
            return Time::MAX;
        }
        self.since + RAISE_INTERVAL
    }

    /// The size to ask for now.
    fn wanted(&self, now: Time, snapshot: &LivenessSnapshot) -> Option<u16> {
        match self.state {
            MtuState::Base => Some(match self.failed {
                Some(failed) if failed <= self.base() => self.least(),
                _ => self.base(),
            }),
            MtuState::Search => self.candidate(),
            MtuState::Complete => {
                let is_due = self.asked.overdue > 0 || self.confirm_at(snapshot) <= now;
                self.confirmed.filter(|_| is_due)
            }
            MtuState::Error => (self.since + RETRY_INTERVAL <= now).then(|| self.least()),
        }
    }

    /// The size that a search asks for next; none where it is over.
    fn candidate(&self) -> Option<u16> {
        let low = self.confirmed.filter(|confirmed| *confirmed < self.room)?;
        let Some(high) = self.failed else {
            return Some(self.room);
        };
        let between = high.saturating_sub(low);
        if between > STEP {
            return Some(low + between / 2);
        }
        // A burst of losses may have failed it, and the next search for more is far off.
        self.doubted.filter(|doubted| *doubted > low)
    }

    fn complete(&mut self, now: Time) {
        if self.candidate().is_none() {
            self.state = MtuState::Complete;
            self.since = now;
            self.is_narrow = self.confirmed != Some(self.room);
            (self.held, self.doubted) = (None, None);
        }
    }

    fn begin_again(&mut self, now: Time) {
        let is_asked = self.asked.overdue > 0;
        if self.state == MtuState::Complete && !is_asked && self.raise_at() <= now {
            self.state = MtuState::Search;
            self.failed = None;
            self.held = self.confirmed;
        }
    }

    /// Draws the conclusions from a size that failed.
    fn fail(&mut self, now: Time, size: u16) {
        match self.state {
            MtuState::Base if size > self.least() => {
                self.failed = Some(size);
                self.is_narrow = true;
            }
            MtuState::Base | MtuState::Error => {
                self.state = MtuState::Error;
                (self.confirmed, self.failed, self.doubted) = (None, None, None);
                self.is_narrow = false;
                self.since = now;
            }
            MtuState::Search => {
                self.failed = Some(self.failed.map_or(size, |failed| failed.min(size)));
                self.doubted = self.doubted.filter(|doubted| *doubted != size);
                self.is_narrow = true;
                self.complete(now);
            }
            MtuState::Complete => {
                (self.confirmed, self.failed) = (None, Some(size));
                self.doubted = Some(size);
                self.is_narrow = true;
                self.state = MtuState::Base;
            }
        }
    }
}

impl Asked {
    /// Notes a probe of `size` that leaves, and gives its number.
    fn push(&mut self, now: Time, size: u16) -> u64 {
        if self.size != size || self.overdue == 0 {
            self.size = size;
            self.first = self.next;
        }
        self.sent = Some(now);
        self.next += 1;
        self.next - 1
    }

    /// Forgets the probes of this size: their answers say nothing any more.
    fn close(&mut self) {
        self.first = self.next;
        self.sent = None;
        self.overdue = 0;
    }
}
