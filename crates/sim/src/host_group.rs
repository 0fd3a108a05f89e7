//! The TCP hosts of several transfers behind one endpoint, as one application.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::PacketMeta;
use polypath_core::time::Time;

use crate::host::Application;
use crate::tcp::Segment;

/// Hosts with one connection each, whose number is the position of the host, from 1.
#[derive(Debug)]
pub(crate) struct HostGroup<A>(Vec<A>);

/// An input of one of the hosts; none if there is no host of this connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupInput<I> {
    /// The number of the connection.
    pub(crate) connection: u32,
    pub(crate) input: I,
}

impl<A> HostGroup<A> {
    pub(crate) fn new(hosts: Vec<A>) -> Self {
        Self(hosts)
    }

    pub(crate) fn hosts(&self) -> &[A] {
        &self.0
    }
}

impl<A: Application<Packet = Segment>> Application for HostGroup<A> {
    type Packet = Segment;

    fn input(packet: Segment) -> GroupInput<A::Input> {
        GroupInput {
            connection: packet.connection,
            input: A::input(packet),
        }
    }

    fn packet(output: A::Output) -> Option<Segment> {
        A::packet(output)
    }

    fn meta(packet: &Segment) -> PacketMeta {
        packet.meta()
    }
}

impl<A: Machine> Machine for HostGroup<A> {
    type Input = GroupInput<A::Input>;
    type Output = A::Output;

    fn handle_input(&mut self, now: Time, input: Self::Input, out: &mut impl FnMut(A::Output)) {
        let GroupInput { connection, input } = input;
        let position = connection.checked_sub(1).map(|position| position as usize);
        if let Some(host) = position.and_then(|position| self.0.get_mut(position)) {
            host.handle_input(now, input, out);
        }
    }

    /// The hosts in their order.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(A::Output)) {
        let is_due = |host: &A| host.deadline().is_some_and(|deadline| deadline.at <= now);
        for host in self.0.iter_mut().filter(|host| is_due(host)) {
            host.handle_timeout(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.0.iter().map(Machine::deadline);
        deadlines.fold(None, Deadline::earlier)
    }
}
