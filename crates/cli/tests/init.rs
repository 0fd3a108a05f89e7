//! The command line of `polypath init` and `polypath check`.

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{polypath, printed};
use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use serde_json::Value;

/// Runs `polypath init` in `folder`.
fn init(folder: &Path, options: &[&str]) -> Output {
    let mut command = polypath();
    command.current_dir(folder).arg("init").args(options);
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names of the entries of a folder.
fn entries(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| name(entry.unwrap())).collect()
}

#[test]
fn the_files_are_valid_and_the_keys_private() {
    let directory = tempfile::tempdir().unwrap();
    let options = [
        "--b-address",
        "203.0.113.7",
        "--relay",
        "198.51.100.9",
        "--preshared",
    ];
    let text = printed(&init(directory.path(), &options));
    let nodes = directory.path().join("nodes");
    let names = [
        "a-b.psk",
        "a.key",
        "a.toml",
        "b.key",
        "b.toml",
        "relay.key",
        "relay.toml",
    ];
    assert_eq!(entries(&nodes), names.map(str::to_owned).into());
    for command in [
        "scp -p nodes/b.toml nodes/b.key nodes/a-b.psk root@203.0.113.7:/etc/polypath/\n",
        "polypath check /etc/polypath/a.toml && polypath node /etc/polypath/a.toml\n",
        "mkdir -p /var/lib/polypath && polypath node /etc/polypath/b.toml --state /var/lib/polypath/b.json\n",
        "polypath relay /etc/polypath/relay.toml\n",
        "polypath status pp0\n",
    ] {
        assert!(text.contains(command), "{command}: {text}");
    }
    for name in ["a-b.psk", "a.key", "b.key", "relay.key"] {
        let mode = fs::metadata(nodes.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mut command = polypath();
    command.current_dir(&nodes).arg("check").args(names);
    let lines = printed(&command.output().unwrap());
    assert!(
        lines.contains("a.toml: a node file: valid; run it with: polypath node a.toml\n"),
        "{lines}"
    );
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains(": valid; "))
            .count(),
        7,
        "{lines}"
    );
    // A random network of their own.
    let second = init(
        directory.path(),
        &["second", "--b-address", "203.0.113.7", "--format", "json"],
    );
    let second: Value = serde_json::from_str(&printed(&second)).unwrap();
    let address = second["tunnel"]["a"][1].as_str().unwrap();
    assert!(
        address.starts_with("fd") && !text.contains(address.trim_end_matches("/64")),
        "{address}"
    );
    assert_eq!(second["commands"][0]["machine"], "here");
    let key = printed(
        &polypath()
            .args(["key", "--public"])
            .arg(directory.path().join("second/a.key"))
            .output()
            .unwrap(),
    );
    assert_eq!(second["public_keys"]["a"], key.trim());
}

#[test]
fn nothing_is_overwritten_and_no_half_set_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::write(root.join("b.key"), "mine").unwrap();
    let refused = init(root, &[".", "--b-address", "203.0.113.7"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("./b.key exists, and nothing is overwritten; choose another"),
        "{refused:?}"
    );
    // The keys are written before the mistake is found.
    for options in [
        &[
            "x/y",
            "--b-address",
            "203.0.113.7",
            "--policy",
            "duplicate-al",
        ][..],
        &["x/y", "--b-address", "203.0.113.7", "--device", "a/b"],
        &[
            "x/y",
            "--b-address",
            "203.0.113.7",
            "--a-address",
            "203.0.113.7",
        ],
    ] {
        let refused = init(root, options);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(stderr(&refused).contains("none is written"), "{refused:?}");
    }
    assert!(
        stderr(&init(
            root,
            &["x", "--b-address", "::1", "--policy", "duplicate-al"]
        ))
        .contains("`duplicate-all`")
    );
    let unprinted = polypath()
        .current_dir(root)
        .args(["init", "x", "--b-address", "::1"])
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(unprinted.status.code(), Some(1), "{unprinted:?}");
    let file = init(root, &["b.key/x", "--b-address", "203.0.113.7"]);
    assert!(
        stderr(&file).contains("cannot write to the folder b.key/x"),
        "{file:?}"
    );
    assert_eq!(entries(root), [String::from("b.key")].into());
    assert_eq!(fs::read_to_string(root.join("b.key")).unwrap(), "mine");
}

/// A node process, killed on drop.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // Fails if the node has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the node `name` of the files in `folder`, with its control socket there.
fn start(namespace: &Namespace, folder: &Path, name: &str) -> Node {
    let runtime = folder.join(format!("run-{name}"));
    fs::create_dir(&runtime).unwrap();
    let mut command = polypath();
    command.arg("node").arg(folder.join(format!("{name}.toml")));
    command
        .env("RUNTIME_DIRECTORY", runtime)
        .stdin(Stdio::null());
    command.stderr(File::create(folder.join(format!("{name}.log"))).unwrap());
    Node(namespace.spawn(&mut command).unwrap())
}

#[test]
fn two_nodes_of_the_written_files_form_a_tunnel() {
    if !can_test() {
        return;
    }
    let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"]).unwrap();
    a.join(&b, "p2", ["10.1.2.1/24", "10.1.2.2/24"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let options = [
        "--a-address",
        "10.1.1.1,10.1.2.1",
        "--b-address",
        "10.1.1.2,10.1.2.2",
        "--preshared",
        "--format",
        "json",
    ];
    let written: Value = serde_json::from_str(&printed(&init(directory.path(), &options))).unwrap();
    let folder = directory.path().join("nodes");
    let _nodes = [start(&a, &folder, "a"), start(&b, &folder, "b")];
    for peer in written["tunnel"]["b"].as_array().unwrap() {
        let (address, _) = peer.as_str().unwrap().split_once('/').unwrap();
        let replied = (0..40).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            let mut ping = Command::new("ping");
            a.output(ping.args(["-n", "-c", "1", "-W", "1", address]))
                .is_ok()
        });
        let log = fs::read_to_string(folder.join("a.log")).unwrap();
        assert!(replied, "no reply from {address}: {log}");
    }
    assert!(both_paths_carry(&folder));
}

/// Whether node a of the files in `folder` has two paths, on each of which datagrams arrive.
fn both_paths_carry(folder: &Path) -> bool {
    let mut status = polypath();
    status
        .arg("status")
        .arg(folder.join("run-a/pp0.sock"))
        .args(["--format", "json"]);
    let output = status.output().unwrap();
    let Ok(status) = serde_json::from_slice::<Value>(&output.stdout) else {
        return false;
    };
    let paths = status["paths"].as_array().unwrap();
    let carries = |path: &Value| path["authentic"].as_u64() > Some(0);
    paths.len() == 2 && paths.iter().all(carries)
}

#[test]
fn each_default_path_takes_an_uplink_of_its_own() {
    if !can_test() {
        return;
    }
    let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let run = |namespace: &Namespace, line: &str| {
        let arguments: Vec<&str> = line.split(' ').collect();
        namespace.ip(&arguments).unwrap();
    };
    run(&b, "address add 10.9.9.9/32 dev lo");
    for (link, metric) in [(1, 100), (2, 200)] {
        let ends = [1, 2].map(|end| format!("10.1.{link}.{end}/24"));
        a.join(&b, &format!("p{link}"), [&ends[0], &ends[1]])
            .unwrap();
        run(
            &a,
            &format!("route add 10.9.9.9 via 10.1.{link}.2 dev p{link} metric {metric}"),
        );
    }
    let directory = tempfile::tempdir().unwrap();
    printed(&init(directory.path(), &["--b-address", "10.9.9.9"]));
    let folder = directory.path().join("nodes");
    let _nodes = [start(&a, &folder, "a"), start(&b, &folder, "b")];
    let carried = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        both_paths_carry(&folder)
    });
    let log = fs::read_to_string(folder.join("a.log")).unwrap();
    assert!(carried, "{log}");
}
