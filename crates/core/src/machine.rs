//! The interface between mechanisms and their drivers.
//!
//! A [`Machine`] has no I/O, clock or entropy. A driver wakes it with an input or at its deadline,
//! passes a closure that receives the outputs, and reads the next deadline; [`step`] does all
//! three. A machine that is composed of others may call the methods of its parts directly.

use crate::time::Time;

/// The time at which a machine has to be woken, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The point in time.
    pub at: Time,
    /// The work that is due then, for logs and for the panic message of a machine that does not
    /// advance.
    pub why: &'static str,
}

impl Deadline {
    /// The earlier of two optional deadlines; the first where they tie.
    #[inline]
    #[must_use]
    pub fn earlier(a: Option<Deadline>, b: Option<Deadline>) -> Option<Deadline> {
        match (a, b) {
            (Some(a), Some(b)) if b.at < a.at => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        }
    }
}

/// The earliest of the deadlines that are added: cheaper than comparing each with the next where
/// there are many and every packet asks.
#[derive(Clone, Copy, Debug)]
pub struct EarliestDeadline(Deadline);

impl EarliestDeadline {
    /// No deadline.
    pub const NONE: Self = Self(Deadline {
        at: Time::MAX,
        why: "",
    });

    /// Adds a deadline at `at`.
    #[inline]
    pub fn add(&mut self, at: Option<Time>, why: &'static str) {
        if let Some(at) = at
            && at < self.0.at
        {
            self.0 = Deadline { at, why };
        }
    }

    /// Adds `deadline`.
    #[inline]
    pub fn add_deadline(&mut self, deadline: Option<Deadline>) {
        if let Some(deadline) = deadline
            && deadline.at < self.0.at
        {
            self.0 = deadline;
        }
    }

    /// The earliest, the first where they tie; `None` if none was added, or none before
    /// [`Time::MAX`].
    #[inline]
    #[must_use]
    pub fn deadline(self) -> Option<Deadline> {
        (self.0.at < Time::MAX).then_some(self.0)
    }
}

/// The reason for waking a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Wake<I> {
    /// An input arrived.
    Input(I),
    /// The machine's deadline has passed.
    Timeout,
}

/// A mechanism, or a composition of mechanisms, without I/O, clock or entropy.
pub trait Machine {
    /// The inputs of the machine.
    type Input;
    /// The outputs of the machine.
    type Output;

    /// Handles one input at `now` and emits the outputs that follow.
    fn handle_input(&mut self, now: Time, input: Self::Input, out: &mut impl FnMut(Self::Output));

    /// Performs all work that is due at `now`, up to a catch-up bound; the next deadline is then
    /// later than `now`.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Self::Output));

    /// The next time at which the machine has to be woken, if any.
    fn deadline(&self) -> Option<Deadline>;
}

/// Wakes a machine once and returns its next deadline.
#[inline]
pub fn step<M: Machine>(
    machine: &mut M,
    now: Time,
    wake: Wake<M::Input>,
    out: &mut impl FnMut(M::Output),
) -> Option<Deadline> {
    match wake {
        Wake::Input(input) => machine.handle_input(now, input, out),
        Wake::Timeout => machine.handle_timeout(now, out),
    }
    machine.deadline()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_deadline_is_the_first_where_they_tie() {
        let at = |ns, why| Deadline { at: Time(ns), why };
        let mut next = EarliestDeadline::NONE;
        next.add(None, "none");
        next.add(Some(Time::MAX), "never");
        assert_eq!(next.deadline(), None);
        next.add(Some(Time(9)), "later");
        next.add_deadline(Some(at(5, "first")));
        next.add(Some(Time(5)), "second");
        next.add_deadline(None);
        assert_eq!(next.deadline(), Some(at(5, "first")));
    }
}
