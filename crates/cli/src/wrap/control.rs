//! Answers to the questions of the wrapped program, and its connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polypath_core::connections::ControllerConfig;
use polypath_core::time::Time;
use polypath_core::units::Rate;
use polypath_live::clock::Clock;
use polypath_stream::{
    Asked, ReceiveConfig, ReceiverSecurity, Server, ServerConfig, ServerCounters, ServerSecurity,
    Services, Source, WrappedConnection,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

/// The time for which a host that did not answer is not asked again.
const PLAIN_FOR: polypath_core::time::Duration = polypath_core::time::Duration::from_secs(60);
/// The time in which the program must use the socket that it was given.
const USED_WITHIN: Duration = Duration::from_secs(10);
/// The time in which the connections of a program that has ended pass on what it wrote.
const DRAIN: Duration = Duration::from_secs(30);
/// The interval at which that is checked.
const POLL: Duration = Duration::from_millis(20);
/// The pause after the system refused a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The longest question.
const MAX_QUESTION: u64 = 100;
/// The time for which the other end may be unreachable, before the program's connection is reset.
const PATIENCE: polypath_core::time::Duration = polypath_core::time::Duration::from_secs(5);
/// The limits of a wrapped server.
const RECEIVERS: usize = 1000;
const CONNECTIONS: usize = 64;

/// The settings of the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapping {
    pub(super) rate: Rate,
    pub(super) controller: ControllerConfig,
    /// The address at which this end answers, if the program listens; the other end answers at the
    /// same port.
    pub(super) answers: SocketAddr,
}

/// The socket at which the program asks.
pub(super) struct Control {
    listener: UnixListener,
    shared: Arc<Shared>,
}

struct Shared {
    wrapping: Wrapping,
    services: Services,
    /// The counters of the server, once this end answers at its port.
    server: Mutex<Option<ServerCounters>>,
    /// The connections of the program that are carried.
    carried: Arc<AtomicUsize>,
    /// The hosts that did not answer, and when.
    plain: Mutex<BTreeMap<IpAddr, Time>>,
    clock: Clock,
}

/// A question of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Connect(SocketAddr),
    Listen(SocketAddr),
}

impl FromStr for Question {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, address) = line.trim_end().split_once(' ').ok_or(())?;
        let address = address.parse().map_err(|_| ())?;
        match word {
            "connect" => Ok(Self::Connect(address)),
            "listen" => Ok(Self::Listen(address)),
            _ => Err(()),
        }
    }
}

impl Control {
    pub(super) fn listen(socket: &Path, wrapping: Wrapping) -> io::Result<Self> {
        Ok(Self {
            listener: UnixListener::bind(socket)?,
            shared: Arc::new(Shared {
                wrapping,
                services: Services::default(),
                server: Mutex::default(),
                carried: Arc::default(),
                plain: Mutex::default(),
                clock: Clock::starting_now(),
            }),
        })
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(&self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(answer(Arc::clone(&self.shared), stream));
                }
                Err(error) => {
                    // As while there are no descriptors: the program then has plain TCP.
                    tracing::warn!("a question of the program has no answer: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Waits until what the program has written is passed on, for a while at most.
    pub(super) async fn drain(&self) {
        let is_carrying = || {
            let server = self.shared.lock_server();
            let receivers = server
                .as_ref()
                .map_or(0, |counters| counters.read().receivers);
            receivers > 0 || self.shared.carried.load(Ordering::Relaxed) > 0
        };
        let drained = async {
            while is_carrying() {
                sleep(POLL).await;
            }
        };
        if timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("connections of the program were ended before all was passed on");
        }
    }
}

/// Answers one question; a question that is none has no answer.
async fn answer(shared: Arc<Shared>, mut stream: UnixStream) {
    let mut line = String::new();
    let mut reader = BufReader::new((&mut stream).take(MAX_QUESTION));
    if reader.read_line(&mut line).await.is_err() {
        return;
    }
    let answer = match line.parse() {
        Ok(Question::Connect(destination)) => shared.route(destination).await,
        Ok(Question::Listen(address)) => {
            shared.offer(address);
            "ok\n".to_owned()
        }
        Err(()) => return,
    };
    // The program may have ended.
    let _ = stream.write_all(answer.as_bytes()).await;
}

impl Shared {
    /// The answer for a connection to `destination`.
    async fn route(&self, destination: SocketAddr) -> String {
        let through = self.through(destination).await;
        through.map_or("plain\n".to_owned(), |to| format!("through {to}\n"))
    }

    /// The socket that carries a connection to `destination`; `None` if the other end has none.
    async fn through(&self, destination: SocketAddr) -> Option<SocketAddr> {
        let host = destination.ip().to_canonical();
        let server = SocketAddr::new(host, self.wrapping.answers.port());
        if self.is_plain(host) || destination.port() == server.port() {
            return None;
        }
        let config = ReceiveConfig {
            server,
            security: ReceiverSecurity::Insecure,
            rate: self.wrapping.rate,
            controller: self.wrapping.controller,
            play_out: None,
            patience: PATIENCE,
            record: None,
        };
        let connection = match WrappedConnection::open(config, destination.port()).await {
            Ok(Asked::Accepted(connection)) => connection,
            Ok(Asked::Refused) | Err(_) => return None,
            Ok(Asked::Silent) => {
                let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
                plain.insert(host, self.clock.now());
                return None;
            }
        };
        let listener = TcpListener::bind(local(destination.ip())).await.ok()?;
        let address = listener.local_addr().ok()?;
        tracing::info!(%destination, "several connections are used");
        let carried = Arc::clone(&self.carried);
        carried.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            carry(listener, *connection, destination).await;
            carried.fetch_sub(1, Ordering::Relaxed);
        });
        Some(address)
    }

    fn is_plain(&self, host: IpAddr) -> bool {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        plain.retain(|_, asked| now < *asked + PLAIN_FOR);
        plain.contains_key(&host)
    }

    fn lock_server(&self) -> MutexGuard<'_, Option<ServerCounters>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a service of the program to wrapped clients.
    fn offer(&self, service: SocketAddr) {
        self.services.add(service);
        let mut known = self.lock_server();
        if known.is_some() {
            return;
        }
        let config = ServerConfig {
            listen: self.wrapping.answers,
            security: ServerSecurity::Insecure,
            receivers: RECEIVERS,
            connections: CONNECTIONS,
            connection_limit: None,
            congestion_control: None,
        };
        match Server::bind(config, Source::Services(self.services.clone())) {
            Ok(server) => {
                *known = Some(server.counters());
                tracing::info!(%service, "wrapped clients have several connections");
                tokio::spawn(server.serve());
            }
            Err(error) => tracing::warn!("the program is served by plain TCP only: {error}"),
        }
    }
}

/// A loopback address of the family of `destination`, as the program's socket needs it.
fn local(destination: IpAddr) -> SocketAddr {
    let address = match destination {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()
        }
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(address, 0)
}

/// Carries the one connection of the program to `listener`.
async fn carry(listener: TcpListener, connection: WrappedConnection, destination: SocketAddr) {
    let Ok(Ok((program, _))) = timeout(USED_WITHIN, listener.accept()).await else {
        tracing::warn!(%destination, "the program did not connect");
        return;
    };
    drop(listener);
    // Without it, small messages would wait for others.
    let _ = program.set_nodelay(true);
    if let Err(error) = connection.carry(program).await {
        tracing::warn!(%destination, "a connection ended: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_a_word_and_an_address() {
        let address: SocketAddr = "192.0.2.1:80".parse().unwrap();
        assert_eq!(
            "connect 192.0.2.1:80\n".parse(),
            Ok(Question::Connect(address))
        );
        assert_eq!(
            "listen 192.0.2.1:80\n".parse(),
            Ok(Question::Listen(address))
        );
        for other in ["", "connect", "connect here", "accept 192.0.2.1:80"] {
            assert_eq!(other.parse::<Question>(), Err(()), "{other}");
        }
    }

    #[test]
    fn the_socket_has_the_family_of_the_destination() {
        for (destination, expected) in [
            ("192.0.2.1", "127.0.0.1:0"),
            ("2001:db8::1", "[::1]:0"),
            ("::ffff:192.0.2.1", "[::ffff:127.0.0.1]:0"),
        ] {
            assert_eq!(local(destination.parse().unwrap()).to_string(), expected);
        }
    }
}
