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
    ping_hard(&testbed.a, "1200");
    let status = await_status(a, |status| usage(status, "closed") == true);
    let used = usage(&status, "used_bytes").as_u64().unwrap();
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
    ping_hard(&testbed.a, "1200");
    await_status(a, |status| usage(status, "closed") == true);
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
    let text = start(None);
    assert!(text.contains("with `--state FILE`"), "{text}");
    let damaged = files.path("damaged.json");
    fs::write(&damaged, "{\"version\":1,").unwrap();
    for state in [&damaged, &files.path("none/a.json")] {
        let text = start(Some(state));
        assert!(text.contains("begin a new count"), "{text}");
    }
}
