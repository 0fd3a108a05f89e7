//! The UDP ports in a node's file.

use super::*;

/// `GOOD` with `ports` in place of the TUN device.
fn with(ports: &str) -> Result<NodeConfig, String> {
    let tun = GOOD.lines().find(|line| line.starts_with("tun =")).unwrap();
    let text = GOOD.replacen(tun, "", 1);
    let text = text.replacen("[peer]", &format!("{ports}\n[peer]"), 1);
    NodeConfig::parse(&text, "a.toml").map_err(|errors| errors.to_string())
}

#[test]
fn ports_take_the_place_of_a_device() {
    let config = with(
        "[[node.udp]]\nport = 5004\nlisten = \"127.0.0.1:5000\"\n\
         [[node.udp]]\nport = 5005\nto = \"[::1]:6001\"\n\
         overlay = { local = \"10.77.0.1\", peer = \"10.77.0.2\" }",
    )
    .unwrap();
    assert!(config.node.tun.is_none());
    assert_eq!(config.node.name(), "udp5004");
    let [first, second] = &config.node.udp[..] else {
        panic!("two ports");
    };
    assert_eq!(first.listen, Some("127.0.0.1:5000".parse().unwrap()));
    assert_eq!((first.to, first.overlay), (None, None));
    assert_eq!(second.to, Some("[::1]:6001".parse().unwrap()));
    assert_eq!(second.overlay.unwrap().peer, Ipv4Addr::new(10, 77, 0, 2));
}

#[test]
fn a_node_has_a_device_or_ports() {
    let none = with("").unwrap_err();
    assert!(
        none.contains("neither a TUN device") && none.contains("[[node.udp]]"),
        "{none}"
    );
    let both = GOOD.replacen(
        "[peer]",
        "[[node.udp]]\nport = 1\nto = \"127.0.0.1:6000\"\n[peer]",
        1,
    );
    let both = NodeConfig::parse(&both, "a.toml").unwrap_err().to_string();
    assert!(both.contains("has a TUN device"), "{both}");
}

#[test]
fn mistakes_are_named_with_their_key() {
    for (ports, expected) in [
        ("port = 0\nto = \"127.0.0.1:6000\"", "there is no port 0"),
        ("port = 1", "neither `listen` nor `to`"),
        (
            "port = 1\nlisten = \"127.0.0.1:0\"",
            "no application can send to 127.0.0.1:0",
        ),
        (
            "port = 1\nlisten = \"224.0.0.1:5000\"",
            "no application can send to",
        ),
        (
            "port = 1\nlisten = \"10.1.1.1:5000\"",
            "any host that reaches 10.1.1.1:5000",
        ),
        (
            "port = 1\nto = \"0.0.0.0:6000\"",
            "cannot be the address of an application",
        ),
        (
            "port = 1\nto = \"255.255.255.255:6\"",
            "cannot be the address of an application",
        ),
        (
            "port = 1\nlisten = \"127.0.0.1:5\"\nto = \"[::1]:6\"",
            "cannot send to [::1]:6",
        ),
        (
            "port = 1\nlisten = \"127.0.0.1:5\"\nto = \"127.0.0.1:5\"",
            "would come back",
        ),
        (
            "port = 1\nlisten = \"0.0.0.0:5\"\nto = \"127.0.0.1:5\"",
            "would come back",
        ),
        (
            "port = 1\nlisten = \"0.0.0.0:7001\"\nto = \"127.0.0.1:5\"",
            "0.0.0.0:7001 and 10.1.1.1:7001 of another socket",
        ),
        (
            "port = 1\nto = \"127.0.0.1:6\"\n[[node.udp]]\nport = 1\nto = \"127.0.0.1:7\"",
            "port 1 is used twice",
        ),
        (
            "port = 1\nto = \"127.0.0.1:6\"\noverlay = { local = \"10.0.0.1\", peer = \"10.0.0.1\" }",
            "cannot be the addresses of both ends",
        ),
        (
            "port = 1\nlisten = \"127.0.0.1\"",
            "not an address with its port",
        ),
    ] {
        let message = with(&format!("[[node.udp]]\n{ports}")).unwrap_err();
        assert!(message.contains(expected), "{ports}: {message}");
        assert!(message.starts_with("a.toml:"), "{message}");
    }
}
