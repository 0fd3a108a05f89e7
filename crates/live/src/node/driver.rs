//! Drives a machine as if each datagram and each deadline had been handled in time.
//!
//! A node that slept too long must not judge paths by the order in which it reads its sockets, nor
//! expire a deadline while the datagram that would have met it waits in a socket. So a deadline is
//! handled only after all datagrams that arrived before it, however many wait.
//!
//! Work that was due more than [`CATCH_UP`] ago is done once rather than as often as it was due: a
//! node that was stopped for a minute sends one handshake, not the dozen of that minute.

use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::{Input, Output};

use super::paths::inbox::Arrival;

/// Deadlines at most this far in the past are handled at their own time.
const CATCH_UP: Duration = Duration::from_secs(1);

/// The lateness above which the machine is notified that its driver is behind.
const LATE: Duration = Duration::from_millis(5);

/// The I/O of a machine.
pub(super) trait MachineIo {
    /// The arrival time of the next datagram, if one has arrived by `until`.
    fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>>;
    /// Dequeues the next datagram.
    fn take(&mut self) -> Option<Arrival>;
    /// Whether every datagram that was read has been dequeued.
    fn is_empty(&self) -> bool;
    /// Carries out an output of the machine.
    fn emit(&mut self, context: OutputContext, output: Output) -> io::Result<()>;
}

/// The cause of an output: the time of the wake, and the datagram.
#[derive(Clone, Copy)]
pub(super) struct OutputContext {
    /// The time of the wake.
    pub(super) at: Time,
    /// The source of the datagram that the machine handled, if it handled one.
    pub(super) source: Option<SocketAddr>,
}

/// The progress of [`CatchUpDriver::catch_up`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of datagrams handled.
    pub(super) datagrams: usize,
    /// The time up to which everything has been handled.
    pub(super) until: Time,
}

/// A machine and the time that it has reached.
pub(super) struct CatchUpDriver<M> {
    machine: M,
    /// That of the machine, as of its last wake: it is read several times for each datagram.
    deadline: Option<Deadline>,
    /// The latest time at which the machine was woken.
    last: Time,
    /// The time of the last turn, if datagrams that were read are left from it.
    backlog_at: Option<Time>,
    /// The number of datagrams in a turn at most.
    turn: usize,
}

impl<M: Machine<Input = Input, Output = Output>> CatchUpDriver<M> {
    /// Drives `machine`, which is not woken before `start`, by at most `turn` datagrams in a turn.
    pub(super) fn new(machine: M, start: Time, turn: usize) -> Self {
        Self {
            deadline: machine.deadline(),
            machine,
            last: start,
            backlog_at: None,
            turn,
        }
    }

    /// The machine, to read its state.
    pub(super) fn machine(&self) -> &M {
        &self.machine
    }

    /// The next deadline of the machine.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Whether datagrams are left that come before the next deadline.
    pub(super) fn has_backlog(&self) -> bool {
        self.backlog_at.is_some()
    }

    /// Notifies the machine if it is behind, before it catches up: its outputs then leave later
    /// than they were due.
    pub(super) fn notify_if_behind(
        &mut self,
        now: Time,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        if (self.deadline).is_none_or(|deadline| deadline.at + LATE >= now) {
            return Ok(());
        }
        let context = OutputContext {
            at: self.last,
            source: None,
        };
        self.wake(context, Wake::Input(Input::DriverBehind(now)), io)
    }

    /// Handles datagrams and deadlines in the order of their times, until `now` or the end of a
    /// turn. There is one turn at a time: packets of applications are read between turns.
    pub(super) fn catch_up(&mut self, now: Time, io: &mut impl MachineIo) -> io::Result<Progress> {
        let mut datagrams = 0;
        let floor = now - CATCH_UP;
        let until = loop {
            let Some(at) = io.next_arrival(now)? else {
                break now;
            };
            if datagrams == self.turn || self.backlog_at == Some(now) {
                break at;
            }
            let Some(arrival) = io.take() else {
                break now;
            };
            self.handle_due(arrival.at, floor, io)?;
            let context = OutputContext {
                at,
                source: Some(arrival.source),
            };
            self.wake(context, Wake::Input(arrival.input), io)?;
            datagrams += 1;
        };
        self.handle_due(until, floor, io)?;
        self.backlog_at = (!io.is_empty()).then_some(now);
        Ok(Progress { datagrams, until })
    }

    /// Handles `input` at `at`, after all deadlines up to then.
    pub(super) fn handle_input(
        &mut self,
        at: Time,
        input: Input,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        self.handle_due(at, at - CATCH_UP, io)?;
        self.pass(at, input, io)
    }

    /// Handles `input` at `at` without the deadlines up to then: at the start, what the machine must
    /// know before it sends anything, since its first deadline is that of a handshake on all paths
    /// that it may use.
    pub(super) fn pass(
        &mut self,
        at: Time,
        input: Input,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        let context = OutputContext { at, source: None };
        self.wake(context, Wake::Input(input), io)
    }

    /// Wakes the machine at each of its deadlines up to `until`; at `floor` for earlier ones.
    fn handle_due(&mut self, until: Time, floor: Time, io: &mut impl MachineIo) -> io::Result<()> {
        while let Some(due) = self.deadline.filter(|due| due.at <= until) {
            let at = due.at.max(floor.min(until));
            self.wake(OutputContext { at, source: None }, Wake::Timeout, io)?;
            let advanced = self.deadline.is_none_or(|next| next.at > due.at);
            if !advanced {
                // The drive loop counts this and slows down.
                break;
            }
        }
        Ok(())
    }

    /// Wakes the machine, never earlier than the last time: time does not run backwards for it.
    fn wake(
        &mut self,
        context: OutputContext,
        wake: Wake<Input>,
        io: &mut impl MachineIo,
    ) -> io::Result<()> {
        let at = self.last.max(context.at);
        self.last = at;
        let mut result = Ok(());
        self.deadline = step(&mut self.machine, at, wake, &mut |output| {
            if result.is_ok() {
                result = io.emit(OutputContext { at, ..context }, output);
            }
        });
        result
    }
}

#[cfg(test)]
mod tests;
