use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use polypath_core::time::Time;

use super::*;
use crate::control::commands::{self, Command};
use crate::control::http::{HttpServer, LIMITS};
use crate::stats::{SpacingStats, Stats};

#[test]
fn metrics_are_served_in_the_format_that_the_client_accepts() {
    let (handle, mut queue) = commands::channel().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = HttpServer::start(listener, router(Arc::new(handle)), LIMITS).unwrap();
    for (accept, content_type, end) in [
        ("", Format::Text.content_type(), "\n"),
        (
            "Accept: application/openmetrics-text\r\n",
            Format::OpenMetrics.content_type(),
            "\n# EOF\n",
        ),
    ] {
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET /metrics HTTP/1.1\r\n{accept}\r\n");
        client.write_all(request.as_bytes()).unwrap();
        // Answers in place of the packet thread; a later count may come from the cache.
        for _ in 0..20 {
            if let Some(Command::Count(answer)) = queue.next() {
                answer.send(Stats::default()).unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        let field = format!("content-type: {content_type}\r\n");
        assert!(text.contains(&field) && text.ends_with(end), "{text}");
        assert!(
            text.contains("\npolypath_session_established 0\n"),
            "{text}"
        );
    }
}

#[test]
fn the_rate_for_encoders_is_served_as_json() {
    let (handle, mut queue) = commands::channel().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = HttpServer::start(listener, router(Arc::new(handle)), LIMITS).unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET /rate HTTP/1.1\r\n\r\n").unwrap();
    let stats = Stats {
        at: Time(1_500_000_000),
        spacing: Some(SpacingStats {
            spacing_us: 2000.0,
            packet_bytes: 1344,
            rate_bit_per_s: Some(5_376_000),
            payload_bit_per_s: Some(5_264_000),
            ..SpacingStats::default()
        }),
        ..Stats::default()
    };
    let mut commands = std::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        queue.next()
    });
    let answer = commands
        .by_ref()
        .take(2000)
        .find_map(|command| match command {
            Some(Command::Count(answer)) => Some(answer),
            _ => None,
        });
    answer.unwrap().send(stats).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(
        text.contains("content-type: application/json\r\n"),
        "{text}"
    );
    let body: serde_json::Value =
        serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        (&body["at_s"], &body["payload_bit_per_s"]),
        (&1.5.into(), &5_264_000.into())
    );
}

/// Clients that disconnect do not queue further counts behind a packet thread that does not answer.
#[test]
fn a_count_keeps_its_permit_until_it_ends_without_its_client() {
    let (handle, mut queue) = commands::channel().unwrap();
    let counts = BoundedCounts {
        handle: Arc::new(handle),
        permits: Arc::new(Semaphore::new(1)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        let request = tokio::spawn(counts.clone().count());
        let answer = loop {
            tokio::task::yield_now().await;
            if let Some(Command::Count(answer)) = queue.next() {
                break answer;
            }
        };
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(counts.permits.available_permits(), 0);
        answer.send(Stats::default()).unwrap();
        drop(counts.permits.acquire().await.unwrap());
    });
}

#[test]
fn an_ended_node_is_unavailable_and_other_paths_name_the_right_one() {
    let (handle, queue) = commands::channel().unwrap();
    drop(queue);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = HttpServer::start(listener, router(Arc::new(handle)), LIMITS).unwrap();
    for (path, status) in [("/metrics", "503 "), ("/", "404 ")] {
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        assert_eq!(text.contains("are at /metrics"), path == "/", "{text}");
        assert_eq!(text.contains("retry-after: 1\r\n"), path != "/", "{text}");
    }
}
