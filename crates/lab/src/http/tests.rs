use std::fs;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use sha2::{Digest, Sha256};

use super::*;
use crate::interrupt::Interrupt;
use crate::namespace::Namespace;
use crate::preflight::can_test;

/// A server with a file of `len` bytes, joined to a client by a plain wire.
struct Bench {
    client: Namespace,
    content: Vec<u8>,
    server: Server,
    _directory: tempfile::TempDir,
}

fn bench(len: usize) -> Option<Bench> {
    if !can_test() {
        return None;
    }
    let (client, server) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    server
        .join(&client, "wire0", ["10.9.0.1/24", "10.9.0.2/24"])
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let documents = directory.path().join("documents");
    fs::create_dir(&documents).unwrap();
    let content: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
    fs::write(documents.join("clip"), &content).unwrap();
    let server = Server::start(&server, directory.path(), &documents).unwrap();
    Some(Bench {
        client,
        content,
        server,
        _directory: directory,
    })
}

fn fetch(
    bench: &Bench,
    url: &str,
    timeout: Duration,
    interrupted: bool,
) -> std::io::Result<FetchResult> {
    let clock = Clock::starting_now();
    let interrupt = Interrupt::preset(interrupted);
    Fetch {
        namespace: &bench.client,
        clock,
        url,
        timeout,
        interrupt: &interrupt,
    }
    .run()
}

#[test]
fn a_file_arrives_whole_with_its_progress() {
    let Some(bench) = bench(300_000) else { return };
    let fetched = fetch(
        &bench,
        "http://10.9.0.1:8080/clip",
        Duration::from_secs(5),
        false,
    )
    .unwrap();
    let digest: [u8; 32] = Sha256::digest(&bench.content).into();
    assert_eq!(fetched.digest, digest);
    let duration = fetched.duration.unwrap();
    assert!(duration > Duration::ZERO && duration < Duration::from_secs(2));
    assert!(fetched.progress.is_sorted());
    let (last, total) = *fetched.progress.last().unwrap();
    assert_eq!(total, 300_000);
    assert!(last <= duration + Duration::from_millis(1));
}

#[test]
fn a_transfer_that_times_out_is_a_result_and_one_that_fails_is_an_error() {
    let Some(bench) = bench(10) else { return };
    let missing = fetch(
        &bench,
        "http://10.9.0.1:8080/other",
        Duration::from_secs(5),
        false,
    );
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("404"), "{error}");
    let silent = fetch(
        &bench,
        "http://10.9.0.77:8080/clip",
        Duration::from_millis(300),
        false,
    )
    .unwrap();
    assert_eq!((silent.duration, silent.progress), (None, vec![]));
}

#[test]
fn a_transfer_ends_when_the_lab_is_to_stop() {
    let Some(bench) = bench(10) else { return };
    let url = "http://10.9.0.77:8080/clip";
    let stopped = fetch(&bench, url, Duration::from_secs(60), true).unwrap_err();
    assert_eq!(stopped.kind(), std::io::ErrorKind::Interrupted);
}

#[test]
fn a_server_that_has_ended_is_noticed() {
    let Some(mut bench) = bench(10) else { return };
    bench.server.check().unwrap();
    bench.server.end();
    let error = bench.server.check().unwrap_err().to_string();
    assert!(error.contains("the HTTP server: signal: 9"), "{error}");
}
