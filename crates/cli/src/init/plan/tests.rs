use clap::Parser;
use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use polypath_session::key::PublicKey;

use super::*;

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    args: Args,
}

fn plan(options: &[&str]) -> Result<Plan, String> {
    let all = ["init", "--tunnel", "10.77.0.0/24"].iter().chain(options);
    let options = Options::try_parse_from(all).map_err(|error| error.to_string())?;
    Plan::of(&options.args).map_err(|failure| failure.message())
}

fn keys(plan: &Plan) -> PublicKeys {
    PublicKeys {
        a: PublicKey([1; 32]),
        b: PublicKey([2; 32]),
        relay: plan.has_relay().then_some(PublicKey([3; 32])),
    }
}

/// The configurations of both nodes.
fn configs(plan: &Plan) -> [NodeConfig; 2] {
    let keys = keys(plan);
    [Side::A, Side::B].map(|side| {
        let text = plan.node(side, &keys);
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        NodeConfig::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
    })
}

/// The local and remote ports of the paths of both nodes; 0 for none.
fn ports(configs: &[NodeConfig; 2]) -> Vec<[u16; 3]> {
    let port = |address: Option<SocketAddr>| address.map_or(0, |address| address.port());
    let paths = configs[0].paths.iter().zip(&configs[1].paths);
    paths
        .map(|(a, b)| [port(a.local), port(a.target()), port(b.local)])
        .collect()
}

#[test]
fn each_path_has_an_address_and_port_at_both_nodes() {
    for (options, wanted) in [
        (
            &["--a-address", "192.0.2.1", "--b-address", "192.0.2.2"][..],
            vec![[7001, 7001, 7001]],
        ),
        (
            &[
                "--a-address",
                "192.0.2.1,10.1.1.1",
                "--b-address",
                "192.0.2.2",
            ],
            vec![[7001, 7001, 7001], [7002, 7002, 7002]],
        ),
        (
            &[
                "--a-address",
                "192.0.2.1:900,10.1.1.1",
                "--b-address",
                "192.0.2.2:800",
            ],
            vec![[900, 800, 800], [7002, 801, 801]],
        ),
        (
            &["--b-address", "192.0.2.2,192.0.2.2"],
            vec![[0, 7001, 7001], [0, 7002, 7002]],
        ),
        (
            &[
                "--a-address",
                "::1:1",
                "--b-address",
                "::1:2",
                "--relay",
                "[::1:9]:99",
            ],
            vec![[7001, 7001, 7001], [7002, 99, 7002]],
        ),
    ] {
        let plan = plan(options).unwrap();
        let configs = configs(&plan);
        assert_eq!(ports(&configs), wanted, "{options:?}");
        let direct = configs[1].paths.iter().filter(|path| path.relay.is_none());
        assert!(direct.into_iter().all(|path| path.remote.is_none()));
        assert_eq!(
            plan.relay(&keys(&plan)).is_some(),
            options.contains(&"--relay")
        );
    }
}

#[test]
fn both_nodes_have_the_paths_of_the_option() {
    for (options, wanted) in [
        ("--b-address 192.0.2.2", &["path1", "path2"][..]),
        ("--b-address 192.0.2.2 --paths 1", &["path1"]),
        (
            "--b-address 192.0.2.2 --paths 3",
            &["path1", "path2", "path3"],
        ),
        ("--b-address ::1,::2,::3", &["path1", "path2", "path3"]),
        ("--a-address ::3 --b-address ::1", &["path1"]),
        (
            "--a-address ::3 --b-address ::1 --paths 2",
            &["path1", "path2"],
        ),
        ("--b-address ::1 --relay ::9", &["path1", "relayed"]),
        (
            "--b-address ::1 --relay ::9 --paths 3",
            &["path1", "path2", "relayed"],
        ),
        ("--b-address ::1 --relay ::9 --paths 1", &["relayed"]),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let plan = plan(&options).unwrap();
        for config in configs(&plan) {
            let names = config.paths.iter().map(|path| path.name.as_str());
            assert_eq!(names.collect::<Vec<_>>(), wanted, "{options:?}");
        }
    }
    let most = plan(&["--b-address", "192.0.2.2", "--paths", "64"]).unwrap();
    let ports = ports(&configs(&most));
    assert_eq!(ports.last(), Some(&[0, 7064, 7064]));
    let many = ["::1"; 65].join(",");
    let refused = plan(&["--b-address", &many]).err().unwrap();
    assert!(
        refused.contains("65 paths, and a node has at most 64"),
        "{refused}"
    );
}

#[test]
fn commands_are_safe_to_paste() {
    let plan = plan(&["--b-address", "2001:db8::1", "--device", "pp;x"]).unwrap();
    for (folder, wanted) in [
        ("nodes", "scp -p nodes/b.toml nodes/b.key "),
        (
            "my 'nodes'",
            "scp -p \"my 'nodes'/b.toml\" \"my 'nodes'/b.key\" ",
        ),
        ("a:b", "scp -p ./a:b/b.toml ./a:b/b.key "),
        ("-f", "scp -p ./-f/b.toml ./-f/b.key "),
        ("/$x", "scp -p '/$x/b.toml' '/$x/b.key' "),
    ] {
        let folder = Path::new(folder);
        let commands = plan.commands(folder);
        let all: Vec<&str> = commands
            .iter()
            .map(|next| next["command"].as_str().unwrap())
            .collect();
        let copy = format!("{wanted}'root@[2001:db8::1]:/etc/polypath/'");
        assert!(all.contains(&&*copy), "{copy}: {all:?}");
        assert!(all.contains(&"polypath status 'pp;x'"), "{all:?}");
        let text = plan.text(folder);
        let (_, remove) = text
            .trim_end()
            .rsplit_once("remove the private keys here: rm ")
            .unwrap();
        assert_eq!(
            remove,
            wanted["scp -p ".len()..].trim().replace("b.toml", "a.key"),
            "{text}"
        );
    }
}

#[test]
fn options_are_strings_in_the_files() {
    let plan = plan(&["--b-address", "::1", "--device", "p\"\\"]).unwrap();
    let [a, _] = configs(&plan);
    assert_eq!(a.node.name(), "p\"\\");
}

#[test]
fn the_relay_forwards_between_both_nodes() {
    let options = [
        "--b-address",
        "192.0.2.2",
        "--relay",
        "192.0.2.9",
        "--relay-rate",
        "5 Mbit/s",
    ];
    let plan = plan(&options).unwrap();
    let text = plan.relay(&keys(&plan)).unwrap();
    let file = RelayFile::parse(&text, "relay.toml").unwrap();
    let path = &file.paths[0];
    assert_eq!(path.local, "0.0.0.0:7101".parse().unwrap());
    assert_eq!(path.rate, Rate::from_mbits(5));
    let keys = keys(&plan);
    assert_eq!(
        [path.nodes[0].public_key, path.nodes[1].public_key],
        [keys.a, keys.b]
    );
    let [a, _] = configs(&plan);
    let relay = a.paths[1].relay.as_ref().unwrap();
    assert_eq!(Some(relay.public_key), keys.relay);
}

#[test]
fn inconsistent_options_are_refused_with_their_name() {
    let both = "192.0.2.1,192.0.2.3";
    for (options, wanted) in [
        (
            &["--a-address", both, "--b-address", "::1,::2,::3"][..],
            "--a-address has 2",
        ),
        (
            &["--b-address", "192.0.2.1:65535,192.0.2.1", "--relay", "::1"],
            "",
        ),
        (
            &["--b-address", "192.0.2.1:65535", "--relay", "192.0.2.9"],
            "above 65535",
        ),
        (
            &["--b-address", "example.org"],
            "write an address, such as 192.0.2.1",
        ),
        (
            &["--b-address", "192.0.2.1", "--a-name", "b"],
            "a name of its own",
        ),
        (
            &["--b-address", "192.0.2.1", "--a-name", "../x"],
            "letters, digits",
        ),
        (&["--a-address", "192.0.2.1"], "--b-address"),
        (
            &["--b-address", "::1,::2,::3", "--paths", "2"],
            "--b-address has 3 addresses for --paths 2; give at most one",
        ),
        (
            &["--b-address", "::1", "--paths", "0"],
            "use a whole number from 1 to 64",
        ),
        (
            &["--b-address", "::1", "--paths", "65"],
            "use a whole number from 1 to 64",
        ),
        (
            &["--b-address", "::1", "--paths", "-2"],
            "use a whole number from 1 to 64",
        ),
        (
            &["--b-address", "::1", "--paths", "two"],
            "use a whole number from 1 to 64",
        ),
    ] {
        match plan(options) {
            Err(error) => assert!(!wanted.is_empty() && error.contains(wanted), "{error}"),
            Ok(_) => assert!(wanted.is_empty(), "{options:?}"),
        }
    }
}

#[test]
fn the_ports_that_receive_first_are_open() {
    for (options, wanted) in [
        ("--b-address 192.0.2.2", json!({ "b": [7001, 7002] })),
        (
            "--b-address 192.0.2.2:900,192.0.2.3:900 --a-address ::1:5",
            json!({ "b": [900] }),
        ),
        (
            "--b-address ::1 --relay 192.0.2.9",
            json!({ "b": [7001], "relay": [7101] }),
        ),
        (
            "--b-address ::1 --relay 192.0.2.9:99 --paths 1",
            json!({ "relay": [99] }),
        ),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let plan = plan(&options).unwrap();
        assert_eq!(plan.open_ports_json(), wanted, "{options:?}");
        let text = plan.text(Path::new("nodes"));
        for (machine, ports) in wanted.as_object().unwrap() {
            let ports: Vec<String> = ports
                .as_array()
                .unwrap()
                .iter()
                .map(Value::to_string)
                .collect();
            let line = format!(
                "open in the firewall of {machine}: UDP {}\n",
                ports.join(", ")
            );
            assert!(text.contains(&line), "{line}: {text}");
        }
        assert_eq!(
            text.matches("firewall").count(),
            wanted.as_object().unwrap().len()
        );
    }
}

#[test]
fn a_preshared_key_is_named_at_both_nodes_and_copied_to_them_alone() {
    let options = ["--b-address", "192.0.2.2", "--relay", "192.0.2.9"];
    let without = plan(&options).unwrap();
    assert!(
        configs(&without)
            .iter()
            .all(|config| config.peer.preshared_key_file.is_none())
    );
    let plan = plan(&[&options[..], &["--preshared", "--a-name", "home"]].concat()).unwrap();
    for config in configs(&plan) {
        assert_eq!(config.peer.preshared_key_file, Some("home-b.psk".into()));
    }
    let commands = plan.next_commands(Path::new("n")).into_iter();
    let copies: Vec<String> = commands.map(|next| next.command).take(3).collect();
    for (copy, files) in copies.iter().zip([
        "n/home.toml n/home.key n/home-b.psk ",
        "n/b.toml n/b.key n/home-b.psk ",
        "n/relay.toml n/relay.key ",
    ]) {
        assert!(copy.starts_with(&format!("scp -p {files}")), "{copy}");
        assert_eq!(
            copy.matches("n/").count(),
            files.matches("n/").count(),
            "{copy}"
        );
    }
    let text = plan.text(Path::new("n"));
    assert!(
        text.ends_with(": rm n/home.key n/b.key n/home-b.psk n/relay.key\n"),
        "{text}"
    );
}
