//! What a node tells its operator, and takes from him, between packets.

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

/// The operator's commands; below it are the TUN device and the paths.
pub(super) const COMMANDS: Token = Token(u32::MAX - 1);

/// Orders, and what they changed.
pub(super) struct Management {
    commands: Option<CommandQueue>,
    watcher: Watcher,
    /// What the service manager hears.
    pub(super) supervision: Supervision,
    rates: Rates,
    reloads: Reloads,
    started: Time,
}

impl Management {
    /// An management that opens at `now`.
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

    /// Takes commands, which `epoll` tells of from now on.
    pub(super) fn attach(&mut self, commands: CommandQueue) -> io::Result<()> {
        self.watcher.watch(&commands, COMMANDS)?;
        self.commands = Some(commands);
        Ok(())
    }

    /// Tells the service manager from now on how the node does.
    pub(super) fn report_to(&mut self, notifier: Notifier) {
        self.supervision = Supervision::new(notifier, self.started);
    }

    /// Takes the numbers of a second that is over.
    pub(super) fn end_second(&mut self, now: Time, io: &NodeIo, tunnel: &Tunnel) {
        self.rates.sample(now, io.paths.volumes());
        let paths = io.paths.stats(now, |path| tunnel.health(path));
        let line = summary(tunnel.is_established(), &paths);
        self.supervision.tell_status(line);
    }

    /// Adds to `stats` what is known here alone.
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

    /// The next command that is not about the management itself.
    pub(super) fn next_command(&mut self) -> Option<Command> {
        loop {
            match self.commands.as_mut()?.next()? {
                Command::Refused(why) => {
                    self.reloads.refused += 1;
                    self.reloads.last_error = Some(why);
                }
                command => return Some(command),
            }
        }
    }

    /// Puts `change` into force at `at`; why not, where that cannot be, and then nothing has changed.
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
            let reaches = path.may_reach();
            let addressed = matches!(path.remote, Some(Remote::At(_)));
            let id = path.path;
            io.paths.change(path, at);
            if addressed {
                tunnel.take_input(at, Input::PeerAddressKnown(id), io)?;
            }
            if reaches {
                tunnel.take_input(at, Input::PathReachable(id), io)?;
            }
        }
        // Before the machine forgets what it found: that is no news of the paths then.
        for room in io.paths.find_sizes(change.sizes) {
            tunnel.take_input(at, room, io)?;
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

/// How the node does, for whoever lists services.
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
    fn a_line_tells_how_the_node_does() {
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
