use super::*;
use polypath_core::liveness::LivenessConfig;

mod auto;
mod classes;
mod load;
mod policy;
mod refused;
mod spacing;
mod udp_port;

const KEY: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";

const GOOD: &str = r#"
[node]
key_file = "a.key"
tun = { name = "pp0", addresses = ["10.77.0.1/24", "fd77::1/64"] }
[peer]
public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
[policy]
kind = "probe-and-switch"
[probing]
threshold = 3.0
[[path]]
name = "uplink1"
local = "10.1.1.1:7001"
remote = "10.1.1.2:7001"
[[path]]
name = "uplink2"
local = "[fd01::1]:7001"
interface = "p2"
"#;

fn errors(text: &str) -> String {
    NodeConfig::parse(text, "a.toml").unwrap_err().to_string()
}

/// The error of `GOOD` with `old` replaced by `new`.
fn error_of(old: &str, new: &str) -> String {
    let text = GOOD.replacen(old, new, 1);
    assert_ne!(text, GOOD, "{old}");
    errors(&text)
}

#[test]
fn a_name_cannot_change_the_terminal() {
    let message = error_of("\"uplink1\"", "\"\\u001b[31mred\"");
    assert!(
        message.contains("control characters") && !message.contains('\u{1b}'),
        "{message}"
    );
}

#[test]
fn a_complete_file_is_read() {
    let config = NodeConfig::parse(GOOD, "a.toml").unwrap();
    assert_eq!(config.peer.public_key.to_string(), KEY);
    assert_eq!(config.policy, PolicyConfig::probe_and_switch(0));
    assert!((config.probing.threshold - 3.0).abs() < f64::EPSILON);
    assert_eq!(config.probing.pair_len, ProbingConfig::default().pair_len);
    assert_eq!(config.node.tun.unwrap().queue, DEFAULT_QUEUE);
    assert_eq!(
        config.paths[0].remote,
        Some("10.1.1.2:7001".parse().unwrap())
    );
    assert_eq!(config.paths[1].remote, None);
    assert_eq!(config.paths[1].interface.as_deref(), Some("p2"));
}

#[test]
fn unknown_keys_are_named_with_the_nearest_one_and_the_line() {
    let message = error_of("remote =", "remot =");
    assert!(
        message.contains("a.toml:14:") && message.contains("`remote`"),
        "{message}"
    );
    let message = error_of("threshold", "treshold");
    assert!(
        message.contains("a.toml:10:") && message.contains("`threshold`"),
        "{message}"
    );
    let message = error_of("probe-and-switch", "probe-and-swich");
    assert!(
        message.contains("a.toml:8:") && message.contains("`probe-and-switch`"),
        "{message}"
    );
}

#[test]
fn invalid_values_are_refused_with_their_line() {
    let cases = [
        ("10.77.0.1/24", "10.77.0.1", "a.toml:4:"),
        ("\"pp0\"", "\"a name that is too long\"", "a.toml:4:"),
        (KEY, "AAAA", "a.toml:6:"),
        ("3.0", "-1.0", "a.toml:10:"),
        ("\"uplink2\"", "\"uplink1\"", "a.toml:16:"),
        ("10.1.1.2:7001", "[fd01::2]:7001", "a.toml:14:"),
        ("10.1.1.2:7001", "10.1.1.2:0", "a.toml:14:"),
        ("10.1.1.2:7001", "10.1.1.2", "a.toml:14:"),
        ("[fd01::1]:7001", "[fd01::1]:0", "a.toml:17:"),
        (
            "\"probe-and-switch\"",
            "\"single-path\"\npath = 2",
            "a.toml:9:",
        ),
        ("threshold = 3.0", "pair_len = \"50 B\"", "a.toml:10:"),
        ("threshold = 3.0", "pair_len = \"1 MB\"", "a.toml:10:"),
        ("threshold = 3.0", "pair_len = 1000", "a.toml:10:"),
        ("10.1.1.2:7001", "10.1.1.1:7001", "a.toml:14:"),
        ("\"pp0\"", "\"lo\"", "a.toml:4:"),
        ("10.77.0.1/24", "0.0.0.0/0", "a.toml:4:"),
        ("fd77::1/64", "10.77.0.1/8", "a.toml:4:"),
    ];
    for (old, new, place) in cases {
        let message = error_of(old, new);
        assert!(message.starts_with(place), "{new}: {message}");
    }
}

#[test]
fn the_parameters_of_a_delay_centric_policy_are_checked() {
    let guard = "\"delay-centric\"\nguard = { least = \"4 s\", most = \"1 s\" }";
    let message = error_of("\"probe-and-switch\"", guard);
    let expected = "policy `delay-centric`: `least` is 4 s, which is more than `most`, 1 s";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn an_invalid_address_is_named_with_a_remedy() {
    for (old, new) in [
        ("10.1.1.2:7001", "10.1.1.2"),
        ("10.1.1.1:7001", "10.1.1.1"),
        ("[fd01::1]:7001", "fd01::1:7001 "),
    ] {
        let message = error_of(old, new);
        let named = message.contains(&format!("`{new}`"));
        assert!(named && message.contains("192.0.2.1:7001"), "{message}");
    }
}

#[test]
fn an_invalid_prefix_is_named_with_a_remedy() {
    for text in [
        "10.77.0.1",
        "10.77.0.1/33",
        "fd77::1/129",
        "x/1",
        "10.0.0.1/-1",
        "",
    ] {
        let message = error_of("fd77::1/64", text);
        let named = message.starts_with("a.toml:4:") && message.contains(&format!("`{text}`"));
        assert!(named && message.contains("\"10.77.0.1/24\""), "{message}");
    }
}

#[test]
fn a_mistake_is_reported_once() {
    let message = error_of(
        "[\"10.77.0.1/24\", \"fd77::1/64\"]",
        "[\"10.77.0.1/24\"], mtu = 1",
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn the_pair_length_has_a_unit_as_in_scenarios() {
    let text = GOOD.replace("threshold = 3.0", "pair_len = \"1.2 kB\"");
    let config = NodeConfig::parse(&text, "a.toml").unwrap();
    assert_eq!(config.probing.pair_len, 1200);
}

#[test]
fn liveness_detection_is_on_by_default() {
    let read = |table: &str| {
        let text = GOOD.replace("[probing]", &format!("{table}\n[probing]"));
        NodeConfig::parse(&text, "a.toml")
            .unwrap()
            .liveness
            .config()
    };
    let usual = LivenessConfig::default();
    assert_eq!(read(""), Some(usual));
    let misses = 5;
    let five = LivenessConfig { misses, ..usual };
    assert_eq!(read("[liveness]\nmisses = 5"), Some(five));
    let off = NodeConfig::parse(&format!("liveness = \"off\"\n{GOOD}"), "a.toml");
    assert_eq!(off.unwrap().liveness.config(), None);
}

#[test]
fn invalid_liveness_settings_are_reported_with_line_and_remedy() {
    let message = |table: &str| error_of("[probing]", &format!("{table}\n[probing]"));
    let impossible = message("[liveness]\ninterval = \"1 ms\"\nmisses = 1\nhold = \"2 min\"");
    for expected in [
        "a.toml:10:12: `interval` must be at least 10 ms; use for example \"25 ms\"",
        "a.toml:11:10: `misses` must be 2 to 20; use for example 3",
        "`longest_hold` must not be shorter than `hold`; use for example \"60 s\"",
    ] {
        assert!(impossible.contains(expected), "{impossible}");
    }
    let long = message("[liveness]\nretry = \"25 h\"\nlongest_hold = \"86401 s\"");
    for expected in [
        "a.toml:10:9: `retry` must be",
        "`longest_hold` must be at most 86400 s",
    ] {
        assert!(long.contains(expected), "{long}");
    }
    let pairs = error_of("threshold = 3.0", "pair_interval = \"25 h\"");
    assert!(pairs.contains("at most 86400 s"), "{pairs}");
    let misspelt = message("[liveness]\nmises = 4");
    assert!(
        misspelt.contains("a.toml:10:1") && misspelt.contains("misses"),
        "{misspelt}"
    );
    let word = errors(&format!("liveness = \"of\"\n{GOOD}"));
    assert!(
        word.contains("a.toml:1:12") && word.contains("off"),
        "{word}"
    );
}

#[test]
fn control_and_metrics_are_read_or_refused_with_their_line() {
    let read = |tables: &str| {
        let text = GOOD.replace("[probing]", &format!("{tables}\n[probing]"));
        NodeConfig::parse(&text, "a.toml")
    };
    let usual = read("").unwrap();
    assert_eq!(usual.control, Control::Socket(ControlConfig::default()));
    assert_eq!((usual.metrics, usual.node.user), (None, None));
    let asked = read("[control]\nsocket = \"x.sock\"\n[metrics]\nlisten = \"[::1]:9600\"").unwrap();
    let socket = Some("x.sock".into());
    assert_eq!(asked.control, Control::Socket(ControlConfig { socket }));
    assert_eq!(asked.metrics.unwrap().listen, "[::1]:9600".parse().unwrap());
    let off = NodeConfig::parse(&format!("control = \"off\"\n{GOOD}"), "a.toml").unwrap();
    assert_eq!(off.control, Control::Off(Off::Off));
    for (tables, place, named) in [
        ("[metrics]\nlisten = \"127.0.0.1:0\"", "a.toml:10:", "9600"),
        (
            "[metrics]\nlisten = \"localhost\"",
            "a.toml:10:",
            "`localhost`",
        ),
        ("[metrics]", "a.toml:9:", "`listen`"),
        (
            "[control]\nsocket = \"..\"",
            "a.toml:10:",
            "is not the path of a file",
        ),
        ("[control]\nsockt = \"x\"", "a.toml:10:", "`socket`"),
    ] {
        let message = read(tables).unwrap_err().to_string();
        assert!(
            message.starts_with(place) && message.contains(named),
            "{message}"
        );
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = GOOD
        .replace("remote", "remot")
        .replace("3.0", "-3.0")
        .replace("uplink2", "uplink1");
    assert_eq!(errors(&text).lines().count(), 3, "{}", errors(&text));
}

#[test]
fn the_schema_names_every_table() {
    let schema = NodeConfig::schema();
    let keys = [
        "node", "peer", "policy", "probing", "liveness", "control", "metrics", "path",
    ];
    for key in keys {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}

#[test]
fn the_documented_files_are_valid_once_the_keys_are_in() {
    let a = include_str!("../../../../docs/two-nodes/a.toml");
    let b = include_str!("../../../../docs/two-nodes/b.toml");
    let read = |text: &str, peer: &str| {
        NodeConfig::parse(&text.replace(peer, KEY), "documented.toml").unwrap()
    };
    let (a, b) = (read(a, "@b@"), read(b, "@a@"));
    for (a, b) in a.paths.iter().zip(&b.paths) {
        assert_eq!((a.remote, b.remote), (b.local, a.local));
    }
    let auto = include_str!("../../../../docs/two-nodes/auto.toml");
    assert_eq!(read(auto, "@b@").uplinks, Uplinks::Auto);
}

const BY_RELAY: &str = "relay = { public_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\", \
                        address = \"192.0.2.9:7101\" }";

#[test]
fn a_path_may_use_a_relay() {
    let text = GOOD.replacen("remote = \"10.1.1.2:7001\"", BY_RELAY, 1);
    let config = NodeConfig::parse(&text, "a.toml").unwrap();
    let path = &config.paths[0];
    assert_eq!(path.remote, None);
    assert_eq!(path.target(), Some("192.0.2.9:7101".parse().unwrap()));
}

#[test]
fn mistakes_of_a_relay_are_reported_with_their_line() {
    let remote = "remote = \"10.1.1.2:7001\"";
    let message = error_of(remote, &format!("{remote}\n{BY_RELAY}"));
    assert!(
        message.contains("a.toml:15:") && message.contains("omit one"),
        "{message}"
    );
    let with = |old: &str, new: &str| error_of(remote, &BY_RELAY.replacen(old, new, 1));
    let own = with("3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=", KEY);
    assert!(
        own.contains("a.toml:14:") && own.contains("the peer's key"),
        "{own}"
    );
    let zeros = "A".repeat(43) + "=";
    let cases = [
        (
            "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
            &*zeros,
            "neither zero nor",
        ),
        (
            "192.0.2.9:7101",
            "192.0.2.9:0",
            "cannot be the address of a host",
        ),
        (
            "192.0.2.9:7101",
            "0.1.2.3:7101",
            "cannot be the address of a host",
        ),
        (
            "192.0.2.9:7101",
            "240.0.0.1:7101",
            "cannot be the address of a host",
        ),
        ("192.0.2.9:7101", "[2001:db8::9]:7101", "cannot send to"),
        ("192.0.2.9:7101", "10.1.1.1:7001", "is the local address"),
        ("192.0.2.9:7101", "192.0.2.9", "not an address"),
        ("3p7b", "3p7", "not a key"),
        ("public_key", "publik_key", "`public_key`"),
    ];
    for (old, new, words) in cases {
        let message = with(old, new);
        assert!(
            message.contains("a.toml:14:") && message.contains(words),
            "{new}: {message}"
        );
    }
    let twice = GOOD.replacen(remote, BY_RELAY, 1).replacen(
        "local = \"[fd01::1]:7001\"",
        &format!("local = \"10.1.2.1:7001\"\n{BY_RELAY}"),
        1,
    );
    let message = errors(&twice);
    assert!(
        message.contains("a.toml:18:") && message.contains("two paths use"),
        "{message}"
    );
}

#[test]
fn a_target_in_the_overlay_or_multicast_is_refused() {
    let remote = "\"10.1.1.2:7001\"";
    let message = |new: &str| error_of(remote, &format!("\"{new}\""));
    let into = message("10.77.0.9:7001");
    assert!(
        into.contains("a.toml:14:10: ") && into.contains("loop"),
        "{into}"
    );
    assert!(
        into.contains("10.77.0.1/24 of `node.tun.addresses`"),
        "{into}"
    );
    for many in ["255.255.255.255:7001", "224.0.0.1:7001"] {
        let message = message(many);
        assert!(
            message.contains("a.toml:14:10: ") && message.contains("multicast"),
            "{message}"
        );
    }
    let by_relay = format!(
        "relay = {{ public_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\", address = {} }}",
        "\"10.77.0.9:7101\""
    );
    let message = error_of(&format!("remote = {remote}"), &by_relay);
    assert!(
        message.contains("a.toml:14:82: ") && message.contains("loop"),
        "{message}"
    );
    // A bound socket does not follow the routing table.
    let bound = GOOD.replacen(remote, "\"10.77.0.9:7001\"\ninterface = \"p1\"", 1);
    NodeConfig::parse(&bound, "a.toml").unwrap();
}

#[test]
fn a_local_address_in_the_overlay_or_a_shared_target_is_refused() {
    let local = "local = \"10.1.1.1:7001\"";
    for (new, place, part) in [
        ("local = \"10.77.0.1:7001\"", "a.toml:13:9: ", "own address"),
        ("local = \"239.0.0.1:7001\"", "a.toml:13:9: ", "multicast"),
    ] {
        let message = error_of(local, new);
        assert!(
            message.contains(place) && message.contains(part),
            "{message}"
        );
    }
    let message = error_of("interface = \"p2\"", "interface = \"pp0\"");
    assert!(
        message.contains("a.toml:18:13: ") && message.contains("carry itself"),
        "{message}"
    );
    let second = "local = \"10.1.1.9:7002\"\nremote = \"10.1.1.2:7001\"";
    let message = error_of("local = \"[fd01::1]:7001\"\ninterface = \"p2\"", second);
    assert!(
        message.contains("two paths lead to 10.1.1.2:7001"),
        "{message}"
    );
}

#[test]
fn conflicting_sockets_are_refused() {
    let second = "local = \"[fd01::1]:7001\"\ninterface = \"p2\"";
    for (local, interface, is_refused) in [
        ("0.0.0.0:7001", "", true),
        ("0.0.0.0:7001", "p2", true),
        ("10.1.1.1:7001", "p2", true),
        ("[::]:7001", "", false),
        ("0.0.0.0:7002", "", false),
        ("10.1.1.2:7001", "", false),
    ] {
        let interface = match interface {
            "" => String::new(),
            name => format!("\ninterface = \"{name}\""),
        };
        let text = GOOD.replacen(second, &format!("local = \"{local}\"{interface}"), 1);
        assert_ne!(text, GOOD);
        let found = NodeConfig::parse(&text, "a.toml").map_err(|errors| errors.to_string());
        let is_refusal = |message: &String| message.contains("two paths receive at");
        assert_eq!(
            found.as_ref().err().is_some_and(is_refusal),
            is_refused,
            "{local} {found:?}"
        );
    }
}

#[test]
fn the_traffic_class_is_copied_by_default() {
    let interface = "interface = \"p2\"";
    let copies = |text: &str| {
        let config = NodeConfig::parse(text, "a.toml").unwrap();
        [0, 1].map(|path| config.paths[path].copied())
    };
    let all = CopiedFields {
        dscp: true,
        ecn: true,
    };
    assert_eq!(copies(GOOD), [all; 2]);
    for (key, rest) in [
        ("copy_dscp", CopiedFields { dscp: false, ..all }),
        ("copy_ecn", CopiedFields { ecn: false, ..all }),
    ] {
        let forbidden = GOOD.replacen(interface, &format!("{interface}\n{key} = false"), 1);
        assert_eq!(copies(&forbidden), [all, rest]);
    }
}
