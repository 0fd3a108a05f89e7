//! What schedules exercised, in numbers.

use std::collections::BTreeMap;
use std::fmt;

use polypath_core::event::{DropReason, Event};
use polypath_core::time::Duration;
use polypath_session::event::{Counters, Reject};
use polypath_session::relay::{Relay, Side, Undelivered};

use crate::schedule::Ruse;

/// Sums over one schedule, or over many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Schedules.
    pub schedules: u64,
    /// Packets that applications offered.
    pub offered: u64,
    /// Those that had to arrive.
    pub promised: u64,
    /// Packets that applications got.
    pub delivered: u64,
    /// Datagrams that nodes sent.
    pub datagrams: u64,
    /// Datagrams that were lost while a direction of a path was down.
    pub downs: u64,
    /// Datagrams that were lost for themselves.
    pub losses: u64,
    /// Datagrams that were changed.
    pub corruptions: u64,
    /// Datagrams that came more than once.
    pub duplications: u64,
    /// Datagrams that were held back.
    pub reorderings: u64,
    /// Datagrams that found a queue of the network full.
    pub overflows: u64,
    /// Datagrams that went to where nobody is any more, or not yet.
    pub unreached: u64,
    /// Starts of a node, the first of each aside.
    pub restarts: u64,
    /// Of them with a clock that was set back beyond what had been shown.
    pub clocks_behind: u64,
    /// Of them by somebody with another key.
    pub impostors: u64,
    /// Changes of a node's address.
    pub moves: u64,
    /// Times that a node followed its peer to another address.
    pub followed: u64,
    /// What strangers sent, by ruse.
    pub ruses: BTreeMap<Ruse, u64>,
    /// Handshakes that ended in keys in use, at both ends.
    pub handshakes: u64,
    /// Rejected datagrams by reason.
    pub rejected: BTreeMap<Reject, u64>,
    /// Starts of a relay, the first of each aside.
    pub relay_restarts: u64,
    /// Datagrams that relays sent on.
    pub relayed: u64,
    /// Those that they did not, by reason.
    pub undelivered: BTreeMap<Undelivered, u64>,
    /// Handshakes between relays and nodes that ended in keys in use, at both ends.
    pub joins: u64,
    /// Datagrams rejected at relays, and of relays, by reason.
    pub rejected_by_relays: BTreeMap<Reject, u64>,
    /// What became of the watch over paths.
    pub watch: Watch,
    /// The most that a node held at once.
    pub most_held: usize,
    /// The longest time from the beginning of the calm to the sending of the last packet that neither arrived nor was
    /// refused to its sender as too long.
    pub slowest_recovery: Duration,
    /// The seed of that.
    pub slowest_seed: u64,
    /// The longest time in which a node whose peer sent got nothing.
    pub longest_outage: Duration,
}

/// What became of the watch over paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Paths that fell silent.
    pub silences: u64,
    /// Paths that were used again after that.
    pub returns: u64,
    /// Datagrams that were longer than what crosses.
    pub too_long: u64,
    /// Packets that a node refused because they were longer than what it had found to cross.
    pub refused: u64,
    /// Paths narrower than their interfaces whose size was found at the end.
    pub narrow: u64,
    /// Times that a node read its file again.
    pub reloads: u64,
    /// Times that a node caught up.
    pub stalls: u64,
}

impl Watch {
    /// Counts what an endpoint said.
    pub fn note(&mut self, event: &Event) {
        let reason = DropReason::TooLong;
        match event {
            Event::PathSilent { .. } => self.silences += 1,
            Event::PathBack { .. } => self.returns += 1,
            Event::Dropped { reason: why, .. } if *why == reason => self.refused += 1,
            _ => {}
        }
    }

    /// All counts.
    pub fn counts(&mut self) -> [&mut u64; 7] {
        [
            &mut self.silences,
            &mut self.returns,
            &mut self.too_long,
            &mut self.refused,
            &mut self.narrow,
            &mut self.reloads,
            &mut self.stalls,
        ]
    }
}

impl Tally {
    /// Adds what a session counted in one run of a node.
    pub fn add_session(&mut self, counters: &Counters) {
        self.handshakes += counters.established;
        for &reason in Reject::ALL {
            count(&mut self.rejected, reason, counters.rejected(reason));
        }
    }

    /// Adds what a session between a node and a relay counted.
    pub fn add_relay_session(&mut self, counters: &Counters) {
        self.joins += counters.established;
        for &reason in Reject::ALL {
            count(
                &mut self.rejected_by_relays,
                reason,
                counters.rejected(reason),
            );
        }
    }

    /// Adds what a relay counted in one run of it.
    pub fn add_relay<A: Copy + PartialEq>(&mut self, relay: &Relay<A>) {
        for side in Side::ALL {
            self.add_relay_session(relay.counters(side));
            self.relayed += relay.traffic(side).forwarded;
            for reason in Undelivered::ALL {
                let dropped = relay.traffic(side).undelivered(reason);
                count(&mut self.undelivered, reason, dropped);
            }
        }
        for &reason in Reject::ALL {
            count(&mut self.rejected_by_relays, reason, relay.rejected(reason));
        }
    }

    /// Adds the sums of other schedules; the longest and the most stay so.
    pub fn add(&mut self, other: &Tally) {
        let mut theirs = other.clone();
        for (mine, theirs) in self.sums().into_iter().zip(theirs.sums()) {
            *mine += *theirs;
        }
        let counts = self.watch.counts().into_iter();
        for (mine, theirs) in counts.zip(theirs.watch.counts()) {
            *mine += *theirs;
        }
        add_counts(&mut self.ruses, &other.ruses);
        add_counts(&mut self.rejected, &other.rejected);
        add_counts(&mut self.undelivered, &other.undelivered);
        add_counts(&mut self.rejected_by_relays, &other.rejected_by_relays);
        self.most_held = self.most_held.max(other.most_held);
        self.longest_outage = self.longest_outage.max(other.longest_outage);
        if other.slowest_recovery > self.slowest_recovery {
            self.slowest_recovery = other.slowest_recovery;
            self.slowest_seed = other.slowest_seed;
        }
    }

    fn sums(&mut self) -> [&mut u64; 21] {
        [
            &mut self.schedules,
            &mut self.offered,
            &mut self.promised,
            &mut self.delivered,
            &mut self.datagrams,
            &mut self.downs,
            &mut self.losses,
            &mut self.corruptions,
            &mut self.duplications,
            &mut self.reorderings,
            &mut self.overflows,
            &mut self.unreached,
            &mut self.restarts,
            &mut self.clocks_behind,
            &mut self.impostors,
            &mut self.moves,
            &mut self.followed,
            &mut self.handshakes,
            &mut self.relay_restarts,
            &mut self.relayed,
            &mut self.joins,
        ]
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, what: K, times: u64) {
    if times > 0 {
        *counts.entry(what).or_default() += times;
    }
}

fn add_counts<K: Ord + Copy>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (what, times) in others {
        count(counts, *what, *times);
    }
}

fn list<K>(counts: &BTreeMap<K, u64>, name: impl Fn(&K) -> &'static str) -> String {
    let counts = counts
        .iter()
        .map(|(what, times)| format!("{} {times}", name(what)));
    counts.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            schedules,
            offered,
            promised,
            delivered,
            datagrams,
            ..
        } = self;
        writeln!(
            f,
            "{schedules} schedules: {offered} packets offered, {delivered} delivered, of {promised} that had to \
             arrive all; {datagrams} datagrams"
        )?;
        writeln!(
            f,
            "network: {} lost while down, {} lost, {} changed, {} copied, {} held back, {} to nobody",
            self.downs,
            self.losses,
            self.corruptions,
            self.duplications,
            self.reorderings,
            self.unreached
        )?;
        writeln!(
            f,
            "nodes: {} restarts ({} with the clock set back too far, {} with another key), {} moves \
             ({} followed), {} handshakes",
            self.restarts,
            self.clocks_behind,
            self.impostors,
            self.moves,
            self.followed,
            self.handshakes
        )?;
        let watch = &self.watch;
        writeln!(
            f,
            "watch: {} silences ({} returns), {} datagrams too long, {} packets refused, {} narrow paths measured; \
             {} reloads, {} stalls",
            watch.silences,
            watch.returns,
            watch.too_long,
            watch.refused,
            watch.narrow,
            watch.reloads,
            watch.stalls
        )?;
        let ruses = self.ruses.iter().map(|(ruse, n)| format!("{ruse:?} {n}"));
        writeln!(f, "strangers: {}", ruses.collect::<Vec<_>>().join(", "))?;
        writeln!(
            f,
            "rejected: {}",
            list(&self.rejected, |reason| reason.name())
        )?;
        writeln!(
            f,
            "relays: {} restarts, {} joins, {} sent on, not {}; rejected: {}",
            self.relay_restarts,
            self.joins,
            self.relayed,
            list(&self.undelivered, |reason| reason.name()),
            list(&self.rejected_by_relays, |reason| reason.name())
        )?;
        write!(
            f,
            "slowest recovery {:.1} s (seed {}), longest outage {:.1} s, at most {} held",
            self.slowest_recovery.as_secs_f64(),
            self.slowest_seed,
            self.longest_outage.as_secs_f64(),
            self.most_held
        )
    }
}
