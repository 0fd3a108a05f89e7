//! The management of a node on its packet thread: commands of the control thread, status and
//! reloads.

use std::io;

use polypath_core::time::Time;
use polypath_session::tunnel::{Input, Tunnel};

use super::driver::CatchUpDriver;
use super::io::NodeIo;
use crate::control::change::{Change, Remote};
use crate::control::commands::{Command, CommandQueue};
use crate::drive::{Token, Watcher};
use crate::notify::{Notifier, Supervision};
use crate::stats::Reloads;

/// The token of the command queue.
pub(super) const COMMANDS: Token = Token(u32::MAX - 1);

/// The command queue, the service manager, and the reloads so far.
pub(super) struct Management {
    commands: Option<CommandQueue>,
    watcher: Watcher,
    /// The reports to the service manager.
    pub(super) supervision: Supervision,
    reloads: Reloads,
    started: Time,
}

impl Management {
    /// Without commands and a service manager, for a node that starts at `now`.
    pub(super) fn new(watcher: Watcher, now: Time) -> Self {
        Self {
            commands: None,
            watcher,
            supervision: Supervision::default(),
            reloads: Reloads::default(),
            started: now,
        }
    }

    /// Takes commands from this queue, which `epoll` watches from now on.
    pub(super) fn attach(&mut self, commands: CommandQueue) -> io::Result<()> {
        self.watcher.watch(&commands, COMMANDS)?;
        self.commands = Some(commands);
        Ok(())
    }

    /// Reports to the service manager from now on.
    pub(super) fn report_to(&mut self, notifier: Notifier) {
        self.supervision = Supervision::new(notifier, self.started);
    }

    /// The reloads so far.
    pub(super) fn reloads(&self) -> &Reloads {
        &self.reloads
    }

    /// The next command of a client or a reload; refused reloads are counted here.
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

    /// Applies `change` at `at`; the inner error is the reason of a refusal, which changes nothing.
    pub(super) fn change(
        &mut self,
        change: Change,
        at: Time,
        driver: &mut CatchUpDriver<Tunnel>,
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
                driver.handle_input(at, Input::PeerAddressKnown(id), io)?;
            }
            if reaches {
                driver.handle_input(at, Input::PathReachable(id), io)?;
            }
        }
        // Before the settings: these discard path MTUs, which must not be logged as lost.
        for input in io.paths.set_mtu_discovery(change.discovers_mtu) {
            driver.handle_input(at, input, io)?;
        }
        if let Some(settings) = change.settings {
            let adjustment = Input::Adjust(settings.adjustment);
            io.paths.adjust(settings.policy, settings.liveness);
            driver.handle_input(at, adjustment, io)?;
            self.reloads.applied += 1;
            self.reloads.last_error = None;
        }
        Ok(Ok(()))
    }
}
