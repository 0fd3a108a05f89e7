//! Paths with a quota, by the kernel's counters of the interface.

use serde_json::Value;

use super::operation::{await_status, is_up, send_hangup};
use super::*;

/// The quota of the first path of node a, in bytes.
const QUOTA: u64 = 2_000_000;

/// The bytes that the interface `p1` has carried in both directions, without Ethernet headers.
fn carried(namespace: &Namespace) -> u64 {
    let mut command = Command::new("ip");
    command.args(["-json", "-stats", "link", "show", "p1"]);
    let output: Value = serde_json::from_str(&namespace.output(&mut command).unwrap()).unwrap();
    let sum = |direction: &str| {
        let counters = &output[0]["stats64"][direction];
        counters["bytes"].as_u64().unwrap() - 14 * counters["packets"].as_u64().unwrap()
    };
    sum("rx") + sum("tx")
}

/// Sends `count` packets of 1000 bytes to node b and back.
fn ping_hard(namespace: &Namespace, count: &str) {
    let mut command = Command::new("ping");
    command.args([
        "-n", "-q", "-i", "0.002", "-s", "972", "-W", "1", "-c", count,
    ]);
    command.arg("10.77.0.2");
    namespace.output(&mut command).unwrap();
}

/// Sends until the quota of the first path of node a is used up and `state` has that, on a slow disk
/// later; returns the use in bytes.
fn use_up(testbed: &Testbed, state: &Path) -> u64 {
    for _ in 0..10 {
        ping_hard(&testbed.a, "600");
        let status = await_status(&testbed.files.a, |status| status["established"] == true);
        let usage = &status["paths"][0]["usage"];
        let used = usage["used_bytes"].as_u64().unwrap();
        let saved: Value = serde_json::from_slice(&fs::read(state).unwrap()).unwrap();
        let saved = saved["quotas"]["uplink1"]["used"].as_u64().unwrap();
        if usage["closed"] == true && usage["unsaved"] == false && saved >= used {
            return used;
        }
    }
    panic!("the quota is not used up");
}

/// All data is on the first path until its quota is used up, and then on the second. A node that is
/// killed and restarted uses no more of it, and the path opens when the quota is raised.
#[test]
fn a_quota_is_kept_across_a_kill_and_opens_when_it_is_raised() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (a, b, state) = (
        &testbed.files.a,
        &testbed.files.b,
        testbed.files.path("a.json"),
    );
    for file in [a, b] {
        edit(file, "\"probe-and-switch\"", "\"in-time\"");
    }
    let tariff = |bytes| format!("tariff = {{ quota = \"{bytes} B\" }}");
    let remote = "remote = \"10.1.1.2:7001\"";
    edit(a, remote, &format!("{remote}\n{}", tariff(QUOTA)));
    edit(
        a,
        "remote = \"10.1.2.2:7001\"",
        "remote = \"10.1.2.2:7001\"\ntariff = { cost = 1 }",
    );
    edit(
        b,
        "remote = \"10.1.2.1:7001\"",
        "remote = \"10.1.2.1:7001\"\ntariff = { cost = 1 }",
    );
    let start = || Node::start_with(&testbed.a, a, &["--state".as_ref(), state.as_ref()]);
    let node = start();
    let _b = testbed.start_b();
    await_status(a, is_up);
    let usage = |status: &Value, key: &str| status["paths"][0]["usage"][key].clone();
    let used = use_up(&testbed, &state);
    let on_the_wire = carried(&testbed.a);
    assert!(on_the_wire <= QUOTA + QUOTA / 1000, "{on_the_wire} B");
    assert!(on_the_wire >= QUOTA * 4 / 10, "{on_the_wire} B");
    // Except ARP and what the kernel sends by itself.
    assert!(on_the_wire.abs_diff(used) < 3000, "{on_the_wire} B, {used}");
    await_status(b, |status| usage(status, "closed_by_peer") == true);
    // The other path carries the data, and nothing is on this one.
    ping_hard(&testbed.a, "50");
    // Drop kills it by SIGKILL.
    drop(node);
    let node = start();
    let status = await_status(a, |status| status["established"] == true);
    let kept = usage(&status, "used_bytes").as_u64().unwrap();
    assert!(kept >= used, "{kept} B after the kill, {used} before");
    // What was in reserve may be used now, and no more.
    use_up(&testbed, &state);
    let on_the_wire = carried(&testbed.a);
    assert!(on_the_wire <= QUOTA + QUOTA / 1000, "{on_the_wire} B");
    ping_hard(&testbed.a, "50");
    let after = carried(&testbed.a);
    assert!(
        after - on_the_wire < 3000,
        "{} B while closed",
        after - on_the_wire
    );
    edit(a, &tariff(QUOTA), &tariff(20_000_000));
    send_hangup(&node);
    let status = await_status(a, is_up);
    let opened = carried(&testbed.a);
    let lead = usage(&status, "used_bytes").as_u64().unwrap() - opened;
    ping_hard(&testbed.a, "300");
    let more = carried(&testbed.a) - opened;
    assert!(more > 100_000, "{more} B after it opened");
    let log = fs::read_to_string(log_of(b)).unwrap();
    assert!(log.contains("the path is open again"), "{log}");
    check_count_of_orderly_stop(&testbed, node, &state, lead);
}

/// Stops `node` under traffic: its `state` file has all that is on the wire, since a datagram that
/// is sent after the last regular count is counted, too; and the `lead` that the kill has cost.
fn check_count_of_orderly_stop(testbed: &Testbed, mut node: Node, state: &Path, lead: u64) {
    let mut ping = Command::new("ping");
    ping.args([
        "-n",
        "-q",
        "-i",
        "0.002",
        "-s",
        "972",
        "-c",
        "1000",
        "10.77.0.2",
    ]);
    ping.stdout(Stdio::null()).stderr(Stdio::null());
    let mut ping = testbed.a.spawn(&mut ping).unwrap();
    std::thread::sleep(Duration::from_millis(777));
    let pid = Pid::from_raw(i32::try_from(node.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert!(node.0.wait().unwrap().success());
    let on_the_wire = carried(&testbed.a);
    let _ = ping.kill();
    let _ = ping.wait();
    let saved: Value = serde_json::from_slice(&fs::read(state).unwrap()).unwrap();
    let used = saved["quotas"]["uplink1"]["used"].as_u64().unwrap();
    let expected = on_the_wire + lead;
    // Except ARP, and answers that had not been read.
    assert!(
        expected.abs_diff(used) < 15_000,
        "{expected} B, {used} saved"
    );
}

#[test]
fn a_quota_that_would_be_forgotten_is_refused() {
    let files = Files::new();
    let remote = "remote = \"10.1.1.2:7001\"";
    edit(
        &files.a,
        remote,
        &format!("{remote}\ntariff = {{ quota = \"1 GB\" }}"),
    );
    let start = |state: Option<&Path>| {
        let mut command = polypath();
        command.arg("node").arg(&files.a);
        if let Some(state) = state {
            command.arg("--state").arg(state);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        text
    };
    let key = "a.toml: `path.0.tariff.quota`: ";
    let text = start(None);
    assert!(text.contains("with `--state FILE`"), "{text}");
    assert!(text.contains(key), "{text}");
    let damaged = files.path("damaged.json");
    fs::write(&damaged, "{\"version\":1,").unwrap();
    let folder = files.path("");
    for (state, remedy) in [
        (&damaged, "remove it to begin a new count"),
        (&files.path("none/a.json"), "which must exist"),
        (&folder, "name a file in it"),
    ] {
        let text = start(Some(state));
        assert!(text.contains(remedy) && text.contains(key), "{text}");
        assert_eq!(text.lines().count(), 1, "one error: {text}");
    }
    let mut check = polypath();
    let checked = printed(&check.arg("check").arg(&files.a).output().unwrap());
    assert!(checked.contains("a.toml --state FILE"), "{checked}");
}

/// A node with a quota on its first path in the namespaces of `testbed`, and its state file.
fn start_with_quota(testbed: &Testbed, quota: &str, state: &Path) -> Node {
    let a = &testbed.files.a;
    let remote = "remote = \"10.1.1.2:7001\"";
    let tariff = format!("{remote}\ntariff = {{ quota = \"{quota}\" }}");
    edit(a, remote, &tariff);
    Node::start_with(&testbed.a, a, &["--state".as_ref(), state.as_ref()])
}

/// A path carries no more than a state file covers that cannot be written, and opens when it can.
#[test]
fn a_path_closes_while_its_use_cannot_be_saved() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let a = &testbed.files.a;
    let folder = testbed.files.path("state");
    fs::create_dir(&folder).unwrap();
    let state = folder.join("a.json");
    for file in [a, &testbed.files.b] {
        edit(file, "\"probe-and-switch\"", "\"duplicate-all\"");
    }
    let node = start_with_quota(&testbed, "100 MB", &state);
    let _b = testbed.start_b();
    await_status(a, is_up);
    let moved = testbed.files.path("moved");
    fs::rename(&folder, &moved).unwrap();
    let covered = fs::read(moved.join("a.json")).unwrap();
    let covered: Value = serde_json::from_slice(&covered).unwrap();
    let covered = covered["quotas"]["uplink1"]["used"].as_u64().unwrap();
    let usage = |status: &Value, key: &str| status["paths"][0]["usage"][key].clone();
    for _ in 0..20 {
        ping_hard(&testbed.a, "200");
    }
    let status = await_status(a, |status| usage(status, "closed") == true);
    assert_eq!(usage(&status, "unsaved"), true);
    let used = usage(&status, "used_bytes").as_u64().unwrap();
    assert!(used <= covered + 1000, "{used} B, {covered} saved");
    let log = await_log(a, "what it covers of the quota", 1);
    assert_eq!(log.matches("retries each second").count(), 1, "{log}");
    fs::rename(&moved, &folder).unwrap();
    await_status(a, |status| {
        usage(status, "closed") == false && usage(status, "unsaved") == false
    });
    let log = await_log(a, "the state can be written again", 1);
    assert!(log.contains("the use of the path's quota"), "{log}");
    let pid = Pid::from_raw(i32::try_from(node.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let log = await_log(a, "stopped", 1);
    assert!(log.contains("SIGTERM"), "{log}");
}

/// The file is written as the user of the node, and by one node alone.
#[test]
fn a_state_file_belongs_to_one_node_and_its_user() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let a = &testbed.files.a;
    let state = testbed.files.path("a.json");
    let node = start_with_quota(&testbed, "100 MB", &state);
    await_log(a, "ready", 1);
    let second = || {
        let mut command = polypath();
        command.arg("node").arg(&testbed.files.b);
        command.arg("--state").arg(&state);
        command.output().unwrap()
    };
    let output = second();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("a file of its own"), "{text}");
    drop(node);
    edit(a, "[node]\n", "[node]\nuser = \"nobody\"\n");
    let mut node = Node::start_with(&testbed.a, a, &["--state".as_ref(), state.as_ref()]);
    assert_eq!(node.0.wait().unwrap().code(), Some(2));
    let log = fs::read_to_string(log_of(a)).unwrap();
    assert!(log.contains("let the user `nobody`"), "{log}");

    let b = &testbed.files.b;
    let node = testbed.start_b();
    await_log(b, "ready", 1);
    let remote = "remote = \"10.1.2.1:7001\"";
    let tariff = format!("{remote}\ntariff = {{ quota = \"1 GB\" }}");
    edit(b, remote, &tariff);
    send_hangup(&node);
    let log = await_log(b, "reload refused", 1);
    let reason = "b.toml: `path.1.tariff.quota`: the use of the quota would be forgotten";
    assert!(
        log.contains(reason) && log.contains("takes a restart"),
        "{log}"
    );
}
