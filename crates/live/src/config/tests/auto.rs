//! Uplinks found at run time: `paths = "auto"`.

use super::*;

/// `GOOD` with automatic uplinks.
fn auto(table: &str) -> String {
    let text = GOOD.replace("local = \"10.1.1.1:7001\"\n", "");
    let text = text.replace(
        "local = \"[fd01::1]:7001\"\ninterface = \"p2\"",
        "remote = \"[2001:db8::1]:7001\"",
    );
    format!("paths = \"auto\"\n{text}{table}")
}

#[test]
fn uplinks_may_be_automatic() {
    let table = "[auto]\ninterfaces = [\"eth*\", \"wwan?\"]\nexcept = [\"eth9\"]\n";
    let config = NodeConfig::parse(&auto(table), "a.toml").unwrap();
    assert_eq!(config.uplinks, Uplinks::Auto);
    let locals = config.paths.iter().map(|path| path.local().to_string());
    assert_eq!(locals.collect::<Vec<_>>(), ["0.0.0.0:0", "[::]:0"]);
    let allowed = config.auto.unwrap();
    assert!(allowed.allows("wwan0") && !allowed.allows("eth9"));
    NodeConfig::parse(&auto(""), "a.toml").unwrap();
    let listed = GOOD.replacen("[node]", "paths = \"listed\"\n[node]", 1);
    assert_eq!(
        NodeConfig::parse(&listed, "a.toml").unwrap().uplinks,
        Uplinks::Listed
    );
}

#[test]
fn a_pattern_is_not_an_interface_name() {
    for pattern in ["eth*", "eth?", "eth[0-9]"] {
        let message = error_of("interface = \"p2\"", &format!("interface = \"{pattern}\""));
        assert!(
            message.contains("a.toml:18:") && message.contains("[auto]"),
            "{message}"
        );
    }
}

#[test]
fn settings_of_the_other_kind_of_uplinks_are_refused() {
    let message = error_of("local = \"10.1.1.1:7001\"\n", "");
    assert!(
        message.contains("`local`") && message.contains("paths = \"auto\""),
        "{message}"
    );
    let message = errors(&format!("{GOOD}[auto]\nexcept = [\"docker*\"]\n"));
    assert!(
        message.contains("listed") && message.contains("auto"),
        "{message}"
    );
    let message = errors(&GOOD.replacen("[node]", "paths = \"auto\"\n[node]", 1));
    for part in ["a.toml:14:", "a.toml:18:", "a.toml:19:", "`remote`"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for (table, part) in [
        ("interfaces = []", "no interface"),
        ("except = [\"\"]", "is not a valid pattern"),
        ("interfaces = [\"a/b\"]", "is not a valid pattern"),
        ("interfaces = [\"eth[0-9]\"]", "and `?` one"),
        ("interfaces = [\"eth{0,1}\"]", "and `?` one"),
        ("interface = [\"eth0\"]", "`interfaces`"),
    ] {
        let message = errors(&auto(&format!("[auto]\n{table}\n")));
        assert!(message.contains(part), "{table}: {message}");
    }
    let message = errors(&auto("").replacen("\"auto\"", "\"automatic\"", 1));
    assert!(message.contains("`auto`"), "{message}");
}
