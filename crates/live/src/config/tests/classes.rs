//! The classes of packets in a node's file.

use polypath_core::class::{Class, PortRange, Protocol, Treatment};
use polypath_core::time::Duration;

use super::*;

/// `GOOD` with the policy `in-time` and this text before the paths.
fn with(classes: &str) -> Result<NodeConfig, String> {
    let text = GOOD.replace("probe-and-switch", "in-time");
    let text = text.replacen("[[path]]", &format!("{classes}\n[[path]]"), 1);
    NodeConfig::parse(&text, "a.toml").map_err(|errors| errors.to_string())
}

const VOICE: &str = r#"
[[class]]
name = "voice"
dscp = ["ef", "af41", 12]
protocol = "udp"
ports = [5004, "6000-6100"]
treatment = "media"
deadline = "100 ms"
[[class]]
name = "rest"
treatment = "single-path"
"#;

#[test]
fn all_keys_of_a_class_are_read() {
    assert!(with("").unwrap().endpoint().classes.is_empty());
    let classes = with(VOICE).unwrap().endpoint().classes;
    let dscp = ["ef", "af41", "12"].map(|dscp| dscp.parse().unwrap());
    let voice = Class {
        name: "voice".to_owned(),
        dscp: dscp.to_vec(),
        protocol: Some(Protocol::UDP),
        ports: vec![PortRange::only(5004), PortRange::new(6000, 6100).unwrap()],
        treatment: Treatment::Media,
        deadline: Some(Duration::from_millis(100)),
    };
    let rest = Class {
        name: "rest".to_owned(),
        dscp: Vec::new(),
        protocol: None,
        ports: Vec::new(),
        treatment: Treatment::SinglePath,
        deadline: None,
    };
    assert!(classes.iter().eq([&voice, &rest]));
    // Through the format of recordings.
    let json = serde_json::to_string(&classes).unwrap();
    assert_eq!(serde_json::from_str::<Classes>(&json).unwrap(), classes);
    let number = with(&VOICE.replace("\"udp\"", "17")).unwrap();
    assert_eq!(number.classes, classes);
}

#[test]
fn mistakes_in_a_class_are_reported_at_their_lines() {
    for (old, new, line, part) in [
        ("\"af41\"", "\"af49\"", 14, "`af49` is not a DSCP"),
        ("12]", "64]", 14, "64"),
        ("\"udp\"", "\"quic\"", 15, "`quic` is not a protocol"),
        ("\"udp\"", "\"icmp\"", 16, "only TCP and UDP have ports"),
        (
            "\"6000-6100\"",
            "\"6100-6000\"",
            16,
            "`6100-6000` is neither",
        ),
        ("\"media\"", "\"fast\"", 17, "`fast`"),
        ("\"media\"", "\"bulk\"", 18, "`treatment = \"media\"`"),
        ("\"100 ms\"", "\"1 ms\"", 18, "must be 10 ms to 10 s"),
        ("\"rest\"", "\"voice\"", 20, "same name"),
        ("dscp", "dcsp", 14, "`dscp`"),
    ] {
        let text = VOICE.replacen(old, new, 1);
        assert_ne!(text, VOICE, "{old}");
        let message = with(&text).unwrap_err();
        let is_there = message.contains(&format!("a.toml:{line}:")) && message.contains(part);
        assert!(is_there, "{old} -> {new}: {message}");
    }
}

#[test]
fn a_class_that_never_matches_is_refused() {
    let shadowed =
        format!("{VOICE}\n[[class]]\nname = \"late\"\nprotocol = \"tcp\"\ntreatment = \"bulk\"\n");
    let message = with(&shadowed).unwrap_err();
    assert!(
        message.contains("a.toml:23:")
            && message.contains("`class.1` matches all of its packets before")
            && message.contains("move it before"),
        "{message}"
    );
}

#[test]
fn a_policy_without_classes_refuses_them() {
    let message = error_of("[[path]]", &format!("{VOICE}[[path]]"));
    assert!(
        message.contains("a.toml:12:")
            && message.contains("`probe-and-switch` does not use classes")
            && message.contains("in-time"),
        "{message}"
    );
}
