//! A machine that is woken as if each datagram and each deadline had been served in time.
//!
//! A node that slept too long must not judge paths by the order in which it reads its sockets, nor by a
//! deadline that passed while what would have met it was waiting there. So deadlines go only as far as all
//! datagrams that came before them have been taken, however many wait.
//!
//! What was due longer than [`CATCH_UP`] ago is done once, and not as often as it would have been: a node
//! that was stopped for a minute sends one handshake, not the dozen of that minute.

use std::io;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::{Input, Output};

use super::inbox::Arrival;
use super::io::OutputContext;

/// How far back deadlines are met at their own time.
const CATCH_UP: Duration = Duration::from_secs(1);

/// How late a deadline may be met as if it had been met in time.
const LATE: Duration = Duration::from_millis(5);

/// What a node's machine lives among.
pub(super) trait MachineIo {
    /// When the next datagram came, if one had come by `until`.
    fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>>;
    /// Takes the next datagram.
    fn take(&mut self) -> Option<Arrival>;
    /// Whether nothing was read that is not yet taken.
    fn is_empty(&self) -> bool;
    /// Does what the machine says.
    fn emit(&mut self, context: OutputContext, output: Output) -> io::Result<()>;
}

/// A machine and how far it has been brought.
pub(super) struct CatchUpDriver<M> {
    machine: M,
    /// The latest time that the machine has seen.
    last: Time,
    /// The time of the last turn, where it left datagrams that were read.
    left: Option<Time>,
    /// Datagrams of a turn at most.
    turn: usize,
}

impl<M: Machine<Input = Input, Output = Output>> CatchUpDriver<M> {
    /// A machine that is not woken before `start`, and takes `turn` datagrams at most in a turn.
    pub(super) fn new(machine: M, start: Time, turn: usize) -> Self {
        Self {
            machine,
            last: start,
            left: None,
            turn,
        }
    }

    pub(super) fn machine(&self) -> &M {
        &self.machine
    }

    /// When the machine wants to be woken.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.machine.deadline()
    }

    /// Whether datagrams are left, which come before what is due.
    pub(super) fn has_backlog(&self) -> bool {
        self.left.is_some()
    }

    /// Tells the machine where it is behind, before it catches up: what it sends then does not leave at the times
    /// at which it was due.
    pub(super) fn tell_late(&mut self, now: Time, io: &mut impl MachineIo) -> io::Result<()> {
        let due = self.machine.deadline();
        if due.is_none_or(|due| due.at + LATE >= now) {
            return Ok(());
        }
        let (at, source) = (self.last, None);
        self.wake(
            OutputContext { at, source },
            Wake::Input(Input::DriverBehind(now)),
            io,
        )
    }

    /// Takes datagrams and does what is due, in the order of their times, until `now` or the end of a
    /// turn; gives the number of datagrams, and how far it came. There is one turn at a time: applications'
    /// packets are read between them.
    pub(super) fn catch_up(
        &mut self,
        now: Time,
        io: &mut impl MachineIo,
    ) -> io::Result<(usize, Time)> {
        let mut taken = 0;
        let floor = now - CATCH_UP;
        let until = loop {
            let Some(next) = io.next_arrival(now)? else {
                break now;
            };
            if taken == self.turn || self.left == Some(now) {
                break next;
            }
            let Some(arrival) = io.take() else {
                break now;
            };
            self.do_due(arrival.at, floor, io)?;
            let wake = Wake::Input(arrival.input);
            let source = Some(arrival.source);
            self.wake(OutputContext { at: next, source }, wake, io)?;
            taken += 1;
        };
        self.do_due(until, floor, io)?;
        self.left = (!io.is_empty()).then_some(now);
        Ok((taken, until))
    }

    /// Wakes the machine with `input` at `at`, up to which it has been brought, or else is brought now.
    pub(super) fn take_input(
        &mut self,
        at: Time,
        input: Input,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        self.do_due(at, at - CATCH_UP, io)?;
        let source = None;
        self.wake(OutputContext { at, source }, Wake::Input(input), io)
    }

    /// Wakes the machine at each of its deadlines up to `until`, and at `floor` for those before.
    fn do_due(&mut self, until: Time, floor: Time, io: &mut impl MachineIo) -> io::Result<()> {
        while let Some(due) = self.machine.deadline().filter(|due| due.at <= until) {
            let (at, source) = (due.at.max(floor.min(until)), None);
            self.wake(OutputContext { at, source }, Wake::Timeout, io)?;
            let moved = self.machine.deadline().is_none_or(|next| next.at > due.at);
            if !moved {
                // The drive loop counts it and slows down.
                break;
            }
        }
        Ok(())
    }

    /// Wakes the machine, and not before the latest time that it has seen: time never runs back for it.
    fn wake(
        &mut self,
        context: OutputContext,
        wake: Wake<Input>,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        let at = self.last.max(context.at);
        self.last = at;
        let mut result = Ok(());
        step(&mut self.machine, at, wake, &mut |output| {
            if result.is_ok() {
                result = io.emit(OutputContext { at, ..context }, output);
            }
        });
        result
    }
}

#[cfg(test)]
mod tests;
