//! The outputs of a node: performed in the simulation, and checked.

use bytes::Bytes;
use polypath_core::packet::{Ecn, mark_ce, set_ecn};
use polypath_session::datagram::{COOKIE_REPLY, INITIATION};
use polypath_session::tunnel::Output;

use super::Run;
use crate::datagram::{Address, End, Host, Provenance, TestDatagram};
use crate::mutants::Mutant;
use crate::packet::{number, sent_ecn};
use crate::trace::TraceEvent;
use crate::violation::Violation;

impl Run<'_> {
    pub(super) fn handle_output(
        &mut self,
        end: End,
        output: Output,
        datagram: Option<&TestDatagram>,
    ) -> Result<(), Violation> {
        match output {
            Output::Packet(packet) => self.deliver_packet(end, packet)?,
            Output::Datagram {
                path,
                datagram,
                traffic_class,
            } => {
                let node = self.slot(end).node.as_ref();
                if let Some(to) = node.and_then(|node| node.peer_address(path)) {
                    self.send(end, to, datagram, traffic_class.ecn)?;
                }
            }
            Output::Reply {
                datagram: reply, ..
            } => {
                if let Some(datagram) = datagram {
                    self.reply(end, datagram.source, reply)?;
                }
            }
            Output::Authenticated { .. } => {
                if let Some(datagram) = datagram {
                    self.learn_address(end, datagram.source)?;
                }
            }
            Output::Event(event) => {
                self.coverage.paths.count_event(&event);
                let event = TraceEvent::Event(Host::Node(end), &event);
                self.trace.record(self.now, &event);
            }
            Output::Session(event) | Output::Relay { event, .. } => {
                let event = TraceEvent::Event(Host::Node(end), &event);
                self.trace.record(self.now, &event);
            }
            Output::PacketTooBig { packet, .. } => self.ledger.record_refused(&packet),
            Output::RelayAuthenticated { .. } => {}
        }
        Ok(())
    }

    /// Sends the response or cookie for an initiation, which may be a replay: to its source, or to
    /// the configured address.
    fn reply(&mut self, end: End, source: Address, bytes: Bytes) -> Result<(), Violation> {
        let slot = self.slot(end);
        slot.replies.insert(bytes.clone());
        let node = slot.node.as_ref();
        if let Some(to) = node.and_then(|node| node.reply_to(source, &bytes)) {
            check_cookie(Host::Node(end), source, to, &bytes)?;
            self.send_from_node(end, to, bytes, Ecn::NotEct);
        }
        Ok(())
    }

    pub(super) fn learn_address(&mut self, end: End, source: Address) -> Result<(), Violation> {
        let is_mutant = self.mutant == Mutant::NeverFollows;
        let Some(node) = self.slot(end).node.as_mut() else {
            return Ok(());
        };
        let is_known = node.peer_address(source.path).is_some();
        if !(is_mutant && is_known) && node.update_peer(source) {
            self.coverage.learned += u64::from(is_known);
            let event = TraceEvent::AddressLearned(Host::Node(end), source);
            self.trace.record(self.now, &event);
            if is_known {
                self.set_interface_mtu(end, source.path, true)?;
            }
        }
        Ok(())
    }

    fn deliver_packet(&mut self, end: End, packet: Bytes) -> Result<(), Violation> {
        if self
            .slot(end)
            .node
            .as_ref()
            .is_some_and(|node| node.is_impostor)
        {
            return Err(Violation::DeliveredToImpostor { end });
        }
        self.progress.deliveries += 1;
        assert!(self.mutant != Mutant::Panics, "a node panics");
        let is_hundredth = self.progress.deliveries.is_multiple_of(100);
        let packet = match self.mutant {
            Mutant::DeliversCorrupted if is_hundredth => {
                let mut changed = packet.to_vec();
                changed[packet.len() - 1] ^= 1;
                changed.into()
            }
            Mutant::InventsMarks => {
                let mut changed = packet.to_vec();
                mark_ce(&mut changed);
                changed.into()
            }
            Mutant::LosesMarks => {
                let mut changed = packet.to_vec();
                if let Some(number) = number(&packet) {
                    set_ecn(&mut changed, sent_ecn(number));
                }
                changed.into()
            }
            _ => packet,
        };
        let id = self.ledger.deliver(self.now, end, &packet, self.schedule)?;
        self.trace
            .record(self.now, &TraceEvent::PacketDelivered(end, id));
        if self.mutant == Mutant::DeliversTwice && is_hundredth {
            self.ledger.deliver(self.now, end, &packet, self.schedule)?;
        }
        Ok(())
    }

    /// Sends a datagram of a node, if its destination is authenticated.
    pub(super) fn send(
        &mut self,
        end: End,
        to: Address,
        bytes: Bytes,
        ecn: Ecn,
    ) -> Result<(), Violation> {
        if !self.slot(end).may_send_to(to) {
            let host = Host::Node(end);
            return Err(Violation::UnprovenDestination { host, to });
        }
        self.send_from_node(end, to, bytes, ecn);
        Ok(())
    }

    fn send_from_node(&mut self, end: End, to: Address, bytes: Bytes, ecn: Ecn) {
        let now = self.now;
        let is_initiation = bytes.first() == Some(&INITIATION);
        if self.mutant == Mutant::RejoinsRelayLate
            && is_initiation
            && to.host == Host::Relay
            && !self.relay(to.path).is_some_and(|slot| slot.is_old(now))
        {
            return;
        }
        let slot = self.slot(end);
        let source = slot.address(to.path);
        let is_impostor = slot.node.as_ref().is_some_and(|node| node.is_impostor);
        let provenance = if is_impostor && self.mutant != Mutant::ImpostorHasKey {
            Provenance::Forged
        } else {
            Provenance::Genuine
        };
        let datagram = self.new_datagram(source, to, provenance, bytes);
        let ecn = self.mutant.ecn(ecn);
        self.transmit(TestDatagram { ecn, ..datagram });
    }

    pub(super) fn transmit(&mut self, datagram: TestDatagram) {
        if datagram.bytes.first() == Some(&COOKIE_REPLY) {
            self.progress.cookies.insert(datagram.bytes.clone());
        }
        self.coverage.datagrams += 1;
        self.attacker.observe_sent(datagram.source.host, &datagram);
        self.react(&datagram);
        self.trace.record(self.now, &TraceEvent::Sent(&datagram));
        self.network.send(self.now, datagram, &mut self.coverage);
    }

    pub(super) fn new_datagram(
        &mut self,
        source: Address,
        to: Address,
        provenance: Provenance,
        bytes: Bytes,
    ) -> TestDatagram {
        self.progress.datagrams += 1;
        TestDatagram {
            id: self.progress.datagrams,
            source,
            to,
            provenance,
            ecn: Ecn::NotEct,
            bytes,
        }
    }
}

/// Checks that a cookie in reply to a datagram from `source` goes to that source, which it covers.
pub(super) fn check_cookie(
    host: Host,
    source: Address,
    to: Address,
    reply: &Bytes,
) -> Result<(), Violation> {
    if reply.first() == Some(&COOKIE_REPLY) && to != source {
        return Err(Violation::MisdirectedCookie { host, to });
    }
    Ok(())
}
