//! The attacks of a run.

use std::iter::repeat_n;

use polypath_core::time::Duration;
use polypath_session::datagram::INITIATION;
use polypath_session::event::Reject;

use super::Run;
use super::relay_slot::RelaySlot;
use crate::datagram::{Address, Host, Provenance, TestDatagram};
use crate::schedule::{Attack, AttackKind, ReactionKind};
use crate::trace::TraceEvent;
use crate::violation::Violation;

/// The time after which an attacker reacts to an initiation: before any peer receives it.
const REACTION_TIME: Duration = Duration::from_micros(100);
/// The initiations of a reaction that exhausts the rate limits: more than the bursts of those of a
/// known address and of all on a path.
const EXHAUSTING: usize = 60;
/// The copies of an initiation that arrive before it: more than the burst of any budget.
const OUTRUNNING: usize = 30;

impl Run<'_> {
    pub(super) fn attack(&mut self) -> Result<(), Violation> {
        let now = self.now;
        while let Some(attack) = self.progress.reactions.pop_front_if(|next| next.at <= now) {
            self.progress.rejected = None;
            self.send_attack(&attack)?;
            let is_exhausted = self.progress.rejected == Some(Reject::CookieRequired.name());
            self.coverage.cookies_required += u64::from(is_exhausted);
        }
        while let Some(attack) = self.schedule.attacks.get(self.progress.attacks)
            && attack.at <= self.now
        {
            self.progress.attacks += 1;
            self.send_attack(attack)?;
        }
        Ok(())
    }

    /// Schedules the reactions of attackers to a datagram that a host sends.
    pub(super) fn react(&mut self, datagram: &TestDatagram) {
        let Host::Node(end) = datagram.source.host else {
            return;
        };
        if datagram.bytes.first() != Some(&INITIATION) {
            return;
        }
        let (now, schedule) = (self.now, self.schedule);
        let reactions = schedule.reactions.iter();
        for reaction in reactions.filter(|of| of.to == end && of.span.contains(now)) {
            *self.coverage.reactions.entry(reaction.kind).or_default() += 1;
            let at_relay = datagram.to.host == Host::Relay;
            let attack = Attack {
                at: now + REACTION_TIME,
                target: end,
                at_relay: false,
                path: datagram.to.path,
                kind: AttackKind::OldHandshake,
                is_spoofed: true,
            };
            let at_receiver = |kind, is_spoofed| Attack {
                target: if at_relay { end } else { end.other() },
                at_relay,
                kind,
                is_spoofed,
                ..attack
            };
            let reactions = &mut self.progress.reactions;
            match reaction.kind {
                ReactionKind::Replay => reactions.push_back(attack),
                ReactionKind::Exhaust => {
                    let attack = at_receiver(AttackKind::WrongKey, true);
                    reactions.extend(repeat_n(attack, EXHAUSTING));
                }
                // What is left of the budgets when the original arrives is what a stranger cannot
                // use up.
                ReactionKind::Outrun => {
                    let copy = at_receiver(AttackKind::NewestInitiation, false);
                    let other = at_receiver(AttackKind::WrongKey, true);
                    reactions.extend(repeat_n(copy, OUTRUNNING));
                    reactions.extend(repeat_n(other, EXHAUSTING));
                }
            }
        }
    }

    fn send_attack(&mut self, attack: &Attack) -> Result<(), Violation> {
        let (kind, bytes) = self.attacker.forge(attack, self.schedule);
        let is_known = !attack.at_relay && self.slot(attack.target).recognises_replays;
        let provenance = match kind {
            AttackKind::NewestInitiation => Provenance::UnknownCopy,
            AttackKind::OldHandshake if !is_known => Provenance::UnknownCopy,
            _ => Provenance::Forged,
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
