//! The spacing of packets in a node's file.

use polypath_core::spacing::{AdaptiveConfig, ControlConfig, RttSource, SpacingConfig};
use polypath_core::time::Duration;

use super::*;

/// `GOOD` with this text before the paths.
fn with(spacing: &str) -> Result<NodeConfig, String> {
    let text = GOOD.replacen("[[path]]", &format!("{spacing}\n[[path]]"), 1);
    NodeConfig::parse(&text, "a.toml").map_err(|errors| errors.to_string())
}

#[test]
fn all_keys_of_the_spacing_are_read() {
    assert_eq!(with("").unwrap().endpoint().spacing, None);
    let short = with("[spacing]\ncontrol = { kind = \"ad-hoc\" }").unwrap();
    let default = SpacingConfig::new(ControlConfig::AdHoc(AdaptiveConfig::default()));
    assert_eq!(short.endpoint().spacing, Some(default));
    let all = "[spacing]\ncontrol = { kind = \"damped\", initial = \"1 ms\", first = \"100 us\", step = \"3 us\" }\n\
               max_wait = \"50 ms\"\nrtt = \"base\"";
    let config = SpacingConfig {
        control: ControlConfig::Damped(AdaptiveConfig {
            initial: Duration::from_millis(1),
            first: Duration::from_micros(100),
            step: Duration::from_micros(3),
            ..AdaptiveConfig::default()
        }),
        max_wait: Duration::from_millis(50),
        rtt: RttSource::Base,
    };
    assert_eq!(with(all).unwrap().endpoint().spacing, Some(config));
}

#[test]
fn mistakes_in_the_spacing_are_reported_with_a_remedy() {
    for (text, words) in [
        ("max_wait = \"50 ms\"", &["`control`"][..]),
        (
            "control = { kind = \"damped\" }\nmax_wait = \"0 ms\"",
            &["`max_wait` is 0 s; it can be 1 ms to 10 s", "100 ms"],
        ),
        (
            "control = { kind = \"damped\", initial = \"200 ms\" }",
            &["`initial` is 200 ms: longer than a packet may wait"],
        ),
        (
            "control = { kind = \"ad-hoc\", first = \"0 us\" }",
            &["must not be 0", "50 us"],
        ),
        ("control = { kind = \"fixed\" }", &["`spacing`"]),
        (
            "control = { kind = \"cubic\" }\nmax_wait = \"5 ms\"",
            &["`initial` is 10 ms: longer", "a longer `max_wait`"],
        ),
        (
            "control = { kind = \"cubic\", max_queue = \"2 s\" }",
            &["`max_queue` is 2 s; it can be 1 s at most", "\"0 s\""],
        ),
    ] {
        let error = with(&format!("[spacing]\n{text}")).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
