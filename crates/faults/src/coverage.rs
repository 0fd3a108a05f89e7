//! Counts of what schedules exercise.

use std::collections::BTreeMap;
use std::fmt;

use polypath_core::event::{DropReason, Event};
use polypath_core::frame::FrameKind;
use polypath_core::time::Duration;
use polypath_session::address::Source;
use polypath_session::event::{Counters, Reject};
use polypath_session::relay::{Relay, Side, Undelivered};

use crate::schedule::{AttackKind, ReactionKind};

/// Counts that are summed over schedules.
pub trait Total: Default {
    /// Adds those of other schedules.
    fn add(&mut self, other: &Self);
}

/// Sums over one or more schedules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Schedules.
    pub schedules: u64,
    /// Packets that applications sent.
    pub sent: u64,
    /// Packets that had to arrive.
    pub required: u64,
    /// Packets delivered to applications.
    pub delivered: u64,
    /// Datagrams sent by nodes and relays.
    pub datagrams: u64,
    /// Datagrams lost in an outage of a direction of a path.
    pub outage_losses: u64,
    /// Datagrams lost individually.
    pub losses: u64,
    /// Datagrams corrupted.
    pub corruptions: u64,
    /// Datagrams duplicated.
    pub duplications: u64,
    /// Datagrams reordered.
    pub reorderings: u64,
    /// Datagrams that the network marked as having met congestion.
    pub marks: u64,
    /// ECN-capable datagrams whose codepoint it changed to another one than CE.
    pub rewrites: u64,
    /// Packets delivered with a mark.
    pub marked: u64,
    /// Datagrams dropped by full queues of the network.
    pub overflows: u64,
    /// Datagrams to addresses at which no host runs.
    pub unreachable: u64,
    /// Restarts of nodes.
    pub restarts: u64,
    /// Restarts with a clock behind the latest timestamp sent.
    pub clocks_behind: u64,
    /// Restarts as an impostor with another key.
    pub impostors: u64,
    /// Address changes of nodes.
    pub moves: u64,
    /// Learned changes of a peer's address.
    pub learned: u64,
    /// Datagrams of attackers by kind.
    pub attacks: BTreeMap<AttackKind, u64>,
    /// Initiations to which attackers reacted, by the reaction.
    pub reactions: BTreeMap<ReactionKind, u64>,
    /// Datagrams of these reactions that were refused for lack of a budget.
    pub cookies_required: u64,
    /// Starts with a kept timestamp of the peer.
    pub kept_timestamps: u64,
    /// Completed handshakes between nodes, counted at both.
    pub handshakes: u64,
    /// Rejected datagrams by reason.
    pub rejected: BTreeMap<Reject, u64>,
    /// Restarts of relays.
    pub relay_restarts: u64,
    /// Datagrams forwarded by relays.
    pub forwarded: u64,
    /// Datagrams not forwarded by relays, by reason.
    pub not_forwarded: BTreeMap<Undelivered, u64>,
    /// Completed handshakes between relays and nodes, counted at both.
    pub relay_handshakes: u64,
    /// Datagrams rejected in sessions with relays, by reason.
    pub rejected_by_relays: BTreeMap<Reject, u64>,
    /// Counts of path liveness, MTU discovery and driver events.
    pub paths: PathCoverage,
    /// The most items buffered by a node.
    pub max_buffered: usize,
    /// The longest time from the start of the calm to the last packet that was neither delivered
    /// nor refused as too big.
    pub slowest_recovery: Duration,
    /// The seed of that schedule.
    pub slowest_seed: u64,
    /// The longest time without a delivery at a node.
    pub longest_outage: Duration,
}

/// Counts of path liveness, MTU discovery and driver events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathCoverage {
    /// Paths that became silent.
    pub silenced: u64,
    /// Silent paths that recovered.
    pub recovered: u64,
    /// Datagrams lost because they exceed the MTU of their path.
    pub above_mtu: u64,
    /// Packets refused because they exceed the discovered MTU.
    pub refused: u64,
    /// Paths with an MTU below that of their interfaces, discovered by the end of the run.
    pub reduced_mtus: u64,
    /// Paths that were closed because their quota was used up, by either node.
    pub closed: u64,
    /// Closed paths that opened again, at either node.
    pub opened: u64,
    /// Quotas that were renewed.
    pub renewals: u64,
    /// Wakes of a node while a path was ahead of its ceiling.
    pub ahead: u64,
    /// Packets that a node marked since copies showed congestion.
    pub congestion_marks: u64,
    /// Packets that a node dropped for the same reason.
    pub congestion_drops: u64,
    /// Fragments of packets that arrived.
    pub fragments: u64,
    /// Feedback that a node applied to the spacing of its packets.
    pub spacing_feedback: u64,
    /// Reloads of a node's configuration.
    pub reloads: u64,
    /// Driver stalls.
    pub stalls: u64,
}

impl PathCoverage {
    /// Counts an event of an endpoint.
    pub fn count_event(&mut self, event: &Event) {
        match event {
            Event::PathSilent { .. } => self.silenced += 1,
            Event::PathClosed { .. } => self.closed += 1,
            Event::PathOpened { .. } => self.opened += 1,
            Event::PathBack { .. } => self.recovered += 1,
            Event::CongestionMarked { .. } => self.congestion_marks += 1,
            Event::SpacingFeedback { .. } => self.spacing_feedback += 1,
            Event::FrameIn {
                kind: FrameKind::Fragment,
                ..
            } => self.fragments += 1,
            Event::Dropped { reason, .. } => match reason {
                DropReason::TooLong => self.refused += 1,
                DropReason::Congestion => self.congestion_drops += 1,
                _ => {}
            },
            _ => {}
        }
    }

    /// All counters.
    pub fn counts(&mut self) -> [&mut u64; 15] {
        [
            &mut self.silenced,
            &mut self.recovered,
            &mut self.above_mtu,
            &mut self.refused,
            &mut self.reduced_mtus,
            &mut self.closed,
            &mut self.opened,
            &mut self.renewals,
            &mut self.ahead,
            &mut self.congestion_marks,
            &mut self.congestion_drops,
            &mut self.fragments,
            &mut self.spacing_feedback,
            &mut self.reloads,
            &mut self.stalls,
        ]
    }
}

impl Total for Coverage {
    /// Maxima remain maxima.
    fn add(&mut self, other: &Coverage) {
        let mut theirs = other.clone();
        for (mine, theirs) in self.sums().into_iter().zip(theirs.sums()) {
            *mine += *theirs;
        }
        let counts = self.paths.counts().into_iter();
        for (mine, theirs) in counts.zip(theirs.paths.counts()) {
            *mine += *theirs;
        }
        add_counts(&mut self.attacks, &other.attacks);
        add_counts(&mut self.reactions, &other.reactions);
        self.cookies_required += other.cookies_required;
        add_counts(&mut self.rejected, &other.rejected);
        add_counts(&mut self.not_forwarded, &other.not_forwarded);
        add_counts(&mut self.rejected_by_relays, &other.rejected_by_relays);
        self.max_buffered = self.max_buffered.max(other.max_buffered);
        self.longest_outage = self.longest_outage.max(other.longest_outage);
        if other.slowest_recovery > self.slowest_recovery {
            self.slowest_recovery = other.slowest_recovery;
            self.slowest_seed = other.slowest_seed;
        }
    }
}

impl Coverage {
    /// Adds the counters of a session with the peer.
    pub fn add_session(&mut self, counters: &Counters) {
        self.handshakes += counters.established;
        for &reason in Reject::ALL {
            count(&mut self.rejected, reason, counters.rejected(reason));
        }
    }

    /// Adds the counters of a session with a relay.
    pub fn add_relay_session(&mut self, counters: &Counters) {
        self.relay_handshakes += counters.established;
        for &reason in Reject::ALL {
            count(
                &mut self.rejected_by_relays,
                reason,
                counters.rejected(reason),
            );
        }
    }

    /// Adds the counters of a relay.
    pub fn add_relay<A: Copy + PartialEq + Into<Source>>(&mut self, relay: &Relay<A>) {
        for side in Side::ALL {
            self.add_relay_session(relay.counters(side));
            self.forwarded += relay.traffic(side).forwarded;
            for reason in Undelivered::ALL {
                let dropped = relay.traffic(side).undelivered(reason);
                count(&mut self.not_forwarded, reason, dropped);
            }
        }
        for &reason in Reject::ALL {
            count(&mut self.rejected_by_relays, reason, relay.rejected(reason));
        }
    }

    fn sums(&mut self) -> [&mut u64; 25] {
        [
            &mut self.schedules,
            &mut self.sent,
            &mut self.required,
            &mut self.delivered,
            &mut self.datagrams,
            &mut self.outage_losses,
            &mut self.losses,
            &mut self.corruptions,
            &mut self.duplications,
            &mut self.reorderings,
            &mut self.marks,
            &mut self.marked,
            &mut self.rewrites,
            &mut self.overflows,
            &mut self.unreachable,
            &mut self.restarts,
            &mut self.clocks_behind,
            &mut self.impostors,
            &mut self.moves,
            &mut self.learned,
            &mut self.kept_timestamps,
            &mut self.handshakes,
            &mut self.relay_restarts,
            &mut self.forwarded,
            &mut self.relay_handshakes,
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

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coverage {
            schedules,
            sent,
            required,
            delivered,
            datagrams,
            ..
        } = self;
        writeln!(
            f,
            "{schedules} schedules: {sent} packets sent, {delivered} delivered, including all {required} required \
             ones; {datagrams} datagrams"
        )?;
        writeln!(
            f,
            "network: {} lost in outages, {} lost, {} corrupted, {} duplicated, {} reordered, {} marked \
             ({} packets), {} with another ECN codepoint, {} unreachable",
            self.outage_losses,
            self.losses,
            self.corruptions,
            self.duplications,
            self.reorderings,
            self.marks,
            self.marked,
            self.rewrites,
            self.unreachable
        )?;
        writeln!(
            f,
            "nodes: {} restarts ({} with the clock behind, {} as an impostor, {} with a kept timestamp), \
             {} moves ({} learned), {} handshakes",
            self.restarts,
            self.clocks_behind,
            self.impostors,
            self.kept_timestamps,
            self.moves,
            self.learned,
            self.handshakes
        )?;
        let paths = &self.paths;
        writeln!(
            f,
            "paths: {} became silent ({} recovered), {} datagrams above the MTU, \
             {} packets refused, {} reduced MTUs discovered; {} closed, {} opened \
             ({} quotas renewed), {} wakes while ahead of a ceiling; {} packets marked and \
             {} dropped as copies showed congestion; {} fragments; {} times feedback \
             on spaced packets; {} reloads, {} stalls",
            paths.silenced,
            paths.recovered,
            paths.above_mtu,
            paths.refused,
            paths.reduced_mtus,
            paths.closed,
            paths.opened,
            paths.renewals,
            paths.ahead,
            paths.congestion_marks,
            paths.congestion_drops,
            paths.fragments,
            paths.spacing_feedback,
            paths.reloads,
            paths.stalls
        )?;
        let attacks = self.attacks.iter().map(|(kind, n)| format!("{kind:?} {n}"));
        let reactions = self.reactions.iter();
        let reactions = reactions.map(|(kind, n)| format!("{kind:?} {n}"));
        writeln!(
            f,
            "attackers: {}; reactions to initiations: {} ({} beyond the budgets)",
            attacks.collect::<Vec<_>>().join(", "),
            reactions.collect::<Vec<_>>().join(", "),
            self.cookies_required
        )?;
        writeln!(
            f,
            "rejected: {}",
            list(&self.rejected, |reason| reason.name())
        )?;
        writeln!(
            f,
            "relays: {} restarts, {} handshakes, {} forwarded, dropped: {}; rejected: {}",
            self.relay_restarts,
            self.relay_handshakes,
            self.forwarded,
            list(&self.not_forwarded, |reason| reason.name()),
            list(&self.rejected_by_relays, |reason| reason.name())
        )?;
        write!(
            f,
            "slowest recovery {:.1} s (seed {}), longest outage {:.1} s, at most {} buffered",
            self.slowest_recovery.as_secs_f64(),
            self.slowest_seed,
            self.longest_outage.as_secs_f64(),
            self.max_buffered
        )
    }
}
