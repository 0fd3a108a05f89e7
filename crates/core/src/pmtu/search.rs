//! The search for the MTU of one path.

use super::{
    BASE_PACKET, CONFIRM_INTERVAL, IDLE_CONFIRM_INTERVAL, MAX_PROBES, MIN_PACKET, MtuState,
    PathMtu, RAISE_INTERVAL, RETRY_INTERVAL, STEP,
};
use crate::liveness::LivenessSnapshot;
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct Search {
    interface_mtu: u16,
    state: MtuState,
    /// The largest size that was answered.
    confirmed: Option<u16>,
    /// The smallest size that failed.
    failed: Option<u16>,
    /// The found size that failed later, until it is probed once more.
    unconfirmed_failure: Option<u16>,
    /// Whether only confirmed sizes are trusted: one failed since the interface's MTU was last
    /// confirmed.
    is_narrow: bool,
    /// The size found before, while a search for a larger one is in progress.
    previous: Option<u16>,
    /// The time at which complete or error was reached, or the last retry.
    since: Time,
    /// The time of the last answer; `None` if the path was not live since.
    verified: Option<Time>,
    probes: Probes,
}

/// The part of the state whose changes are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// The state, without the steps of a search.
    pub(super) state: MtuState,
    /// The size that was found, also while larger sizes are tried.
    pub(super) found: Option<u16>,
    /// The longest packet that may be sent; `None` while no size has failed, or if nothing is
    /// known.
    pub(super) limit: Option<u16>,
}

/// The probes of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    size: u16,
    /// The number of the first.
    first: u64,
    /// The number of the next of any size.
    next: u64,
    /// The send time of the newest probe, unless it is overdue.
    sent: Option<Time>,
    overdue: u32,
}

impl Search {
    pub(super) fn new(interface_mtu: u16) -> Self {
        Self {
            interface_mtu,
            state: MtuState::Base,
            confirmed: None,
            failed: None,
            unconfirmed_failure: None,
            is_narrow: false,
            previous: None,
            since: Time::ZERO,
            verified: None,
            probes: Probes::default(),
        }
    }

    /// Restarts the search if the interface's MTU or the route has changed.
    pub(super) fn set_interface_mtu(&mut self, interface_mtu: u16, rerouted: bool) {
        if rerouted || interface_mtu != self.interface_mtu {
            self.interface_mtu = interface_mtu;
            self.restart();
        }
    }

    /// Restarts the search.
    pub(super) fn restart(&mut self) {
        let mut probes = self.probes;
        probes.close();
        *self = Self {
            probes,
            ..Self::new(self.interface_mtu)
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
            MtuState::Base | MtuState::Search => (MtuState::Search, self.previous),
        };
        let is_known = self.is_narrow || state == MtuState::Complete;
        Report {
            state,
            found,
            limit: is_known.then(|| self.limit()),
        }
    }

    /// The longest packet that the path may carry, in bytes. If the peer answers no probe at all,
    /// every packet may be sent, and fragmentation is left to the system.
    pub(super) fn limit(&self) -> u16 {
        let base = || match self.failed {
            Some(failed) if failed <= self.base() => self.least(),
            _ => self.base(),
        };
        match self.state {
            MtuState::Error => u16::MAX,
            MtuState::Complete => self.confirmed.unwrap_or(self.interface_mtu),
            _ if self.is_narrow => self.confirmed.unwrap_or_else(base),
            _ => self.interface_mtu,
        }
    }

    /// Whether no search is running that may raise the limit soon.
    pub(super) fn is_final(&self) -> bool {
        self.previous.is_some()
            || self.state == MtuState::Complete
            || self.limit() >= self.interface_mtu
    }

    /// Handles the answer to probe `id`.
    pub(super) fn answer(&mut self, now: Time, id: u64) {
        if !(self.probes.first..self.probes.next).contains(&id) {
            return;
        }
        let size = self.probes.size;
        self.probes.close();
        self.verified = Some(now);
        if self.state == MtuState::Complete {
            return;
        }
        self.confirmed = Some(size);
        self.failed = self.failed.filter(|failed| *failed > size);
        self.state = MtuState::Search;
        self.complete(now);
    }

    /// Performs the work that is due, and returns the number and size of the probe to send, if any.
    pub(super) fn handle_timeout(
        &mut self,
        now: Time,
        snapshot: &LivenessSnapshot,
    ) -> Option<(u64, u16)> {
        if !snapshot.is_live {
            // It may return by another route.
            self.verified = None;
            self.probes.close();
            return None;
        }
        if self.probes.sent.is_some() {
            self.overdue_at(snapshot).filter(|at| *at <= now)?;
            self.probes.sent = None;
            self.probes.overdue += 1;
            let most = match self.state {
                MtuState::Error => 1,
                _ => snapshot.needed.max(MAX_PROBES),
            };
            if self.probes.overdue >= most {
                self.probes.close();
                self.fail(now, self.probes.size);
            }
        }
        self.raise(now);
        let size = self.wanted(now, snapshot)?;
        Some((self.probes.push(now, size), size))
    }

    /// The next deadline.
    pub(super) fn deadline(&self, snapshot: &LivenessSnapshot) -> Option<Time> {
        if !snapshot.is_live {
            return None;
        }
        if self.probes.sent.is_some() {
            return self.overdue_at(snapshot);
        }
        Some(match self.state {
            MtuState::Base | MtuState::Search => Time::ZERO,
            MtuState::Error => self.since + RETRY_INTERVAL,
            MtuState::Complete => self.confirm_at(snapshot).min(self.raise_at()),
        })
    }

    fn base(&self) -> u16 {
        BASE_PACKET.min(self.interface_mtu)
    }

    fn least(&self) -> u16 {
        MIN_PACKET.min(self.interface_mtu)
    }

    /// The time at which the outstanding probe is overdue; `None` until a plain heartbeat that was
    /// sent after it has been answered.
    fn overdue_at(&self, snapshot: &LivenessSnapshot) -> Option<Time> {
        let sent = self.probes.sent?;
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
        if self.confirmed == Some(self.interface_mtu) {
            return Time::MAX;
        }
        self.since + RAISE_INTERVAL
    }

    /// The size to probe now.
    fn wanted(&self, now: Time, snapshot: &LivenessSnapshot) -> Option<u16> {
        match self.state {
            MtuState::Base => Some(match self.failed {
                Some(failed) if failed <= self.base() => self.least(),
                _ => self.base(),
            }),
            MtuState::Search => self.candidate(),
            MtuState::Complete => {
                let is_due = self.probes.overdue > 0 || self.confirm_at(snapshot) <= now;
                self.confirmed.filter(|_| is_due)
            }
            MtuState::Error => (self.since + RETRY_INTERVAL <= now).then(|| self.least()),
        }
    }

    /// The size that the search probes next; `None` if it is over.
    fn candidate(&self) -> Option<u16> {
        let low = self
            .confirmed
            .filter(|confirmed| *confirmed < self.interface_mtu)?;
        let Some(high) = self.failed else {
            return Some(self.interface_mtu);
        };
        let between = high.saturating_sub(low);
        if between > STEP {
            return Some(low + between / 2);
        }
        // A burst of losses may be the cause, and the next search for a larger size is far off.
        self.unconfirmed_failure
            .filter(|unconfirmed_failure| *unconfirmed_failure > low)
    }

    fn complete(&mut self, now: Time) {
        if self.candidate().is_none() {
            self.state = MtuState::Complete;
            self.since = now;
            self.is_narrow = self.confirmed != Some(self.interface_mtu);
            (self.previous, self.unconfirmed_failure) = (None, None);
        }
    }

    fn raise(&mut self, now: Time) {
        let is_asked = self.probes.overdue > 0;
        if self.state == MtuState::Complete && !is_asked && self.raise_at() <= now {
            self.state = MtuState::Search;
            self.failed = None;
            self.previous = self.confirmed;
        }
    }

    /// Handles the failure of a size.
    fn fail(&mut self, now: Time, size: u16) {
        match self.state {
            MtuState::Base if size > self.least() => {
                self.failed = Some(size);
                self.is_narrow = true;
            }
            MtuState::Base | MtuState::Error => {
                self.state = MtuState::Error;
                (self.confirmed, self.failed, self.unconfirmed_failure) = (None, None, None);
                self.is_narrow = false;
                self.since = now;
            }
            MtuState::Search => {
                self.failed = Some(self.failed.map_or(size, |failed| failed.min(size)));
                self.unconfirmed_failure = self
                    .unconfirmed_failure
                    .filter(|unconfirmed_failure| *unconfirmed_failure != size);
                self.is_narrow = true;
                self.complete(now);
            }
            MtuState::Complete => {
                (self.confirmed, self.failed) = (None, Some(size));
                self.unconfirmed_failure = Some(size);
                self.is_narrow = true;
                self.state = MtuState::Base;
            }
        }
    }
}

impl Probes {
    /// Notes a probe of `size` that is sent, and returns its number.
    fn push(&mut self, now: Time, size: u16) -> u64 {
        if self.size != size || self.overdue == 0 {
            self.size = size;
            self.first = self.next;
        }
        self.sent = Some(now);
        self.next += 1;
        self.next - 1
    }

    /// Discards the probes of this size: their answers are ignored.
    fn close(&mut self) {
        self.first = self.next;
        self.sent = None;
        self.overdue = 0;
    }
}
