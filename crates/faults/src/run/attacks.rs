//! What strangers do.

use super::Run;
use super::relays::RelaySite;
use crate::parcel::{Address, Host, Truth};
use crate::schedule::{Attack, Ruse};
use crate::trace::Entry;
use crate::violation::Violation;

impl Run<'_> {
    pub(super) fn attack(&mut self) -> Result<(), Violation> {
        while let Some(attack) = self.schedule.attacks.get(self.plan.attacks)
            && attack.at <= self.now
        {
            self.plan.attacks += 1;
            self.strike(attack)?;
        }
        Ok(())
    }

    fn strike(&mut self, attack: &Attack) -> Result<(), Violation> {
        let (ruse, bytes) = self.stranger.forge(attack, self.schedule);
        let truth = if ruse == Ruse::OldHandshake {
            Truth::Old
        } else {
            Truth::Forged
        };
        *self.tally.ruses.entry(ruse).or_default() += 1;
        let path = attack.path;
        let node = self.site(attack.target).address(path);
        let by_relay = self.schedule.paths[path.index()].by_relay;
        let (to, peer) = if attack.at_relay {
            (RelaySite::address(path), node)
        } else if by_relay {
            (node, RelaySite::address(path))
        } else {
            (node, self.site(attack.target.other()).address(path))
        };
        let stranger = Address {
            host: Host::Stranger,
            path,
            number: 0,
        };
        let source = if attack.is_spoofed { peer } else { stranger };
        let parcel = self.parcel(source, to, truth, bytes);
        self.trace.note(self.now, &Entry::Sent(&parcel));
        self.take(&parcel)
    }
}
