//! Interfaces and addresses that come and go under a node in a network namespace.

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
fn a_node_starts_before_its_interface_is_there_and_uses_it_once_it_is() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let b = testbed.start_b("[[path]]\nname = \"one\"\nlocal = \"0.0.0.0:7001\"\n");
    let a = testbed.start_a(
        "",
        "[[path]]\nname = \"one\"\nlocal = \"10.1.1.1:7001\"\nremote = \"10.1.1.2:7001\"\ninterface = \"p1\"\n",
    );
    let one = &testbed.paths("a")[0];
    assert_eq!(one["missing"], json!({ "what": "interface", "name": "p1" }));
    assert_eq!(
        (&one["interface"], &one["local"]),
        (&json!("p1"), &Value::Null)
    );
    testbed.join(1);
    let took = testbed.await_paths("bound", |paths| paths[0]["missing"].is_null());
    assert!(took <= Duration::from_secs(1), "{took:?}");
    assert_eq!(testbed.paths("a")[0]["local"], "10.1.1.1:7001");
    testbed.await_crossing();
    a.finish().unwrap();
    b.finish().unwrap();
}

#[test]
fn a_link_that_is_another_after_a_while_is_used_again_and_the_other_one_loses_nothing() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    testbed.join(1);
    testbed.join(2);
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
            100 => testbed.part(1),
            150 => {
                let interface = json!({ "what": "interface", "name": "p1" });
                assert_eq!(missing(&testbed, "a"), interface);
                let address = json!({ "what": "address", "name": "10.1.1.2" });
                assert_eq!(missing(&testbed, "b"), address);
            }
            200 => testbed.join(1),
            // A second later.
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

/// The names of the interfaces that the paths of node a have.
fn taken(paths: &[Value]) -> Vec<Option<&str>> {
    paths
        .iter()
        .map(|path| path["interface"].as_str())
        .collect()
}

#[test]
fn paths_find_uplinks_that_come_are_renumbered_and_go_while_a_flow_goes_on() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    // Where the peer receives, wherever it is reached.
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
    let waits = json!({ "what": "uplink" });
    assert!(
        testbed
            .paths("a")
            .iter()
            .all(|path| path["missing"] == waits)
    );
    // By which another node would know it.
    let tun = testbed.a.ip(&["link", "show", "pp1"]).unwrap();
    assert!(tun.contains("alias polypath node"), "{tun}");
    testbed.join(9);
    default_route(9);
    testbed.join(1);
    default_route(1);
    testbed.await_paths("the first uplink", |paths| is_live(&paths[0]));
    assert_eq!(taken(&testbed.paths("a")), [Some("p1"), None]);
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
                testbed.join(2);
                default_route(2);
            }
            250 => {
                let paths = testbed.paths("a");
                assert!(paths.iter().all(is_live), "{paths:#?}");
                assert_eq!(taken(&paths), [Some("p1"), Some("p2")]);
                assert!(local(1).starts_with("10.1.2.1:"));
                // What DHCP does with another lease.
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
                testbed.part(1);
            }
            // It is the one with the better metric, and p2 keeps its path.
            650 => {
                assert_eq!(taken(&testbed.paths("a")), [None, Some("p2")]);
                testbed.join(1);
                default_route(1);
            }
            _ => {}
        },
    );
    assert_eq!(arrived.len(), 900);
    testbed.await_paths("both live", |paths| paths.iter().all(is_live));
    assert_eq!(taken(&testbed.paths("a")), [Some("p1"), Some("p2")]);
    assert!(testbed.paths("b").iter().all(is_live));
    a.finish().unwrap();
    b.finish().unwrap();
}
