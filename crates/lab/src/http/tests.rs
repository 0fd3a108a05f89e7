use std::fs;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use sha2::{Digest, Sha256};

use super::*;
use crate::interrupt::Interrupt;
use crate::namespace::Namespace;
use crate::preflight::can_test;

/// A server with a file, connected to a client by a veth pair.
struct Testbed {
    client: Namespace,
    content: Vec<u8>,
    server: Server,
    _directory: tempfile::TempDir,
}

/// A testbed with a file of `len` bytes; none, with the reason, if no lab can run.
fn testbed(len: usize) -> Option<Testbed> {
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
    Some(Testbed {
        client,
        content,
        server,
        _directory: directory,
    })
}

fn fetch(
    testbed: &Testbed,
    url: &str,
    timeout: Duration,
    interrupted: bool,
) -> std::io::Result<FetchResult> {
    let clock = Clock::starting_now();
    let interrupt = Interrupt::preset(interrupted);
    Fetch {
        namespace: &testbed.client,
        clock,
        url,
        timeout,
        interrupt: &interrupt,
    }
    .run()
}

#[test]
fn a_complete_transfer_has_digest_and_progress() {
    let Some(testbed) = testbed(300_000) else {
        return;
    };
    let fetched = fetch(
        &testbed,
        "http://10.9.0.1:8080/clip",
        Duration::from_secs(5),
        false,
    )
    .unwrap();
    let digest: [u8; 32] = Sha256::digest(&testbed.content).into();
    assert_eq!(fetched.digest, digest);
    let duration = fetched.duration.unwrap();
    assert!(duration > Duration::ZERO && duration < Duration::from_secs(2));
    assert!(fetched.progress.is_sorted());
    let (last, total) = *fetched.progress.last().unwrap();
    assert_eq!(total, 300_000);
    assert!(last <= duration + Duration::from_millis(1));
}

#[test]
fn a_timeout_is_a_result_and_a_failure_an_error() {
    let Some(testbed) = testbed(10) else { return };
    let missing = fetch(
        &testbed,
        "http://10.9.0.1:8080/other",
        Duration::from_secs(5),
        false,
    );
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("404"), "{error}");
    let silent = fetch(
        &testbed,
        "http://10.9.0.77:8080/clip",
        Duration::from_millis(300),
        false,
    )
    .unwrap();
    assert_eq!((silent.duration, silent.progress), (None, vec![]));
}

#[test]
fn an_interrupt_aborts_a_transfer() {
    let Some(testbed) = testbed(10) else { return };
    let url = "http://10.9.0.77:8080/clip";
    let stopped = fetch(&testbed, url, Duration::from_secs(60), true).unwrap_err();
    assert_eq!(stopped.kind(), std::io::ErrorKind::Interrupted);
}

#[test]
fn the_exit_of_a_server_is_detected() {
    let Some(mut testbed) = testbed(10) else {
        return;
    };
    testbed.server.check().unwrap();
    testbed.server.kill();
    let error = testbed.server.check().unwrap_err().to_string();
    assert!(error.contains("the HTTP server: signal: 9"), "{error}");
}
