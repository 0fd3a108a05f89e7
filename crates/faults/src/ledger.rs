//! The packets that applications sent, and which of them were delivered.

use bytes::{Bytes, BytesMut};
use polypath_core::packet::{Ecn, ecn, set_ecn};
use polypath_core::time::{Duration, Time};

use crate::coverage::Coverage;
use crate::datagram::End;
use crate::packet::{self, PacketSpec};
use crate::schedule::Schedule;
use crate::violation::Violation;

/// Every packet of a run, by its number.
#[derive(Debug, Default)]
pub struct PacketLedger {
    entries: Vec<SentPacket>,
    /// The time of the last delivery at each node.
    last: [Time; 2],
    longest_outage: Duration,
    /// The number of packets that were delivered with a mark.
    marked: u64,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    at: Time,
    spec: PacketSpec,
    delivered: bool,
    /// Whether its sender was notified that it exceeds the MTU.
    refused: bool,
    /// Whether its sender is not an impostor, so that the peer may deliver it.
    is_genuine: bool,
}

impl PacketLedger {
    /// Records a packet that an application of `from` sends at `at`.
    pub fn record_sent(&mut self, at: Time, from: End, len: u16, is_genuine: bool) -> PacketSpec {
        let id = self.entries.len() as u64;
        let spec = PacketSpec { id, from, len };
        self.entries.push(SentPacket {
            at,
            spec,
            delivered: false,
            refused: false,
            is_genuine,
        });
        spec
    }

    /// Checks a packet delivered to `to` at `at`, and returns its number.
    ///
    /// # Errors
    /// The packet was not sent to this node, is a duplicate, or has an ECN field that nothing in the
    /// schedule explains.
    pub fn deliver(
        &mut self,
        at: Time,
        to: End,
        packet: &Bytes,
        schedule: &Schedule,
    ) -> Result<u64, Violation> {
        let forged = Violation::ForgedDelivery { end: to };
        let delivered = ecn(packet);
        let (id, entry) = self.entry(packet).ok_or(forged)?;
        let sent = entry.spec;
        if sent.from != to.other() || !entry.is_genuine || with_ecn(sent, delivered) != *packet {
            return Err(forged);
        }
        if delivered != Ecn::Ce && schedule.must_mark(entry.at, sent.ecn()) {
            return Err(Violation::LostMark { end: to, id });
        }
        if !schedule.may_become(to, sent.ecn(), delivered) {
            let (sent, ecn) = (sent.ecn(), delivered);
            return Err(Violation::WrongEcn {
                end: to,
                id,
                sent,
                ecn,
            });
        }
        if entry.delivered {
            return Err(Violation::DuplicateDelivery { end: to, id });
        }
        entry.delivered = true;
        self.marked += u64::from(delivered == Ecn::Ce);
        let last = std::mem::replace(&mut self.last[to.index()], at);
        self.longest_outage = self.longest_outage.max(at.since(last));
        Ok(id)
    }

    /// Records that the sender of a packet was notified that it is too big.
    pub fn record_refused(&mut self, packet: &Bytes) {
        if let Some((_, entry)) = self.entry(packet) {
            entry.refused = true;
        }
    }

    /// The number of a packet, and its record.
    fn entry(&mut self, packet: &Bytes) -> Option<(u64, &mut SentPacket)> {
        let id = packet::number(packet)?;
        let entry = self.entries.get_mut(usize::try_from(id).ok()?)?;
        Some((id, entry))
    }

    /// Counts all packets, and checks that all required ones arrived.
    ///
    /// # Errors
    /// The first required packet that did not arrive.
    pub fn close(&self, schedule: &Schedule, coverage: &mut Coverage) -> Result<(), Violation> {
        coverage.longest_outage = self.longest_outage;
        coverage.marked += self.marked;
        coverage.slowest_seed = schedule.seed.0;
        let mut missing = None;
        for entry in &self.entries {
            let is_required = entry.is_genuine
                && schedule.must_deliver(entry.spec.from, entry.at, entry.spec.len);
            coverage.sent += 1;
            coverage.required += u64::from(is_required);
            coverage.delivered += u64::from(entry.delivered);
            if !entry.delivered && !entry.refused {
                let recovery = entry.at.since(schedule.calm_from);
                coverage.slowest_recovery = coverage.slowest_recovery.max(recovery);
            }
            if is_required && !entry.delivered {
                missing.get_or_insert(Violation::Missing {
                    end: entry.spec.from.other(),
                    id: entry.spec.id,
                    len: entry.spec.len,
                    sent: entry.at,
                    settled: schedule.settling_time(),
                });
            }
        }
        missing.map_or(Ok(()), Err)
    }
}

/// The bytes of a packet with this ECN field.
fn with_ecn(sent: PacketSpec, ecn: Ecn) -> BytesMut {
    let mut bytes = BytesMut::from(sent.bytes());
    // A packet of an application has a whole IP header.
    set_ecn(&mut bytes, ecn);
    bytes
}
