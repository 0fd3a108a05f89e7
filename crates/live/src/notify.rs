//! What a node or a relay tells the service manager: `sd_notify(3)`, without its library.
//!
//! A message that cannot be delivered is lost; nobody waits for a manager.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;

use polypath_core::time::Duration;

use crate::clock::Clock;
pub(crate) use supervision::Supervision;

mod supervision;

/// The service manager that started this process, if one did.
#[derive(Clone, Debug, Default)]
pub struct Notifier {
    socket: Option<Arc<UnixDatagram>>,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// What the environment says (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`); silent where it says nothing.
    #[must_use]
    pub fn from_env() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else {
            return Self::default();
        };
        let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
        let meant = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let span = number("WATCHDOG_USEC").filter(|span| meant && *span > 0);
        match connect(&name) {
            Ok(socket) => Self {
                socket: Some(Arc::new(socket)),
                watchdog: span.map(Duration::from_micros),
            },
            Err(error) => {
                tracing::warn!(%error, "the service manager is not told anything: NOTIFY_SOCKET");
                Self::default()
            }
        }
    }

    /// How long the manager waits for a sign of life before it restarts the process.
    #[must_use]
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Packets are carried, and the configuration is in force.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// The configuration is read again; [`Self::ready`] ends that.
    pub fn reloading(&self) {
        let us = Clock::starting_at(0).now().0 / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={us}"));
    }

    /// The process ends.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// The process lives.
    pub fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// How it does, on one line.
    pub fn status(&self, line: &str) {
        self.tell(&format!("STATUS={line}"));
    }

    fn tell(&self, message: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// A name that begins with `@` is one of the abstract namespace.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    socket.connect_addr(&address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    }

    #[test]
    fn the_manager_is_told_over_a_socket_of_either_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let hidden = format!("polypath-test-{}", std::process::id());
        let listeners = [
            UnixDatagram::bind(&path).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap(),
        ];
        let names = [path.into_os_string(), format!("@{hidden}").into()];
        for (listener, name) in listeners.iter().zip(&names) {
            let notifier = Notifier {
                socket: Some(Arc::new(connect(name).unwrap())),
                watchdog: None,
            };
            notifier.ready();
            notifier.reloading();
            notifier.status("2 of 2 paths live");
            assert_eq!(heard(listener), "READY=1");
            let reloading = heard(listener);
            let at = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
            assert!(at.unwrap().parse::<u64>().unwrap() > 0, "{reloading}");
            assert_eq!(heard(listener), "STATUS=2 of 2 paths live");
        }
        drop(listeners);
        assert!(connect(&names[0]).is_err());
        // Without a manager, or after it has gone, nothing happens.
        Notifier::default().alive();
    }
}
