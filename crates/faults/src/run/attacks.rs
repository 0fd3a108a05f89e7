//! The attacks of a run.

use super::Run;
use super::relay_slot::RelaySlot;
use crate::datagram::{Address, Host, Provenance};
use crate::schedule::{Attack, AttackKind};
use crate::trace::TraceEvent;
use crate::violation::Violation;

impl Run<'_> {
    pub(super) fn attack(&mut self) -> Result<(), Violation> {
        while let Some(attack) = self.schedule.attacks.get(self.progress.attacks)
            && attack.at <= self.now
        {
            self.progress.attacks += 1;
            self.send_attack(attack)?;
        }
        Ok(())
    }

    fn send_attack(&mut self, attack: &Attack) -> Result<(), Violation> {
        let (kind, bytes) = self.attacker.forge(attack, self.schedule);
        let provenance = if kind == AttackKind::OldHandshake {
            Provenance::PreviousInstance
        } else {
            Provenance::Forged
        };
        *self.coverage.attacks.entry(kind).or_default() += 1;
        let path = attack.path;
        let node = self.slot(attack.target).address(path);
        let is_relayed = self.schedule.paths[path.index()].is_relayed;
        let (to, peer) = if attack.at_relay {
            (RelaySlot::address(path), node)
        } else if is_relayed {
            (node, RelaySlot::address(path))
        } else {
            (node, self.slot(attack.target.other()).address(path))
        };
        let attacker = Address {
            host: Host::Attacker,
            path,
            number: 0,
        };
        let source = if attack.is_spoofed { peer } else { attacker };
        let datagram = self.new_datagram(source, to, provenance, bytes);
        self.trace.record(self.now, &TraceEvent::Sent(&datagram));
        self.deliver_datagram(&datagram)
    }
}
