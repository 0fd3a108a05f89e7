//! Pre-shared keys, and what a node keeps over a restart.

use serde_json::Value;

use super::operation::{await_status, is_up};
use super::*;

/// Creates a pre-shared key and names it in the file of a node.
fn share(files: &Files, node: &Path, name: &str) {
    let key = files.path(name);
    if !key.exists() {
        let output = polypath().args(["key", "--preshared"]).arg(&key).output();
        assert_eq!(printed(&output.unwrap()), "");
    }
    edit(
        node,
        "[peer]",
        &format!("[peer]\npreshared_key_file = \"{name}\""),
    );
}

#[test]
fn nodes_with_a_preshared_key_connect_and_keep_the_peers_timestamp() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (file, kept) = (&testbed.files.b, testbed.files.path("b.json"));
    share(&testbed.files, &testbed.files.a, "ab.psk");
    share(&testbed.files, file, "ab.psk");
    let start_b = || Node::start_with(&testbed.b, file, &["--state".as_ref(), kept.as_ref()]);
    let a = testbed.start_a();
    let b = start_b();
    await_status(file, is_up);
    let timestamp = || {
        let text = fs::read_to_string(&kept).unwrap_or_default();
        let state: Value = serde_json::from_str(&text).unwrap_or_default();
        state["timestamp"].as_u64().unwrap_or(0)
    };
    // The first handshake may have been node b's own; one of a restarted node is not.
    drop(a);
    let a = testbed.start_a();
    let is_kept = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        timestamp() > 0
    });
    assert!(is_kept, "no handshake of the peer is kept");
    let first = timestamp();
    // Without notice, as by a power failure.
    drop(b);
    // With a time that the peer's clock reaches in an hour, its initiations are replays.
    let ahead = first + 3_600_000_000_000;
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, text.replace(&first.to_string(), &ahead.to_string())).unwrap();
    let _b = start_b();
    await_log(file, "session established", 1);
    await_status(file, is_up);
    drop(a);
    let _a = testbed.start_a();
    let is_rejected = |status: &Value| {
        let count = status["session"]["rejected"]["stale-timestamp"].as_u64();
        count.is_some_and(|count| count > 0)
    };
    await_status(file, is_rejected);
    assert!(timestamp() >= ahead);
    let log = fs::read_to_string(log_of(file)).unwrap();
    assert_eq!(log.matches("--state").count(), 1, "{log}");
    assert!(log.contains("s ahead of this machine's clock"), "{log}");
}

/// A node that only learns the peer's address otherwise waits until the peer notices the restart,
/// which takes it ten seconds.
#[test]
fn a_restarted_node_reaches_its_peer_at_the_kept_addresses() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (file, kept) = (&testbed.files.b, testbed.files.path("b.json"));
    for link in ["1", "2"] {
        edit(file, &format!("remote = \"10.1.{link}.1:7001\"\n"), "");
    }
    let _a = testbed.start_a();
    let b = Node::start_with(&testbed.b, file, &["--state".as_ref(), kept.as_ref()]);
    await_status(file, is_up);
    let addresses = || {
        let text = fs::read_to_string(&kept).unwrap_or_default();
        let state: Value = serde_json::from_str(&text).unwrap_or_default();
        state["addresses"].clone()
    };
    let all = serde_json::json!({ "uplink1": "10.1.1.1:7001", "uplink2": "10.1.2.1:7001" });
    let are_kept = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        addresses() == all
    });
    assert!(are_kept, "{}", addresses());
    drop(b);
    // Without them: the log names what is missing.
    let b = testbed.start_b();
    let log = await_log(file, "does not know the peer's address", 2);
    assert!(
        log.contains("`remote`") && log.contains("`--state FILE`"),
        "{log}"
    );
    assert!(!log.contains("compare the keys"), "{log}");
    drop(b);
    let _b = Node::start_with(&testbed.b, file, &["--state".as_ref(), kept.as_ref()]);
    let is_early = (0..40).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let log = fs::read_to_string(log_of(file)).unwrap();
        log.contains("session established")
    });
    assert!(is_early, "not within 4 s");
    await_status(file, is_up);
}

#[test]
fn warnings_about_the_state_file_state_the_remedy() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (file, files) = (&testbed.files.a, &testbed.files);
    fs::write(files.path("foreign.json"), "{}").unwrap();
    let fifo = files.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (name, remedy) in [
        ("foreign.json", "else name another file"),
        (
            "none/a.json",
            "create files in this directory, which must exist",
        ),
        ("fifo", "name a regular file"),
    ] {
        let state = files.path(name);
        let _a = Node::start_with(&testbed.a, file, &["--state".as_ref(), state.as_ref()]);
        let log = await_log(file, "ready", 1);
        let is_warning = |line: &&str| line.contains("--state") && line.contains(remedy);
        assert_eq!(log.lines().filter(is_warning).count(), 1, "{name}: {log}");
    }
}

#[test]
fn different_preshared_keys_are_logged_as_the_cause() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let [a, b] = [&testbed.files.a, &testbed.files.b];
    share(&testbed.files, a, "ab.psk");
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let logged = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let is_logged = |file: &PathBuf| {
            let log = fs::read_to_string(log_of(file)).unwrap();
            log.contains("wrong-response") && log.contains("`preshared_key_file`")
        };
        [a, b].into_iter().any(is_logged)
    });
    assert!(logged, "neither node names the cause");
}

/// The output of `polypath check` for an invalid file.
fn refused(file: &Path) -> String {
    let output = polypath().arg("check").arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    text
}

#[test]
fn a_private_key_is_refused_as_a_preshared_one() {
    for (name, whose) in [
        ("a.key", "own private key"),
        ("b.key", "peer's private key"),
    ] {
        let files = Files::new();
        let line = format!("[peer]\npreshared_key_file = \"{name}\"");
        edit(&files.a, "[peer]", &line);
        let text = refused(&files.a);
        assert!(
            text.contains(whose) && text.contains("polypath key --preshared"),
            "{text}"
        );
    }
}

#[test]
fn a_preshared_key_is_refused_as_a_private_one() {
    let files = Files::new();
    share(&files, &files.a, "ab.psk");
    let text = printed(&polypath().arg("check").arg(&files.a).output().unwrap());
    assert!(text.contains("a node file: valid"), "{text}");
    edit(&files.a, "key_file = \"a.key\"", "key_file = \"ab.psk\"");
    let text = refused(&files.a);
    assert!(
        text.contains("`node.key_file`: ") && text.contains("is a pre-shared key file, not a key"),
        "{text}"
    );
    // Without its heading, as earlier versions wrote it, it looks like a private key.
    let text = fs::read_to_string(files.path("ab.psk")).unwrap();
    let (_, bare) = text.split_once('\n').unwrap();
    fs::write(files.path("ab.psk"), bare).unwrap();
    let text = refused(&files.a);
    assert!(text.contains("also the key of `node.key_file`"), "{text}");
}
