//! A node as the drive loop sees it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use polypath_core::machine::Deadline;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::{Input, Tunnel};
use serde_json::Value;

use super::driver::{CatchUpDriver, Progress};
use super::error::NodeError;
use super::io::NodeIo;
use super::management::{COMMANDS, Management};
use super::paths::LocalIndices;
use super::quotas::{Moment, Quotas};
use super::setup;
use super::state_file::{SavedState, StateFile};
use super::statistics::{Statistics, status_line};
use crate::clock::{Clock, next_second};
use crate::control::change::Change;
use crate::control::commands::Command;
use crate::drive::{BUDGET, EventHandler, Token, Watcher};
use crate::snapshot::SnapshotWriter;
use crate::stats::Stats;

/// The token of the descriptors of the applications; the token of a path is its number.
pub(super) const APPLICATION: Token = Token(u32::MAX);

/// Time after the start at which paths without an answer are logged: four attempts of a handshake.
const PATIENCE: Duration = Duration::from_secs(4);

/// The datagrams of one turn with offload: as many as the kernel merges in one call, about 0.1 ms
/// of work.
const TURN_WITH_OFFLOAD: usize = 64;

/// The files that the end of a second writes, and the one with the configuration.
#[derive(Debug, Default)]
pub(super) struct OutputFiles {
    pub(super) stats: Option<SnapshotWriter<Stats>>,
    pub(super) state_file: Option<StateFile>,
    pub(super) config: Option<PathBuf>,
}

/// A tunnel and its descriptors.
pub(super) struct NodeEventHandler {
    driver: CatchUpDriver<Tunnel>,
    io: NodeIo,
    statistics: Statistics,
    files: OutputFiles,
    quotas: Quotas,
    clock: Clock,
    /// The start of the next second, when statistics are written and floods are counted.
    second_at: Time,
    /// The time at which paths without an answer are logged.
    silence_at: Option<Time>,
    pub(super) management: Management,
}

impl NodeEventHandler {
    /// A handler that starts now.
    pub(super) fn new(
        tunnel: Tunnel,
        io: NodeIo,
        files: OutputFiles,
        quotas: Quotas,
        watcher: Watcher,
        clock: Clock,
    ) -> Self {
        let now = clock.now();
        let turn = if io.application.has_offload() {
            TURN_WITH_OFFLOAD
        } else {
            BUDGET
        };
        Self {
            driver: CatchUpDriver::new(tunnel, now, turn),
            io,
            statistics: Statistics::new(now),
            files,
            quotas,
            clock,
            second_at: now,
            silence_at: Some(now + PATIENCE),
            management: Management::new(watcher, now),
        }
    }

    /// The name of the node on this machine.
    pub(super) fn name(&self) -> &str {
        self.io.application.name()
    }

    /// Writes the output files for the last time and returns the counters.
    pub(super) fn finish(&mut self, now: Time, drive: Value) -> io::Result<Stats> {
        let flushed = self.io.flush();
        // The count is exact: nothing is carried any more, so the endpoint needs no correction.
        self.count_quotas(now);
        let stats = Stats {
            drive: Some(drive),
            ..self.count(now)
        };
        let finished = flushed.and(self.io.finish());
        if let Some(writer) = &mut self.files.stats {
            writer.finish(stats.clone());
        }
        let last = self.saved_state(true);
        if let Some(file) = &mut self.files.state_file {
            file.finish(last);
        }
        finished.map(|()| stats)
    }

    /// Starts or stops path MTU discovery.
    pub(super) fn set_mtu_discovery(&mut self, now: Time, is_enabled: bool) -> io::Result<()> {
        for input in self.io.paths.set_mtu_discovery(is_enabled) {
            self.driver.handle_input(now, input, &mut self.io)?;
        }
        Ok(())
    }

    /// Sends to the peer at `addresses` of an earlier run, by the name of the path, until it sends
    /// from others; paths with another `remote` do not use them.
    pub(super) fn set_former_addresses(
        &mut self,
        now: Time,
        addresses: &BTreeMap<String, SocketAddr>,
    ) -> io::Result<()> {
        for path in self.io.paths.set_former_addresses(addresses) {
            let input = Input::PeerAddressKnown(path);
            self.driver.handle_input(now, input, &mut self.io)?;
        }
        Ok(())
    }

    /// The state for the next run; `is_last` states that this one carries nothing more.
    fn saved_state(&self, is_last: bool) -> SavedState {
        SavedState {
            timestamp: self.driver.machine().session().peer_timestamp(),
            addresses: self.io.paths.learned_addresses(),
            quotas: self.quotas.saved(is_last),
        }
    }

    fn save_state(&mut self, now: Time) {
        let state = self.saved_state(false);
        if let Some(file) = &mut self.files.state_file {
            file.keep(state, now);
        }
    }

    /// Passes the use of earlier runs to the endpoint before it sends anything: a path whose quota
    /// is used up carries no handshake either.
    pub(super) fn set_former_use(&mut self, now: Time) -> io::Result<()> {
        for input in self.count_quotas(now) {
            self.driver.pass(now, input, &mut self.io)?;
        }
        Ok(())
    }

    /// Counts what the paths with a quota have carried, corrects the endpoint at `at`, and saves the
    /// counts.
    pub(super) fn update_quotas(&mut self, now: Time, at: Time) -> io::Result<()> {
        for input in self.count_quotas(now) {
            self.driver.handle_input(at, input, &mut self.io)?;
        }
        self.save_state(now);
        Ok(())
    }

    /// Counts what the paths with a quota have carried, with what the endpoint has sent and waits in
    /// a batch; returns the corrections of the endpoint.
    fn count_quotas(&mut self, now: Time) -> Vec<Input> {
        let wall_clock = self.wall_clock(now);
        let limit = self.files.state_file.as_mut();
        let limit = limit.and_then(|file| file.limit(now));
        let traffic = self.io.paths.flushed_traffic();
        let moment = Moment { now, wall_clock };
        let endpoint = self.driver.machine().endpoint();
        let usage = |path| endpoint.path_usage(path);
        let inputs = self.quotas.update(moment, traffic, usage, limit);
        let quotas = &self.quotas;
        self.io
            .paths
            .set_unsaved(|path| quotas.shift(path).is_some());
        inputs
    }

    /// Starts to carry packets: the counts are saved ahead of the traffic from now on. The first are
    /// in the file before the first packet, or a node that is killed at once would forget its use; if
    /// they cannot be saved, the path carries what the file covers.
    pub(super) fn start(&mut self) -> io::Result<()> {
        self.quotas.start();
        self.quotas.log_start();
        let now = self.clock.now();
        self.update_quotas(now, now)?;
        let state = self.saved_state(false);
        if let Some(file) = &mut self.files.state_file
            && !state.quotas.is_empty()
        {
            file.keep_now(&state, self.clock);
            let now = self.clock.now();
            self.update_quotas(now, now)?;
        }
        Ok(())
    }

    /// Checks that the use of quotas outlasts the node.
    fn check_quota_state(&self, tariffs: &Tariffs) -> Result<(), NodeError> {
        let (config, state_file) = (&self.files.config, &self.files.state_file);
        setup::check_quota_state(tariffs, config.as_deref(), state_file.as_ref())
    }

    /// Checks the same once the node runs as the user that will write the file.
    pub(super) fn check_quota_state_as_user(&mut self, tariffs: &Tariffs) -> Result<(), NodeError> {
        if let Some(file) = &mut self.files.state_file {
            file.check_writable();
        }
        self.check_quota_state(tariffs)
    }

    /// The time of the wall clock at `now`, in nanoseconds since 1970.
    fn wall_clock(&self, now: Time) -> u64 {
        self.clock.wall_at_zero().saturating_add(now.0)
    }

    /// Applies `change` at `at`; the inner error is the reason of a refusal, which changes nothing.
    fn change(&mut self, change: Change, now: Time, at: Time) -> io::Result<Result<(), String>> {
        let settings = change.settings.as_ref();
        let tariffs = settings.map(|settings| settings.adjustment.tariffs().clone());
        if let Some(tariffs) = &tariffs
            && let Err(error) = self.check_quota_state(tariffs)
        {
            return Ok(Err(format!("{error}; this takes a restart of the node")));
        }
        if tariffs.is_some() {
            self.update_quotas(now, at)?;
        }
        let (driver, io) = (&mut self.driver, &mut self.io);
        let outcome = self.management.change(change, at, driver, io)?;
        if let (Some(tariffs), Ok(())) = (&tariffs, &outcome) {
            self.adjust_quotas(tariffs, now);
            self.update_quotas(now, at)?;
        }
        Ok(outcome)
    }

    /// Applies other tariffs, and names that the paths have by now.
    fn adjust_quotas(&mut self, tariffs: &Tariffs, now: Time) {
        let wall_clock = self.wall_clock(now);
        let paths = &self.io.paths;
        let name = |path| paths.name(path).unwrap_or_default();
        self.quotas
            .adjust(tariffs, name, wall_clock, paths.traffic());
        self.quotas.log_unused();
    }

    fn count(&self, now: Time) -> Stats {
        let tunnel = self.driver.machine();
        let reloads = self.management.reloads();
        self.statistics
            .count(now, tunnel, &self.io, &self.quotas, reloads)
    }

    /// Ends a second: writes files, guards against floods and reports the status.
    fn end_second(&mut self, now: Time) {
        self.io.flush_events();
        let tunnel = self.driver.machine();
        let paths = &mut self.io.paths;
        paths.guard(|path| LocalIndices::of(tunnel, path));
        self.statistics.sample(now, paths);
        let stats = self.count(now);
        self.management
            .supervision
            .notify_status(status_line(&stats));
        if let Some(writer) = &self.files.stats {
            let _ = writer.submit(stats);
        }
        self.save_state(now);
    }

    /// Handles the datagrams that arrived by `now`, and the deadlines up to then.
    fn catch_up(&mut self, now: Time) -> io::Result<Progress> {
        self.driver.notify_if_behind(now, &mut self.io)?;
        let progress = self.driver.catch_up(now, &mut self.io)?;
        for input in self.io.paths.rerouted() {
            let at = progress.until;
            self.driver.handle_input(at, input, &mut self.io)?;
        }
        let tunnel = self.driver.machine();
        let paths = &mut self.io.paths;
        paths.update_guard(|path| LocalIndices::of(tunnel, path));
        if self.quotas.is_due(now) {
            self.update_quotas(now, progress.until)?;
        }
        Ok(progress)
    }

    /// Handles at most `budget` commands of the control thread at `at`.
    fn handle_commands(&mut self, now: Time, at: Time, budget: usize) -> io::Result<()> {
        for _ in 0..budget {
            match self.management.next_command() {
                // The client may have disconnected.
                Some(Command::Count(answer)) => _ = answer.try_send(self.count(now)),
                // The sender has withdrawn the change.
                Some(Command::Change(command)) if !command.decided.set() => {}
                Some(Command::Change(command)) => {
                    let outcome = self.change(*command.change, now, at)?;
                    _ = command.answer.try_send(outcome);
                }
                Some(Command::ReloadRefused(_)) | None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Passes the wall clock to the tunnel: a machine without a battery-backed clock may set it
    /// after the start.
    fn update_wall_clock(&mut self, at: Time) -> io::Result<()> {
        let input = Input::WallClock(self.clock.wall_at_zero());
        self.driver.handle_input(at, input, &mut self.io)
    }

    /// Handles about `budget` packets of applications from `at` on and returns their number.
    fn handle_packets(&mut self, mut at: Time, budget: usize) -> io::Result<usize> {
        let mut handled = 0;
        let is_spaced = self.driver.machine().endpoint().is_spaced();
        // Packets of one read are all handled: `epoll` does not report those left over.
        while handled < budget || self.io.has_packets() {
            let Some(packet) = self.io.next_packet()? else {
                break;
            };
            self.driver
                .handle_input(at, Input::Packet(packet), &mut self.io)?;
            handled += 1;
            // A burst of an encoder must not delay the packets whose turn it is.
            if is_spaced && let Some(now) = self.overdue() {
                at = self.catch_up(now)?.until;
                self.io.flush()?;
            }
        }
        Ok(handled)
    }

    /// The time, if a deadline of the tunnel has passed.
    fn overdue(&self) -> Option<Time> {
        let due = self.driver.deadline()?;
        let now = self.clock.now();
        (due.at <= now).then_some(now)
    }
}

impl EventHandler for NodeEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let second = Deadline {
            at: self.second_at,
            why: "statistics",
        };
        let watchdog = self.management.supervision.deadline();
        let silence = self.silence_at.map(|at| Deadline {
            at,
            why: "no answer yet",
        });
        let own = Deadline::earlier(Deadline::earlier(Some(second), watchdog), silence);
        Deadline::earlier(self.driver.deadline(), own)
    }

    fn has_backlog(&self) -> bool {
        self.driver.has_backlog()
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        let Progress { until, .. } = self.catch_up(now)?;
        if self.second_at <= now {
            self.update_wall_clock(until)?;
        }
        self.io.flush()?;
        self.management.supervision.notify_alive(now);
        if self.second_at <= now {
            self.second_at = next_second(now);
            self.end_second(now);
        }
        if self.silence_at.take_if(|at| *at <= now).is_some() {
            self.io.paths.log_unanswered();
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        let Progress { datagrams, until } = self.catch_up(now)?;
        if token == COMMANDS {
            self.handle_commands(now, until, budget)?;
        }
        // With datagrams left, a packet counts as read before they arrived.
        let packets = match token {
            APPLICATION => self.handle_packets(until, budget)?,
            _ => 0,
        };
        self.io.flush()?;
        Ok(datagrams + packets)
    }
}
