//! Interfaces and addresses that appear, change and disappear below a running node.

use std::time::Duration;

use polypath_live::clock::Clock;
use serde_json::{Value, json};
use testbed::Testbed;

#[path = "nodes/datagrams.rs"]
mod datagrams;
#[path = "uplinks/testbed.rs"]
mod testbed;

fn is_live(path: &Value) -> bool {
    path["liveness"]["state"] == "live"
}

#[test]
fn a_node_starts_without_its_interface_and_uses_it_once_it_exists() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let b = testbed.start_b("[[path]]\nname = \"one\"\nlocal = \"0.0.0.0:7001\"\n");
    let a = testbed.start_a(
        "",
        "[[path]]\nname = \"one\"\nlocal = \"10.1.1.1:7001\"\nremote = \"10.1.1.2:7001\"\ninterface = \"p1\"\n",
    );
    let one = &testbed.paths("a")[0];
    assert_eq!(one["missing"], json!({ "kind": "interface", "name": "p1" }));
    assert_eq!(
        (&one["interface"], &one["local"]),
        (&json!("p1"), &Value::Null)
    );
    testbed.add_link(1);
    let took = testbed.await_paths("bound", |paths| paths[0]["missing"].is_null());
    assert!(took <= Duration::from_secs(1), "{took:?}");
    assert_eq!(testbed.paths("a")[0]["local"], "10.1.1.1:7001");
    testbed.await_crossing();
    a.finish().unwrap();
    b.finish().unwrap();
}

#[test]
fn a_recreated_link_is_used_again_without_loss_on_the_other_link() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    testbed.add_link(1);
    testbed.add_link(2);
    let table = |number: u8, end: u8, rest: &str| {
        let local = format!("10.1.{number}.{end}:7001");
        format!("[[path]]\nname = \"p{number}\"\nlocal = \"{local}\"\n{rest}\n")
    };
    let to = |number: u8| format!("remote = \"10.1.{number}.2:7001\"\ninterface = \"p{number}\"");
    let b = testbed.start_b(&(table(1, 2, "") + &table(2, 2, "")));
    let a = testbed.start_a("", &(table(1, 1, &to(1)) + &table(2, 1, &to(2))));
    testbed.await_paths("both live", |paths| paths.iter().all(is_live));
    let missing = |testbed: &Testbed, name: &str| testbed.paths(name)[0]["missing"].clone();
    let arrived = datagrams::run(
        &testbed,
        Clock::starting_now(),
        600,
        |number| match number {
            100 => testbed.remove_link(1),
            150 => {
                let interface = json!({ "kind": "interface", "name": "p1" });
                assert_eq!(missing(&testbed, "a"), interface);
                let address = json!({ "kind": "address", "name": "10.1.1.2" });
                assert_eq!(missing(&testbed, "b"), address);
            }
            200 => testbed.add_link(1),
            // One second later.
            250 => assert_eq!(
                [missing(&testbed, "a"), missing(&testbed, "b")],
                [Value::Null, Value::Null]
            ),
            _ => {}
        },
    );
    assert_eq!(arrived.len(), 600);
    testbed.await_paths("both live again", |paths| paths.iter().all(is_live));
    assert!(
        testbed.paths("b").iter().all(is_live),
        "{:#?}",
        testbed.paths("b")
    );
    a.finish().unwrap();
    b.finish().unwrap();
}

/// The interface name of each path.
fn interfaces(paths: &[Value]) -> Vec<Option<&str>> {
    paths
        .iter()
        .map(|path| path["interface"].as_str())
        .collect()
}

#[test]
fn automatic_paths_follow_uplinks_that_appear_change_address_and_disappear() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    // The peer's address, independent of the uplink.
    testbed
        .b
        .ip(&["address", "add", "10.9.0.2/32", "dev", "lo"])
        .unwrap();
    let default_route = |number: u8| {
        let (via, metric) = (format!("10.1.{number}.2"), format!("{}", 100 + number));
        testbed
            .a
            .ip(&["route", "add", "default", "via", &via, "metric", &metric])
            .unwrap();
    };
    let b = testbed.start_b(
        "[[path]]\nname = \"one\"\nlocal = \"10.9.0.2:7001\"\n\
         [[path]]\nname = \"two\"\nlocal = \"10.9.0.2:7002\"\n",
    );
    let a = testbed.start_a(
        "paths = \"auto\"",
        "[auto]\nexcept = [\"p9\"]\n\
         [[path]]\nname = \"one\"\nremote = \"10.9.0.2:7001\"\n\
         [[path]]\nname = \"two\"\nremote = \"10.9.0.2:7002\"\n",
    );
    let no_uplink = json!({ "kind": "uplink" });
    assert!(
        testbed
            .paths("a")
            .iter()
            .all(|path| path["missing"] == no_uplink)
    );
    // The alias by which other nodes recognise the device.
    let tun = testbed.a.ip(&["link", "show", "pp1"]).unwrap();
    assert!(tun.contains("alias polypath node"), "{tun}");
    testbed.add_link(9);
    default_route(9);
    testbed.add_link(1);
    default_route(1);
    testbed.await_paths("the first uplink", |paths| is_live(&paths[0]));
    assert_eq!(interfaces(&testbed.paths("a")), [Some("p1"), None]);
    let local = |index: usize| {
        testbed.paths("a")[index]["local"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let arrived = datagrams::run(
        &testbed,
        Clock::starting_now(),
        900,
        |number| match number {
            50 => {
                testbed.add_link(2);
                default_route(2);
            }
            250 => {
                let paths = testbed.paths("a");
                assert!(paths.iter().all(is_live), "{paths:#?}");
                assert_eq!(interfaces(&paths), [Some("p1"), Some("p2")]);
                assert!(local(1).starts_with("10.1.2.1:"));
                // As DHCP does with a new lease.
                let address = |what, ip| testbed.a.ip(&["address", what, ip, "dev", "p2"]).unwrap();
                address("del", "10.1.2.1/24");
                address("add", "10.1.2.7/24");
                default_route(2);
            }
            350 => assert!(local(1).starts_with("10.1.2.7:"), "{}", local(1)),
            500 => {
                let paths = testbed.paths("a");
                assert!(paths.iter().all(is_live), "{paths:#?}");
                assert_eq!(testbed.paths("b")[1]["remote"], local(1));
                testbed.remove_link(1);
            }
            // p1 has the better metric, but p2 keeps its path.
            650 => {
                assert_eq!(interfaces(&testbed.paths("a")), [None, Some("p2")]);
                testbed.add_link(1);
                default_route(1);
            }
            _ => {}
        },
    );
    assert_eq!(arrived.len(), 900);
    testbed.await_paths("both live", |paths| paths.iter().all(is_live));
    assert_eq!(interfaces(&testbed.paths("a")), [Some("p1"), Some("p2")]);
    assert!(testbed.paths("b").iter().all(is_live));
    a.finish().unwrap();
    b.finish().unwrap();
}
