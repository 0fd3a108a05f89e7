//! The seam between mechanisms and whatever drives them.
//!
//! A [`Machine`] has no I/O, clock or entropy. It is woken with an input or because its deadline has
//! come, says what follows into a closure, and names the next point in time at which it wants to be
//! woken. The simulator's calendar, the live drive loop and the replay of a recorded run all use
//! [`step`], and nothing else.

use crate::time::Time;

/// When a machine wants to be woken, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The point in time.
    pub at: Time,
    /// What falls due then, for logs and for the panic message of a machine that does not advance.
    pub why: &'static str,
}

impl Deadline {
    /// The earlier of two optional deadlines; the first where they tie.
    #[must_use]
    pub fn earlier(a: Option<Deadline>, b: Option<Deadline>) -> Option<Deadline> {
        match (a, b) {
            (Some(a), Some(b)) if b.at < a.at => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        }
    }
}

/// Why a machine is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Wake<I> {
    /// Something arrived.
    Input(I),
    /// The machine's deadline has come.
    Timeout,
}

/// A mechanism, or a composition of mechanisms, without I/O, clock or entropy.
pub trait Machine {
    /// What arrives at the machine.
    type Input;
    /// What the machine says.
    type Output;

    /// Takes one input at `now` and says what follows from it.
    fn handle_input(&mut self, now: Time, input: Self::Input, out: &mut impl FnMut(Self::Output));

    /// Does all that is due at `now`, up to a catch-up bound; the next deadline is then later than `now`.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Self::Output));

    /// When the machine next wants to be woken, if at all.
    fn deadline(&self) -> Option<Deadline>;
}

/// Wakes a machine once and reads its next deadline: the only way in which a driver touches it.
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
