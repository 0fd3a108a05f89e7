use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;

use axum::body::Bytes;
use axum::routing::get;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use super::*;
use crate::clock::Clock;

const SHORT: Duration = Duration::from_millis(300);
/// Longer than a client of these tests waits.
const ENDLESS: Duration = Duration::from_mins(5);
/// More than the kernel buffers for a client that does not read, in bytes.
const LONG_BODY: usize = 32 << 20;

fn start(limits: Limits) -> (HttpServer, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let long = Bytes::from(vec![b'x'; LONG_BODY]);
    let router = Router::new()
        .route("/page", get(|| async { "the page\n" }))
        .route("/long", get(|| async { long }));
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

/// The number of slow clients, more than the server admits.
const SLOW: usize = 200;

/// A client that sends no more, drips bytes or does not read, by its number.
fn slow_client(address: SocketAddr, number: usize, source: Ipv4Addr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut client = TcpStream::from(socket);
    let requests = [
        "GET /",
        "GET /page HTTP/1.1\r\nX: ",
        "GET /long HTTP/1.1\r\n\r\n",
    ];
    client.write_all(requests[number % 3].as_bytes()).unwrap();
    client.set_nonblocking(true).unwrap();
    client
}

/// Requests the page ten times while there are slow clients, which connect again and again. Time
/// limits are too long to help: each request is served because it takes the place of a slow client.
fn check_served_beside(source: impl Fn(usize) -> Ipv4Addr + Send + 'static) {
    let _lock = crate::test_lock::exclusive();
    let (_server, address) = start(Limits {
        head: ENDLESS,
        time: ENDLESS,
        ..LIMITS
    });
    let connect = move |number| slow_client(address, number, source(number));
    let mut slow: Vec<TcpStream> = (0..SLOW).map(&connect).collect();
    let over = Arc::new(AtomicBool::new(false));
    let is_over = over.clone();
    let attacker = thread::spawn(move || {
        for number in (0..SLOW).cycle() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            for dripping in slow.iter_mut().skip(1).step_by(3) {
                let _ = dripping.write(b"x");
            }
            slow[number] = connect(number);
            // A request of the same source is lost only if the server does not run while as many
            // clients as it admits connect, which takes 3 s.
            sleep(Duration::from_millis(50));
        }
    });
    for _ in 0..10 {
        let page = response(address, REQUEST);
        assert!(page.ends_with("the page\n"), "{page}");
        sleep(Duration::from_millis(100));
    }
    over.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
}

#[test]
fn slow_clients_of_one_address_keep_out_nobody() {
    check_served_beside(|_| Ipv4Addr::LOCALHOST);
}

#[test]
fn slow_clients_of_many_addresses_keep_out_nobody() {
    check_served_beside(|number| Ipv4Addr::from_bits(0x7f00_0002 + u32::try_from(number).unwrap()));
}

#[test]
fn a_client_with_one_connection_outlasts_those_of_another_address() {
    let (_server, address) = start(LIMITS);
    let mut honest = connect(address, "GET /page HTTP/1.1\r\n");
    let source = Ipv4Addr::new(127, 0, 0, 2);
    let slow: Vec<TcpStream> = (0..SLOW)
        .map(|number| slow_client(address, number, source))
        .collect();
    // The latest is served last.
    let ended = |mut client: &TcpStream| client.read(&mut [0; 8]).is_ok_and(|len| len == 0);
    while !ended(&slow[0]) {
        sleep(Duration::from_millis(10));
    }
    honest.write_all(b"\r\n").unwrap();
    let mut text = String::new();
    honest.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("the page\n"), "{text}");
}

#[test]
fn the_addresses_of_a_host_are_one_source() {
    let of = |address: &str| source(address.parse().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
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
fn slow_clients_are_dropped_at_their_time_limits() {
    let _lock = crate::test_lock::shared();
    let (head, time) = (SHORT, 2 * SHORT);
    let (_server, address) = start(Limits {
        head,
        time,
        ..LIMITS
    });
    let clock = Clock::starting_now();
    let mut silent = connect(address, "");
    let mut slow = connect(address, "GET /page HTTP/1.1\r\n");
    // It requests more than the kernel buffers, and reads nothing until its time is over.
    let mut stuck = connect(address, "GET /long HTTP/1.1\r\n\r\n");
    let writer = thread::spawn(move || {
        while slow.write_all(b"X: y\r\n").is_ok() {
            sleep(SHORT / 30);
        }
    });
    let mut received = Vec::new();
    let _ = silent.read_to_end(&mut received);
    assert!(!String::from_utf8_lossy(&received).contains("200 OK"));
    writer.join().unwrap();
    let took = Duration::from_nanos(clock.now().0);
    assert!(took >= head && took < Duration::from_secs(10), "{took:?}");
    sleep(2 * time);
    received.clear();
    let _ = stuck.read_to_end(&mut received);
    assert!(received.len() < LONG_BODY, "{}", received.len());
}

#[test]
fn a_stopped_server_frees_its_port_and_finishes_its_requests() {
    let _descriptors = crate::test_lock::without_new_processes();
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
fn a_server_without_descriptors_ends_the_oldest_connections() {
    if env::var_os(CHILD).is_some() {
        serve_with_few_descriptors();
        return;
    }
    let name = "control::http::tests::a_server_without_descriptors_ends_the_oldest_connections";
    let starting = crate::test_lock::new_process();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(starting);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.unwrap().parse().ok()).unwrap();
    await_page(address);
    let idle: Vec<TcpStream> = (0..8).map(|_| connect(address, "GET")).collect();
    // Each makes room, the oldest first.
    let page = response(address, REQUEST);
    assert!(page.ends_with("the page\n"), "{page}");
    drop(idle);
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
