//! What applications sent, and what became of it.

use bytes::Bytes;
use polypath_core::time::{Duration, Time};

use crate::packet::{self, Make};
use crate::parcel::End;
use crate::schedule::Schedule;
use crate::tally::Tally;
use crate::violation::Violation;

/// Every packet of a run, by its number.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: Vec<Offered>,
    /// When each end got its last packet.
    last: [Time; 2],
    longest_outage: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Offered {
    at: Time,
    make: Make,
    delivered: bool,
    /// Whether its sender heard that no path carries it whole.
    refused: bool,
    /// Whether its peer may get it: not from somebody who only runs in a node's place.
    is_genuine: bool,
}

impl Ledger {
    /// Enters a packet that an application of `from` sends at `at`.
    pub fn offer(&mut self, at: Time, from: End, len: u16, is_genuine: bool) -> Make {
        let id = self.entries.len() as u64;
        let make = Make { id, from, len };
        self.entries.push(Offered {
            at,
            make,
            delivered: false,
            refused: false,
            is_genuine,
        });
        make
    }

    /// Checks a packet that an application of `to` gets at `at`, and gives its number.
    ///
    /// # Errors
    /// Where nobody sent it to there, or it was delivered before.
    pub fn deliver(&mut self, at: Time, to: End, packet: &Bytes) -> Result<u64, Violation> {
        let forged = Violation::Forged { end: to };
        let (id, entry) = self.entry(packet).ok_or(forged)?;
        if entry.make.from != to.other() || !entry.is_genuine || entry.make.bytes() != *packet {
            return Err(forged);
        }
        if entry.delivered {
            return Err(Violation::Twice { end: to, id });
        }
        entry.delivered = true;
        let last = std::mem::replace(&mut self.last[to.index()], at);
        self.longest_outage = self.longest_outage.max(at.since(last));
        Ok(id)
    }

    /// Takes a packet whose sender hears that it is too long.
    pub fn refuse(&mut self, packet: &Bytes) {
        if let Some((_, entry)) = self.entry(packet) {
            entry.refused = true;
        }
    }

    /// The number that a packet has, and what was sent under it.
    fn entry(&mut self, packet: &Bytes) -> Option<(u64, &mut Offered)> {
        let id = packet::number(packet)?;
        let entry = self.entries.get_mut(usize::try_from(id).ok()?)?;
        Some((id, entry))
    }

    /// Counts all, and checks that every packet arrived that had to.
    ///
    /// # Errors
    /// Where one did not.
    pub fn close(&self, schedule: &Schedule, tally: &mut Tally) -> Result<(), Violation> {
        tally.longest_outage = self.longest_outage;
        tally.slowest_seed = schedule.seed.0;
        let mut missing = None;
        for entry in &self.entries {
            let is_promised =
                entry.is_genuine && schedule.promises(entry.make.from, entry.at, entry.make.len);
            tally.offered += 1;
            tally.promised += u64::from(is_promised);
            tally.delivered += u64::from(entry.delivered);
            if !entry.delivered && !entry.refused {
                let recovery = entry.at.since(schedule.calm_from);
                tally.slowest_recovery = tally.slowest_recovery.max(recovery);
            }
            if is_promised && !entry.delivered {
                missing.get_or_insert(Violation::Missing {
                    end: entry.make.from.other(),
                    id: entry.make.id,
                    len: entry.make.len,
                    sent: entry.at,
                    settled: schedule.settled_after(),
                });
            }
        }
        missing.map_or(Ok(()), Err)
    }
}
