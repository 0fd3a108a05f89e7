use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;

use super::*;
use crate::control::commands::{self, Command};
use crate::control::socket::{AskError, status};
use crate::stats::Stats;

/// A node of which only the operator's side is there, and a thread in place of that of the packets.
struct Bench {
    control_thread: Option<ControlThread>,
    socket: PathBuf,
    metrics: std::net::SocketAddr,
    over: Arc<AtomicBool>,
    packets: Option<JoinHandle<u64>>,
    _directory: TempDir,
    _busy: std::sync::RwLockReadGuard<'static, ()>,
}

impl Bench {
    fn new() -> Self {
        let busy = crate::test_lock::shared();
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("pp0.sock");
        let metrics = TcpListener::bind("127.0.0.1:0").unwrap();
        metrics.set_nonblocking(true).unwrap();
        let address = metrics.local_addr().unwrap();
        let listeners = Listeners {
            control: Some(ControlSocket::open(&socket).unwrap()),
            metrics: Some(metrics),
        };
        let (handle, mut queue) = commands::channel().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let packets = thread::spawn(move || {
            let mut counts = 0;
            while !told.load(Ordering::Relaxed) {
                if let Some(Command::Count(answer)) = queue.next() {
                    counts += 1;
                    let _ = answer.try_send(Stats {
                        version: crate::stats::VERSION,
                        ..Stats::default()
                    });
                }
                thread::sleep(std::time::Duration::from_millis(1));
            }
            counts
        });
        let control_thread =
            ControlThread::start(listeners, handle, None, None, Notifier::default()).unwrap();
        Self {
            control_thread: Some(control_thread),
            socket,
            metrics: address,
            over,
            packets: Some(packets),
            _directory: directory,
            _busy: busy,
        }
    }

    /// Ends all, and says how often the packet thread counted.
    fn finish(mut self) -> u64 {
        drop(self.control_thread.take());
        self.over.store(true, Ordering::Relaxed);
        self.packets.take().unwrap().join().unwrap()
    }
}

fn is_busy(socket: &Path) -> bool {
    match status(socket) {
        Ok(status) => {
            assert_eq!(status["version"], crate::stats::VERSION);
            false
        }
        Err(AskError::Refused { message, .. }) if message.contains("too many clients") => true,
        Err(error) => panic!("{error}"),
    }
}

/// Asks until a seat is free, at most 5 s.
fn await_seat(socket: &Path) {
    for _ in 0..500 {
        if !is_busy(socket) {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("no seat becomes free");
}

/// The page that a scraper gets; empty where it is let go.
fn scrape(bench: &Bench) -> String {
    let mut scraper = TcpStream::connect(bench.metrics).unwrap();
    let _ = scraper.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut page = String::new();
    let _ = scraper.read_to_string(&mut page);
    page
}

#[test]
fn clients_are_served_at_once_up_to_a_bound_and_the_next_are_told() {
    let bench = Bench::new();
    assert!(!is_busy(&bench.socket));
    // Clients that say nothing: each keeps a seat for ten seconds, if it found one.
    let mut silent = Vec::new();
    let sit = |silent: &mut Vec<UnixStream>| {
        silent.push(UnixStream::connect(&bench.socket).unwrap());
    };
    (0..MOST_CLIENTS / 2).for_each(|_| sit(&mut silent));
    await_seat(&bench.socket);
    while !(0..5).all(|_| is_busy(&bench.socket)) {
        sit(&mut silent);
        assert!(silent.len() < 20 * MOST_CLIENTS, "there is no bound");
    }
    // Scrapers have permits of their own, and take none of the control socket's.
    assert!(scrape(&bench).contains("\npolypath_session_established 0\n"));
    drop(silent);
    await_seat(&bench.socket);
    let connect = || TcpStream::connect(bench.metrics).unwrap();
    let mut scrapers: Vec<TcpStream> = (0..MOST_CLIENTS).map(|_| connect()).collect();
    while !(0..5).all(|_| scrape(&bench).is_empty()) {
        scrapers.push(connect());
        assert!(scrapers.len() < 20 * MOST_CLIENTS, "there is no bound");
    }
    assert!(
        !is_busy(&bench.socket),
        "scrapers take permits of the control socket"
    );
    drop(scrapers);
    bench.finish();
}

#[test]
fn many_questions_cost_few_counts() {
    let bench = Bench::new();
    let clock = crate::clock::Clock::starting_now();
    for _ in 0..200 {
        status(&bench.socket).unwrap();
    }
    let most = clock.now().0 / 50_000_000 + 2;
    let counts = bench.finish();
    assert!((1..=most).contains(&counts), "{counts} of at most {most}");
}

#[test]
fn metrics_are_served() {
    let bench = Bench::new();
    let page = scrape(&bench);
    assert!(
        page.contains("\npolypath_session_established 0\n"),
        "{page}"
    );
    bench.finish();
}

#[test]
fn the_socket_goes_with_the_node_even_under_a_client() {
    let bench = Bench::new();
    let socket = bench.socket.clone();
    let _client = UnixStream::connect(&socket).unwrap();
    bench.finish();
    assert!(!socket.exists());
    let error = status(&socket).unwrap_err();
    assert!(matches!(error, AskError::Missing(_)), "{error}");
    assert!(error.to_string().contains("polypath node"), "{error}");
}

#[test]
fn what_is_no_node_is_told_from_one_that_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pp0.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 ready\n").unwrap();
    });
    let error = status(&path).unwrap_err();
    assert!(matches!(error, AskError::Unintelligible(_)), "{error}");
    other.join().unwrap();
    assert!(!socket::is_answered(&path));
    let error = status(&path).unwrap_err();
    assert!(matches!(error, AskError::Dead(_)), "{error}");
    let file = directory.path().join("a.toml");
    std::fs::write(&file, "").unwrap();
    for path in [&*file, directory.path()] {
        let error = status(path).unwrap_err();
        assert!(matches!(error, AskError::NoSocket(_)), "{error}");
    }
}
