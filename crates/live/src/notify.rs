//! Notifications of a node or relay to the service manager: `sd_notify(3)`, without its library.
//!
//! A notification that cannot be delivered is lost: sending never blocks. The crate sd-notify 0.5
//! opens a blocking socket for each notification, so a manager that does not read would stall the
//! packet thread, and it does not connect to sockets in the abstract namespace.

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
    /// The manager named by the environment (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`);
    /// without it, nothing is sent.
    #[must_use]
    pub fn from_env() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else {
            return Self::default();
        };
        let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
        let is_own = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let span = number("WATCHDOG_USEC").filter(|span| is_own && *span > 0);
        match connect(&name) {
            Ok(socket) => Self {
                socket: Some(Arc::new(socket)),
                watchdog: span.map(Duration::from_micros),
            },
            Err(error) => {
                tracing::warn!(%error, "cannot notify the service manager: NOTIFY_SOCKET");
                Self::default()
            }
        }
    }

    /// The interval without a watchdog notification after which the manager restarts the process.
    #[must_use]
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Notifies that packets are carried and the configuration is in force.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Notifies that a reload starts; [`Self::ready`] ends it.
    pub fn reloading(&self) {
        let us = Clock::starting_at(0).now().0 / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={us}"));
    }

    /// Notifies that the process stops.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Sends a watchdog notification.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    /// Sends a status line.
    pub fn status(&self, line: &str) {
        self.send(&format!("STATUS={line}"));
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// Connects to the socket `name`; a leading `@` means the abstract namespace.
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

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    }

    #[test]
    fn a_manager_that_does_not_read_blocks_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let notifier = Notifier {
            socket: Some(Arc::new(connect(path.as_os_str()).unwrap())),
            watchdog: None,
        };
        // The kernel queues at most `net.unix.max_dgram_qlen` of them, 10 or 512 by default.
        for _ in 0..10_000 {
            notifier.alive();
        }
        assert_eq!(received(&listener), "WATCHDOG=1");
    }

    #[test]
    fn notifications_arrive_over_path_and_abstract_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let abstract_name = format!("polypath-test-{}", std::process::id());
        let listeners = [
            UnixDatagram::bind(&path).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap())
                .unwrap(),
        ];
        let names = [path.into_os_string(), format!("@{abstract_name}").into()];
        for (listener, name) in listeners.iter().zip(&names) {
            let notifier = Notifier {
                socket: Some(Arc::new(connect(name).unwrap())),
                watchdog: None,
            };
            notifier.ready();
            notifier.reloading();
            notifier.status("2 of 2 paths live");
            assert_eq!(received(listener), "READY=1");
            let reloading = received(listener);
            let at = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
            assert!(at.unwrap().parse::<u64>().unwrap() > 0, "{reloading}");
            assert_eq!(received(listener), "STATUS=2 of 2 paths live");
        }
        drop(listeners);
        assert!(connect(&names[0]).is_err());
        // Without a manager nothing is sent.
        Notifier::default().alive();
    }
}
