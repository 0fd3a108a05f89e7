//! Reloads of a running node's file.

use std::net::UdpSocket;

use serde_json::Value;

use super::operation::{await_status, is_up, send_hangup};
use super::*;

/// Numbered datagrams in both directions, one every [`INTERVAL`].
struct Flow {
    sockets: [UdpSocket; 2],
}

/// The interval between datagrams in one direction: 400 per second.
const INTERVAL: Duration = Duration::from_micros(2500);

impl Flow {
    fn new(testbed: &Testbed) -> Self {
        let bind = |address: &'static str| move || UdpSocket::bind(address);
        let a = testbed.a.run(bind("10.77.0.1:6000")).unwrap();
        let b = testbed.b.run(bind("10.77.0.2:6000")).unwrap();
        a.connect("10.77.0.2:6000").unwrap();
        b.connect("10.77.0.1:6000").unwrap();
        for socket in [&a, &b] {
            socket
                .set_read_timeout(Some(Duration::from_secs(1)))
                .unwrap();
        }
        Self { sockets: [a, b] }
    }

    /// Sends `count` datagrams in each direction and returns the numbers that arrived at a and at
    /// b; calls `before` with each number before it is sent.
    fn run(&self, count: u32, mut before: impl FnMut(u32)) -> [Vec<u32>; 2] {
        std::thread::scope(|scope| {
            let receivers = self.sockets.each_ref().map(|socket| {
                scope.spawn(|| {
                    let (mut numbers, mut buffer) = (Vec::new(), [0; 200]);
                    while socket.recv(&mut buffer).is_ok() {
                        numbers.push(u32::from_be_bytes(*buffer.first_chunk().unwrap()));
                    }
                    numbers
                })
            });
            for number in 0..count {
                before(number);
                let mut datagram = [0; 200];
                *datagram.first_chunk_mut().unwrap() = number.to_be_bytes();
                for socket in &self.sockets {
                    socket.send(&datagram).unwrap();
                }
                std::thread::sleep(INTERVAL);
            }
            receivers.map(|receiver| receiver.join().unwrap())
        })
    }
}

/// Asserts that the numbers below `count` have arrived at each node, once.
fn assert_complete(arrived: [Vec<u32>; 2], count: u32, log: &str) {
    for (node, mut numbers) in ["a", "b"].iter().zip(arrived) {
        numbers.sort_unstable();
        let missing: Vec<u32> = (0..count)
            .filter(|n| numbers.binary_search(n).is_err())
            .collect();
        assert!(
            missing.is_empty(),
            "{missing:?} lost on the way to {node}: {log}"
        );
        assert_eq!(numbers.len(), count as usize, "duplicates at {node}");
    }
}

#[test]
fn a_reload_neither_loses_nor_duplicates_packets() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (a, b) = (&testbed.files.a, &testbed.files.b);
    // Node b learns the addresses of node a, and follows their changes.
    for remote in ["remote = \"10.1.1.1:7001\"\n", "remote = \"10.1.2.1:7001\""] {
        edit(b, remote, "");
    }
    let (node_a, node_b) = (testbed.start_a(), testbed.start_b());
    await_status(a, is_up);
    let before = await_status(b, is_up);
    let flow = Flow::new(&testbed);
    let arrived = flow.run(1600, |number| match number {
        400 => {
            edit(a, "probe-and-switch", "duplicate-all");
            edit(a, "local = \"10.1.1.1:7001\"", "local = \"10.1.1.1:7101\"");
            send_hangup(&node_a);
        }
        800 => {
            edit(b, "probe-and-switch", "single-path");
            send_hangup(&node_b);
        }
        1200 => {
            edit(a, "duplicate-all", "probe-and-switch");
            edit(
                a,
                "name = \"uplink2\"",
                "name = \"uplink2\"\ninterface = \"p2\"",
            );
            edit(a, "[peer]", "[liveness]\nmisses = 5\n[peer]");
            send_hangup(&node_a);
        }
        _ => {}
    });
    let (log_a, log_b) = (await_log(a, "reloaded", 2), await_log(b, "reloaded", 1));
    assert_complete(arrived, 1600, &format!("{log_a}{log_b}"));
    let status = await_status(a, |status| status["reloads"]["applied"] == 2);
    assert_eq!(status["policy"]["kind"], "probe-and-switch");
    assert_eq!(status["paths"][0]["local"], "10.1.1.1:7101");
    let (_, log) = log_a.rsplit_once("changed=").unwrap();
    assert!(log.contains("policy, liveness, path.1.interface"), "{log}");
    let status = await_status(b, |status| status["reloads"]["applied"] == 1);
    assert_eq!(
        status["paths"][0]["remote"], "10.1.1.1:7101",
        "node b follows the new address"
    );
    let established = |status: &Value| status["session"]["established"].clone();
    assert_eq!(
        established(&status),
        established(&before),
        "the session has not been renewed"
    );
    assert!(
        status["paths"]
            .as_array()
            .unwrap()
            .iter()
            .all(|p| p["liveness"]["silences"] == 0)
    );
}

/// The policies of many senders and of copies that mask congestion replace others under traffic.
#[test]
fn reloads_to_delay_growth_and_diversity_lose_nothing() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let files = [&testbed.files.a, &testbed.files.b];
    let nodes = [testbed.start_a(), testbed.start_b()];
    for file in files {
        await_status(file, is_up);
    }
    let change = |from: &str, to: &str| {
        for (file, node) in files.iter().zip(&nodes) {
            edit(file, from, to);
            send_hangup(node);
        }
    };
    let flow = Flow::new(&testbed);
    let arrived = flow.run(900, |number| match number {
        300 => change("probe-and-switch", "delay-growth"),
        600 => change("delay-growth", "diversity"),
        _ => {}
    });
    let log = files.map(|file| await_log(file, "reloaded", 2)).concat();
    assert_complete(arrived, 900, &log);
    for file in files {
        let status = await_status(file, |status| status["reloads"]["applied"] == 2);
        assert_eq!(status["policy"]["kind"], "diversity");
    }
}

#[test]
fn an_impossible_reload_is_refused_entirely_and_logged() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (a, _b) = (testbed.start_a(), testbed.start_b());
    let file = &testbed.files.a;
    await_status(file, is_up);
    edit(file, "\"pp0\"", "\"pp9\"");
    edit(file, "probe-and-switch", "duplicate-all");
    send_hangup(&a);
    let log = await_log(file, "reload refused", 1);
    assert!(log.contains("node.tun.name"), "{log}");
    let status = await_status(file, |status| status["reloads"]["refused"] == 1);
    assert_eq!(status["policy"]["kind"], "probe-and-switch");
    let error = status["reloads"]["last_error"].as_str().unwrap();
    assert!(error.contains("node.tun.name"), "{error}");
    edit(file, "\"pp9\"", "\"pp0\"");
    edit(file, "duplicate-all", "duplicat-all");
    send_hangup(&a);
    let log = await_log(file, "reload refused", 2);
    assert!(
        log.contains("a.toml:") && log.contains("`duplicate-all`"),
        "{log}"
    );
    edit(file, "duplicat-all", "duplicate-all");
    send_hangup(&a);
    let status = await_status(file, |status| status["reloads"]["applied"] == 1);
    assert_eq!(status["policy"]["kind"], "duplicate-all");
    assert!(status["reloads"]["last_error"].is_null() && is_up(&status));
}
