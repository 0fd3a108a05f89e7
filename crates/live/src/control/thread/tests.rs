use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;

use super::*;
use crate::control::commands;
use crate::control::socket::{ControlSocket, StatusError, status};
use crate::stats::Stats;

/// A control thread, and a thread in place of the packet thread.
struct Testbed {
    control_thread: Option<ControlThread>,
    socket: PathBuf,
    metrics: std::net::SocketAddr,
    over: Arc<AtomicBool>,
    packets: Option<JoinHandle<u64>>,
    _directory: TempDir,
    _lock: std::sync::RwLockReadGuard<'static, ()>,
}

impl Testbed {
    fn new() -> Self {
        let lock = crate::test_lock::shared();
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("pp0.sock");
        let metrics = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = metrics.local_addr().unwrap();
        let listeners = Listeners {
            control: Some(ControlSocket::open(&socket).unwrap()),
            metrics: Some(metrics),
        };
        let (handle, mut queue) = commands::channel().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let packets = thread::spawn(move || {
            let mut counts = 0;
            while !is_over.load(Ordering::Relaxed) {
                if let Some(commands::Command::Count(answer)) = queue.next() {
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
            _lock: lock,
        }
    }

    /// Ends both threads and returns the number of counts by the packet thread.
    fn finish(mut self) -> u64 {
        drop(self.control_thread.take());
        self.over.store(true, Ordering::Relaxed);
        self.packets.take().unwrap().join().unwrap()
    }
}

/// The page that a scraper receives; empty where the connection is dropped.
fn scrape(testbed: &Testbed) -> String {
    let mut scraper = TcpStream::connect(testbed.metrics).unwrap();
    let _ = scraper.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut page = String::new();
    let _ = scraper.read_to_string(&mut page);
    page
}

/// Set to the control socket in the child process of the test that holds connections.
const CHILD: &str = "POLYPATH_TEST_HOLD_CONNECTIONS";
/// The connections that the child process holds.
const HELD: usize = 64;

#[test]
fn the_connections_of_another_process_keep_out_nobody() {
    if let Some(socket) = env::var_os(CHILD) {
        let connect = |_| UnixStream::connect(&socket).unwrap();
        let held: Vec<UnixStream> = (0..HELD).map(connect).collect();
        println!("\nheld");
        let _ = io::stdin().read(&mut [0; 1]);
        drop(held);
        return;
    }
    let testbed = Testbed::new();
    let mut quiet = UnixStream::connect(&testbed.socket).unwrap();
    let name = "control::thread::tests::the_connections_of_another_process_keep_out_nobody";
    let starting = crate::test_lock::new_process();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, &testbed.socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(starting);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    // On a busy machine the threads of connections end a moment later, and those of this process
    // must not become more than those of the other.
    let pause = || thread::sleep(std::time::Duration::from_millis(20));
    let is_answered = (0..500).any(|_| {
        pause();
        status(&testbed.socket).is_ok()
    });
    assert!(is_answered);
    for _ in 0..10 {
        pause();
        status(&testbed.socket).unwrap();
    }
    // A client with one connection is not ended for those of the other process.
    quiet
        .write_all(b"{\"version\":1,\"request\":\"status\"}\n")
        .unwrap();
    let mut answer = String::new();
    BufReader::new(&quiet).read_line(&mut answer).unwrap();
    assert!(answer.contains("\"status\":{"), "{answer}");
    // Scrapers have connections of their own.
    assert!(scrape(&testbed).contains("\npolypath_session_established 0\n"));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    testbed.finish();
}

#[test]
fn a_client_that_makes_room_is_given_the_reason() {
    let testbed = Testbed::new();
    let connect = |_| UnixStream::connect(&testbed.socket).unwrap();
    let mut clients: Vec<UnixStream> = (0..=MAX_CLIENTS).map(connect).collect();
    let mut answer = String::new();
    clients[0].read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"reason\":\"busy\""), "{answer}");
    testbed.finish();
}

#[test]
fn frequent_requests_share_counts() {
    let testbed = Testbed::new();
    let clock = crate::clock::Clock::starting_now();
    for _ in 0..200 {
        status(&testbed.socket).unwrap();
    }
    let limit = clock.now().0 / 50_000_000 + 2;
    let counts = testbed.finish();
    assert!((1..=limit).contains(&counts), "{counts} of at most {limit}");
}

#[test]
fn metrics_are_served() {
    let testbed = Testbed::new();
    let page = scrape(&testbed);
    assert!(
        page.contains("\npolypath_session_established 0\n"),
        "{page}"
    );
    testbed.finish();
}

#[test]
fn the_socket_is_removed_with_the_node_even_under_a_client() {
    let testbed = Testbed::new();
    let socket = testbed.socket.clone();
    let _client = UnixStream::connect(&socket).unwrap();
    testbed.finish();
    assert!(!socket.exists());
    let error = status(&socket).unwrap_err();
    assert!(matches!(error, StatusError::Missing(_)), "{error}");
    assert!(error.to_string().contains("polypath node"), "{error}");
}

#[test]
fn errors_distinguish_other_servers_ended_nodes_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pp0.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 ready\n").unwrap();
    });
    let error = status(&path).unwrap_err();
    assert!(matches!(error, StatusError::Unintelligible(_)), "{error}");
    other.join().unwrap();
    assert!(!socket::is_answered(&path));
    let error = status(&path).unwrap_err();
    assert!(matches!(error, StatusError::Dead(_)), "{error}");
    let file = directory.path().join("a.toml");
    std::fs::write(&file, "").unwrap();
    for path in [&*file, directory.path()] {
        let error = status(path).unwrap_err();
        assert!(matches!(error, StatusError::NoSocket(_)), "{error}");
    }
}
