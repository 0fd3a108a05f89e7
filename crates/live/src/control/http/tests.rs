use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread::sleep;

use axum::routing::get;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::*;

const SHORT: Duration = Duration::from_millis(300);
/// More than the kernel buffers for a client that does not read, in bytes.
const LONG_BODY: usize = 32 << 20;

fn start(limits: Limits) -> (HttpServer, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/page", get(|| async { "the page\n" }))
        .route("/long", get(|| async { "x".repeat(LONG_BODY) }));
    let server = HttpServer::start(listener, router, limits).unwrap();
    (server, address)
}

fn connect(address: SocketAddr, request: &str) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    client.write_all(request.as_bytes()).unwrap();
    client
}

/// All that a client receives for `request`; empty where the connection is dropped.
fn response(address: SocketAddr, request: &str) -> String {
    let mut text = Vec::new();
    let _ = connect(address, request).read_to_end(&mut text);
    String::from_utf8(text).unwrap()
}

const REQUEST: &str = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_connection_serves_one_request_and_bad_ones_get_an_error() {
    let (_server, address) = start(LIMITS);
    let two = response(address, &REQUEST.repeat(2));
    assert!(two.starts_with("HTTP/1.1 200 OK\r\n"), "{two}");
    assert_eq!(two.matches("the page").count(), 1, "{two}");
    assert!(two.ends_with("\r\n\r\nthe page\n"), "{two}");
    let head = response(address, "HEAD /page?x=1 HTTP/1.0\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n") && head.contains("content-length: 9"));
    let endless = format!("GET /page HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404 "),
        ("POST /page HTTP/1.1\r\n\r\n", "405 "),
        ("GET /page HTTP/2\r\n\r\n", "400 "),
        ("nonsense\r\n\r\n", "400 "),
        (&*endless, "431 "),
    ] {
        let text = response(address, request);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
}

#[test]
fn clients_beyond_the_limit_are_dropped() {
    let (_server, address) = start(LIMITS);
    let limit = LIMITS.clients as usize;
    let mut idle: Vec<TcpStream> = (0..limit).map(|_| connect(address, "GET")).collect();
    while !(0..5).all(|_| response(address, REQUEST).is_empty()) {
        idle.push(connect(address, "GET"));
        assert!(idle.len() < 20 * limit, "there is no limit");
    }
    drop(idle);
    await_page(address);
}

/// Requests the page until it is served, at most 10 s.
fn await_page(address: SocketAddr) {
    for _ in 0..500 {
        if response(address, REQUEST).ends_with("the page\n") {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("the page is not served");
}

#[test]
fn slow_clients_are_dropped_at_the_time_limit() {
    let _lock = crate::test_lock::shared();
    let (_server, address) = start(Limits {
        clients: 3,
        time: SHORT,
    });
    let silent = connect(address, "");
    let mut slow = connect(address, "GET /page HTTP/1.1\r\n");
    // It requests more than the kernel buffers, and reads nothing.
    let mut stuck = connect(address, "GET /long HTTP/1.1\r\n\r\n");
    let writer = thread::spawn(move || {
        while slow.write_all(b"X: y\r\n").is_ok() {
            sleep(SHORT / 30);
        }
    });
    await_page(address);
    writer.join().unwrap();
    let mut received = Vec::new();
    let _ = stuck.read_to_end(&mut received);
    assert!(received.len() < LONG_BODY, "{}", received.len());
    drop(silent);
}

#[test]
fn a_stopped_server_frees_its_port_and_finishes_its_requests() {
    let (server, address) = start(LIMITS);
    let mut client = connect(address, "GET /page HTTP/1.1\r\n");
    await_page(address);
    drop(server);
    let next = TcpListener::bind(address).unwrap();
    client.write_all(b"\r\n").unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("the page\n"), "{text}");
    drop(next);
}

/// Set in the child process of the test that runs out of file descriptors.
const CHILD: &str = "POLYPATH_TEST_FEW_DESCRIPTORS";

#[test]
fn a_server_without_descriptors_serves_again_when_there_are_some() {
    if env::var_os(CHILD).is_some() {
        serve_with_few_descriptors();
        return;
    }
    let name =
        "control::http::tests::a_server_without_descriptors_serves_again_when_there_are_some";
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.unwrap().parse().ok()).unwrap();
    await_page(address);
    let idle: Vec<TcpStream> = (0..8).map(|_| connect(address, "GET")).collect();
    let waiting = connect(address, REQUEST);
    waiting.set_read_timeout(Some(SHORT)).unwrap();
    let early = (&waiting).read(&mut [0; 8]);
    assert!(early.is_err(), "the server has descriptors: {early:?}");
    drop(idle);
    await_page(address);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Prints the address of a server that has descriptors for four clients; ends with standard input.
fn serve_with_few_descriptors() {
    let (_server, address) = start(LIMITS);
    let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, used + 4, hard).unwrap();
    println!("\n{address}");
    let _ = io::stdin().read(&mut [0; 1]);
}
