//! A node as the drive loop sees it.

use std::io;

use polypath_core::frame::PathId;
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::{Input, Tunnel};
use serde_json::Value;

use super::driver::CatchUpDriver;
use super::io::NodeIo;
use super::management::{COMMANDS, Management};
use super::next_second;
use crate::clock::Clock;
use crate::control::commands::Command;
use crate::drive::{BUDGET, EventHandler, Token, Watcher};
use crate::stats::{self, PathStats, RelayStats, Stats, StatsWriter};

/// The TUN device; the paths have their numbers.
pub(super) const TUN: Token = Token(u32::MAX);

/// How long a peer may be silent until the log says so: four tries of a handshake.
const PATIENCE: Duration = Duration::from_secs(4);

/// A tunnel and its descriptors.
pub(super) struct NodeEventHandler {
    tunnel: CatchUpDriver<Tunnel>,
    io: NodeIo,
    stats: Option<StatsWriter<Stats>>,
    clock: Clock,
    /// When the next second is over, and files are written, if there are any.
    report_at: Time,
    /// When the log is to say from which paths nothing came.
    silence_at: Option<Time>,
    pub(super) management: Management,
}

impl NodeEventHandler {
    /// A handler that begins now.
    pub(super) fn new(
        tunnel: Tunnel,
        io: NodeIo,
        stats: Option<StatsWriter<Stats>>,
        watcher: Watcher,
        clock: Clock,
    ) -> Self {
        let now = clock.now();
        // As many as the kernel joins in one call, and some 0.1 ms of work.
        let turn = if io.tun.has_offload() { 64 } else { BUDGET };
        Self {
            tunnel: CatchUpDriver::new(tunnel, now, turn),
            io,
            stats,
            clock,
            report_at: now,
            silence_at: Some(now + PATIENCE),
            management: Management::new(watcher, now),
        }
    }

    pub(super) fn tun_name(&self) -> &str {
        self.io.tun.tun().name()
    }

    /// Writes the files for the last time.
    pub(super) fn finish(&mut self, now: Time, drive: Value) -> io::Result<Stats> {
        let stats = Stats {
            drive: Some(drive),
            ..self.count(now)
        };
        let finished = self.io.finish();
        if let Some(writer) = &mut self.stats {
            writer.finish(stats.clone());
        }
        finished.map(|()| stats)
    }

    fn count(&self, now: Time) -> Stats {
        let tunnel = self.tunnel.machine();
        let age = tunnel
            .established_at()
            .map(|at| now.since(at).as_secs_f64());
        let stats = Stats {
            version: stats::VERSION,
            at: now,
            software: env!("CARGO_PKG_VERSION").to_owned(),
            tun_name: self.tun_name().to_owned(),
            established: tunnel.is_established(),
            tun: self.io.tun.stats(),
            paths: self.count_paths(now),
            peer_paths: tunnel.peer_paths(),
            dropped: self.io.dropped.clone(),
            session: stats::session(tunnel.counters(), age),
            ..Stats::default()
        };
        self.management.complete(stats, tunnel)
    }

    fn count_paths(&self, now: Time) -> Vec<PathStats> {
        let tunnel = self.tunnel.machine();
        let paths = self.io.paths.stats(now, |path| tunnel.health(path));
        let with_relay = |(id, stats): (PathId, PathStats)| PathStats {
            relay: tunnel.relay(id).map(RelayStats::from),
            ..self.io.paths.with_size(id, tunnel.path_mtu(id), stats)
        };
        (0..).map(PathId).zip(paths).map(with_relay).collect()
    }

    /// Writes the files.
    fn report(&mut self, now: Time) {
        if let Some(events) = &mut self.io.events {
            events.flush();
        }
        let tunnel = self.tunnel.machine();
        self.io
            .paths
            .guard(|path| tunnel.local_indices(path).collect());
        self.management
            .end_second(now, &self.io, self.tunnel.machine());
        if let Some(writer) = &self.stats {
            writer.take(self.count(now));
        }
    }

    /// Takes the datagrams that came by `now`, and does what follows from them; how many there were, and until when all is
    /// taken.
    fn catch_up(&mut self, now: Time) -> io::Result<(usize, Time)> {
        self.tunnel.tell_late(now, &mut self.io)?;
        let caught_up = self.tunnel.catch_up(now, &mut self.io)?;
        for room in self.io.paths.moved() {
            self.tunnel.take_input(caught_up.1, room, &mut self.io)?;
        }
        let tunnel = self.tunnel.machine();
        let paths = &mut self.io.paths;
        paths.guard_anew(|path| tunnel.local_indices(path).collect());
        Ok(caught_up)
    }

    /// Executes at most `budget` commands of the control thread at `at`.
    fn handle_commands(&mut self, now: Time, at: Time, budget: usize) -> io::Result<()> {
        for _ in 0..budget {
            match self.management.next_command() {
                // The client may have disconnected.
                Some(Command::Count(answer)) => _ = answer.try_send(self.count(now)),
                // The sender has withdrawn the change.
                Some(Command::Change(command)) if !command.decided.set() => {}
                Some(Command::Change(command)) => {
                    let (tunnel, io) = (&mut self.tunnel, &mut self.io);
                    let outcome = self.management.change(*command.change, at, tunnel, io)?;
                    _ = command.answer.try_send(outcome);
                }
                Some(Command::ReloadRefused(_)) | None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Has it found out from now on how long a packet each path carries whole, or not.
    pub(super) fn find_sizes(&mut self, now: Time, is_wanted: bool) -> io::Result<()> {
        for room in self.io.paths.find_sizes(is_wanted) {
            self.tunnel.take_input(now, room, &mut self.io)?;
        }
        Ok(())
    }

    /// Tells the tunnel how the wall clock is set: a machine without a clock of its own may learn the time after the start.
    fn tell_wall_clock(&mut self, at: Time) -> io::Result<()> {
        let input = Input::WallClock(self.clock.wall_at_zero());
        self.tunnel.take_input(at, input, &mut self.io)
    }

    /// Takes packets of applications at `at`, about `budget` at most, and says how many.
    fn take_packets(&mut self, at: Time, budget: usize) -> io::Result<usize> {
        let mut taken = 0;
        // What was sent in one go is taken in one, since nothing tells of the rest.
        while taken < budget || self.io.has_packets() {
            let Some(packet) = self.io.next_packet()? else {
                break;
            };
            self.tunnel
                .take_input(at, Input::Packet(packet), &mut self.io)?;
            taken += 1;
        }
        Ok(taken)
    }
}

impl EventHandler for NodeEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let report = Deadline {
            at: self.report_at,
            why: "statistics",
        };
        let alive = self.management.supervision.deadline();
        let silence = self.silence_at.map(|at| Deadline {
            at,
            why: "no answer yet",
        });
        let own = Deadline::earlier(Deadline::earlier(Some(report), alive), silence);
        Deadline::earlier(self.tunnel.deadline(), own)
    }

    fn has_backlog(&self) -> bool {
        self.tunnel.has_backlog()
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        let (_, until) = self.catch_up(now)?;
        if self.report_at <= now {
            self.tell_wall_clock(until)?;
        }
        self.io.flush()?;
        self.management.supervision.notify_alive(now);
        if self.report_at <= now {
            self.report_at = next_second(now);
            self.report(now);
        }
        if self.silence_at.take_if(|at| *at <= now).is_some() {
            self.io.paths.log_silence();
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        let (datagrams, until) = self.catch_up(now)?;
        if token == COMMANDS {
            self.handle_commands(now, until, budget)?;
        }
        // Where datagrams are left, a packet counts as read before they came.
        let packets = match token {
            TUN => self.take_packets(until, budget)?,
            _ => 0,
        };
        self.io.flush()?;
        Ok(datagrams + packets)
    }
}
