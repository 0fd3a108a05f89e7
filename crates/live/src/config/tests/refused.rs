//! Tariffs out of range, and values of the wrong type.

use super::*;

#[test]
fn a_value_of_the_wrong_type_is_refused_with_an_example() {
    let interface = "interface = \"p2\"";
    let policy = "[policy]\nkind = \"probe-and-switch\"\n";
    let class = "[[class]]\nname = \"a\"\ntreatment = \"media\"\nports = 5004\n";
    for (before, lines, example) in [
        (
            interface,
            "interface = \"p2\"\ntariff = { cost = 1.5 }",
            "`cost = 1`",
        ),
        (
            policy,
            "[policy]\nkind = \"in-time\"\nredundancy = \"10 %\"\n",
            "`redundancy = 0.1`",
        ),
        (policy, class, "`ports = [5004]`"),
    ] {
        let message = error_of(before, lines);
        assert!(message.contains(example), "{message}");
    }
    let text = GOOD.replacen(policy, "", 1);
    let message = errors(&format!("policy = \"in-time\"\n{text}"));
    assert!(
        message.contains("`policy = { kind = \"in-time\" }`"),
        "{message}"
    );
}

#[test]
fn invalid_tariffs_are_refused_with_their_line() {
    let interface = "interface = \"p2\"";
    for (tariff, part) in [
        ("cost = 1", "does not use costs"),
        ("coast = 1", "`cost`"),
        ("ceiling = \"1 kbit/s\"", "use 100 kbit/s or more"),
        ("quota = \"1 B\"", "use 100 kB or more"),
        ("quota = \"1001 TB\"", "must be at most 1000 TB"),
        ("quota = \"20000000 TB\"", "the maximum is 1000 TB"),
        ("ceiling = \"1001 Gbit/s\"", "must be at most 1000 Gbit/s"),
        (
            "ceiling = \"999999999999 Gbit/s\"",
            "the maximum is 1000 Gbit/s",
        ),
        ("renews = \"daily\"", "`renews` needs a `quota`"),
        ("quota = \"1 GB\", day = 3", "`day` needs"),
        (
            "quota = \"1 GB\", renews = \"monthly\", day = 31",
            "use 1 to 28",
        ),
    ] {
        let message = error_of(interface, &format!("{interface}\ntariff = {{ {tariff} }}"));
        assert!(
            message.contains("a.toml:19:") && message.contains(part),
            "{tariff}: {message}"
        );
    }
}

/// A policy that cannot be read is one mistake: what depends on it is not reported, too.
#[test]
fn an_unreadable_policy_has_no_consequences() {
    let policy = "[policy]\nkind = \"probe-and-switch\"\n";
    let class = "[[class]]\nname = \"a\"\ntreatment = \"media\"\nports = [5004]\n";
    let interface = "interface = \"p2\"";
    let costly = GOOD.replacen(
        interface,
        &format!("{interface}\ntariff = {{ cost = 1 }}"),
        1,
    );
    for unreadable in [
        "[policy]\nkind = \"in-tyme\"\n",
        "[policy]\n",
        "[policy]\nkind = 3\n",
    ] {
        let message = errors(&costly.replacen(policy, &format!("{class}{unreadable}"), 1));
        assert!(message.contains("kind"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
