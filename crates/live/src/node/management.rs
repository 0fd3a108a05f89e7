//! The management of a node on its packet thread: commands of the control thread, status and reloads.

use std::io;

use polypath_core::time::Time;
use polypath_session::tunnel::{Input, Tunnel};

use super::driver::CatchUpDriver;
use super::io::NodeIo;
use super::rates::Rates;
use crate::control::change::{Change, Remote};
use crate::control::commands::{Command, CommandQueue};
use crate::drive::{Token, Watcher};
use crate::notify::{Notifier, Supervision};
use crate::stats::{PathStats, PolicyStats, Reloads, Stats};

/// The token of the command queue; smaller tokens are the TUN device and the paths.
pub(super) const COMMANDS: Token = Token(u32::MAX - 1);

/// The state of a node that its operator sees or changes.
pub(super) struct Management {
    commands: Option<CommandQueue>,
    watcher: Watcher,
    /// The notifications to the service manager.
    pub(super) supervision: Supervision,
    rates: Rates,
    reloads: Reloads,
    started: Time,
}

impl Management {
    /// The management of a node that starts at `now`.
    pub(super) fn new(watcher: Watcher, now: Time) -> Self {
        Self {
            commands: None,
            watcher,
            supervision: Supervision::default(),
            rates: Rates::default(),
            reloads: Reloads::default(),
            started: now,
        }
    }

    /// Attaches the command queue to the event loop.
    pub(super) fn attach(&mut self, commands: CommandQueue) -> io::Result<()> {
        self.watcher.watch(&commands, COMMANDS)?;
        self.commands = Some(commands);
        Ok(())
    }

    /// Reports to the service manager from now on.
    pub(super) fn report_to(&mut self, notifier: Notifier) {
        self.supervision = Supervision::new(notifier, self.started);
    }

    /// Samples the rates of the past second and reports the status.
    pub(super) fn end_second(&mut self, now: Time, io: &NodeIo, tunnel: &Tunnel) {
        self.rates.sample(now, io.paths.volumes());
        let paths = io.paths.stats(now, |path| tunnel.health(path));
        let line = summary(tunnel.is_established(), &paths);
        self.supervision.notify_status(line);
    }

    /// Completes `stats` with the uptime, rates, reloads and policy.
    pub(super) fn complete(&self, stats: Stats, tunnel: &Tunnel) -> Stats {
        let endpoint = tunnel.endpoint();
        let mut stats = Stats {
            uptime_s: stats.at.since(self.started).as_secs_f64(),
            reloads: self.reloads.clone(),
            ..stats
        };
        for (index, path) in stats.paths.iter_mut().enumerate() {
            path.rate = self.rates.of(index);
        }
        let active = endpoint.active();
        let active = active.and_then(|path| stats.paths.get(path.index()));
        stats.policy = PolicyStats {
            kind: endpoint.policy().name().to_owned(),
            active: active.map(|path| path.name.clone()),
            switches: endpoint.switches(),
        };
        stats
    }

    /// Dequeues a command, if there is one; refused reloads are counted here.
    pub(super) fn next_command(&mut self) -> Option<Command> {
        loop {
            match self.commands.as_mut()?.next()? {
                Command::ReloadRefused(why) => {
                    self.reloads.refused += 1;
                    self.reloads.last_error = Some(why);
                }
                command => return Some(command),
            }
        }
    }

    /// Applies `change` at `at`; the inner error is the reason why it cannot be, and then nothing has changed.
    pub(super) fn change(
        &mut self,
        change: Change,
        at: Time,
        tunnel: &mut CatchUpDriver<Tunnel>,
        io: &mut NodeIo,
    ) -> io::Result<Result<(), String>> {
        for path in &change.paths {
            let Some(socket) = &path.socket else { continue };
            if let Err(error) = self.watcher.watch(socket, Token(path.path.0.into())) {
                return Ok(Err(format!("path `{}`: {error}", path.name)));
            }
        }
        if let Err(error) = io.paths.rebind(&change.paths) {
            return Ok(Err(error.to_string()));
        }
        for path in change.paths {
            let may_reach = path.may_reach();
            let has_address = matches!(path.remote, Some(Remote::At(_)));
            let id = path.path;
            io.paths.change(path, at);
            if has_address {
                tunnel.take_input(at, Input::PeerAddressKnown(id), io)?;
            }
            if may_reach {
                tunnel.take_input(at, Input::PathReachable(id), io)?;
            }
        }
        // Before the settings: these discard path MTUs, which must not be logged as changes.
        for input in io.paths.find_sizes(change.discovers_mtu) {
            tunnel.take_input(at, input, io)?;
        }
        if let Some(settings) = change.settings {
            let adjustment = Input::Adjust(settings.adjustment);
            io.paths.listen_for(settings.policy, settings.liveness);
            tunnel.take_input(at, adjustment, io)?;
            self.reloads.applied += 1;
            self.reloads.last_error = None;
        }
        Ok(Ok(()))
    }
}

/// The status line for the service manager.
fn summary(established: bool, paths: &[PathStats]) -> String {
    use polypath_core::liveness::PathState;
    let session = if established {
        "session established"
    } else {
        "no session"
    };
    let state = |path: &PathStats| path.liveness.map(|liveness| liveness.state);
    if paths.iter().all(|path| state(path).is_none()) {
        return format!("{session}, {} paths", paths.len());
    }
    let live = paths
        .iter()
        .filter(|path| state(path) == Some(PathState::Live));
    format!("{session}, {} of {} paths live", live.count(), paths.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LivenessStats;
    use polypath_core::liveness::PathState;

    #[test]
    fn the_status_line_counts_live_paths() {
        let path = |state: Option<PathState>| PathStats {
            liveness: state.map(|state| LivenessStats {
                state,
                ..LivenessStats::default()
            }),
            ..PathStats::default()
        };
        let paths = [Some(PathState::Live), Some(PathState::Silent)].map(path);
        assert_eq!(
            summary(true, &paths),
            "session established, 1 of 2 paths live"
        );
        assert_eq!(summary(false, &[path(None)]), "no session, 1 paths");
    }
}
