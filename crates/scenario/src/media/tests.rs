use super::*;

const RANDOM: &str = include_str!("../../../../scenarios/media-random.toml");

fn parsed(overrides: &[&str]) -> Result<MediaScenario, Errors> {
    let overrides: Vec<Override> = overrides.iter().map(|o| o.parse().unwrap()).collect();
    MediaScenario::parse(RANDOM, "media.toml", &overrides)
}

fn problems(overrides: &[&str]) -> Vec<String> {
    let errors = parsed(overrides).unwrap_err();
    errors.problems().iter().map(ToString::to_string).collect()
}

/// Asserts that the overrides cause one problem with these words.
fn refused(overrides: &[&str], words: &[&str]) {
    let found = problems(overrides);
    assert_eq!(found.len(), 1, "{overrides:?}: {found:?}");
    for word in words {
        assert!(found[0].contains(word), "{word}: {found:?}");
    }
}

#[test]
fn defaults_are_those_of_a_deployed_node() {
    let scenario = parsed(&[]).unwrap();
    let policy = scenario.media.policies[0].config();
    let endpoint = scenario.endpoint(policy);
    assert_eq!(
        endpoint.liveness,
        Some(polypath_core::liveness::LivenessConfig::default())
    );
    assert_eq!(
        endpoint.encapsulation,
        polypath_core::frame::Encapsulation::deployed(28)
    );
    assert_eq!(endpoint.policy, PolicyConfig::single_path(0));
    let off = parsed(&["liveness=off"]).unwrap();
    assert_eq!(off.endpoint(policy).liveness, None);
    let changed = parsed(&["liveness.misses=5"]).unwrap();
    assert_eq!(
        changed.endpoint(policy).liveness.map(|of| of.misses),
        Some(5)
    );
    let text = "schema = 1\nname = \"least\"\npath = [{ name = \"a\", link = [{ rate = \"9 Mbit/s\", \
                delay = \"1 ms\", queue = \"9 packets\" }] }]\n[media]\nrate = \"1 Mbit/s\"\n\
                packet = \"1000 B\"\nduration = \"1 s\"\npolicies = [{ kind = \"single-path\" }]\n";
    let least = MediaScenario::parse(text, "least.toml", &[]).unwrap();
    assert_eq!(
        least.media.deadlines,
        [100, 200, 400].map(Duration::from_millis)
    );
    assert_eq!((least.media.runs, least.seed), (10, 1));
}

#[test]
fn both_ends_have_the_classes_of_the_file() {
    let plain = parsed(&[]).unwrap();
    let policy = plain.media.policies[0].config();
    assert!(plain.endpoint(policy).classes.is_empty());
    assert!(!serde_json::to_string(&plain).unwrap().contains("class"));
    let set = "class=[{ name = \"a\", protocol = \"udp\", treatment = \"bulk\" }]";
    let classes = parsed(&[set]).unwrap().endpoint(policy).classes;
    assert_eq!(classes.iter().next().map(|class| &*class.name), Some("a"));
}

#[test]
fn packets_are_sent_at_the_rate_of_the_payload() {
    let media = parsed(&[]).unwrap().media;
    assert_eq!(media.packet_len(), Bytes(1344));
    // 5 Mbit/s for 30 s are 14247.7 packets of 1316 B.
    assert_eq!(media.packets(), 14_248);
    assert_eq!(media.offset(0), Duration::ZERO);
    assert_eq!(media.offset(1), Duration::from_nanos(2_105_600));
    assert!(media.offset(media.packets() - 1) < media.duration);
    assert!(media.offset(media.packets()) >= media.duration);
}

#[test]
fn packets_of_a_burst_are_sent_at_once() {
    let media = parsed(&["media.burst=40 ms"]).unwrap().media;
    let ms = Duration::from_millis;
    for (number, at) in [(0, 0), (18, 0), (19, 40), (37, 40), (38, 80)] {
        assert_eq!(media.offset(number), ms(at), "packet {number}");
    }
    assert_eq!(media.packets(), 14_248);
}

#[test]
fn the_spacing_of_a_named_policy_is_that_of_both_ends() {
    let spaced = |spacing: &str| {
        format!(
            "media.policies=[{{ name = \"x\", policy = {{ kind = \"in-time\" }}, spacing = {{ {spacing} }} }}]"
        )
    };
    let scenario = parsed(&[&spaced("control = { kind = \"damped\" }")]).unwrap();
    let endpoint = scenario.endpoint(scenario.media.policies[0].treatment());
    assert_eq!(
        endpoint.spacing.map(|of| of.max_wait),
        Some(Duration::from_millis(100))
    );
    let again = toml::to_string(&scenario).unwrap();
    assert_eq!(
        MediaScenario::parse(&again, "again.toml", &[]).unwrap(),
        scenario
    );
    refused(
        &[&spaced("control = { kind = \"fixed\", spacing = \"2 s\" }")],
        &[
            "`spacing` is 2 s: longer than a packet may wait",
            "max_wait",
        ],
    );
    refused(
        &[&spaced("control = { kind = \"dampd\" }")],
        &["did you mean `damped`?"],
    );
}

#[test]
fn what_is_written_is_read_again() {
    let second = r#"media.policies=[{ name = "second", policy = { kind = "single-path", path = 1 } }, { kind = "duplicate-all" }]"#;
    for overrides in [&[][..], &["liveness=off", second]] {
        let scenario = parsed(overrides).unwrap();
        let text = toml::to_string(&scenario).unwrap();
        assert_eq!(
            MediaScenario::parse(&text, "again.toml", &[]).unwrap(),
            scenario
        );
    }
    let scenario = parsed(&[second]).unwrap();
    let names: Vec<&str> = scenario
        .media
        .policies
        .iter()
        .map(MediaPolicy::name)
        .collect();
    assert_eq!(names, ["second", "duplicate-all"]);
    assert_eq!(
        scenario.media.policies[0].config(),
        PolicyConfig::single_path(1)
    );
}

#[test]
fn every_policy_is_checked_like_that_of_a_node() {
    let policies = |list: &str| format!("media.policies={list}");
    for (list, words) in [
        ("[]", &["`policies` is empty", "single-path"][..]),
        (
            r#"[{ kind = "singel-path" }]"#,
            &["did you mean `single-path`?"],
        ),
        (
            r#"[{ kind = "single-path", path = 2 }]"#,
            &["path 2 does not exist", "0 to 1"],
        ),
        (
            r#"[{ kind = "duplicate-all", name = "x" }]"#,
            &["unknown key `name`"],
        ),
        (
            r#"[{ kind = "single-path" }, { kind = "single-path", path = 1 }]"#,
            &["two policies are called `single-path`", "{ name = "],
        ),
        (
            r#"[{ name = "a b", policy = { kind = "single-path" } }]"#,
            &["`a b` is not a name"],
        ),
        (
            r#"[{ name = "x", policy = { kind = "single-path", path = 9 } }]"#,
            &["policy `x`: path 9 does not exist"],
        ),
    ] {
        refused(&[&policies(list)], words);
    }
}

#[test]
fn impossible_streams_are_refused_with_a_remedy() {
    for (set, words) in [
        ("media.rate=0 bit/s", &["a rate of zero"][..]),
        ("media.packet=0 B", &["a packet without payload"]),
        (
            "media.packet=65509 B",
            &["does not exist", "at most 65535 B"],
        ),
        (
            "media.packet=1413 B",
            &["in several frames", "at most 1.412 kB"],
        ),
        ("media.duration=0 s", &["`duration` is zero"]),
        (
            "media.duration=2 h",
            &["the stream has 3419453 packets", "at most 2000000"],
        ),
        ("media.deadlines=[]", &["0 deadlines", "200 ms"]),
        (
            r#"media.deadlines=["200 ms", "100 ms"]"#,
            &["not longer than 200 ms", "ascending"],
        ),
        (
            r#"media.deadlines=["0 ms"]"#,
            &["must be longer than 0", "200 ms"],
        ),
        ("media.runs=0", &["at least 1"]),
        ("media.rates=1", &["unknown key `rates`", "`rate`"]),
        ("liveness.misses=1", &["`misses` must be 2 to 20"]),
        ("liveness=of", &["`off`"]),
        (
            "media.policies=[{ kind = \"single-path\", leave = {} }]",
            &["states no limit"],
        ),
        (
            "media.policies=[{ kind = \"single-path\", leave = { loss = 0.9 } }]",
            &["0.001 to 0.5"],
        ),
        ("probing.threshold=-1.0", &["invalid threshold"]),
        ("probing.pair_len=50 B", &["too small to measure"]),
        (
            "path.0.link.0.queue=1 kB",
            &["admits no frame", "the packet in transmission counts"],
        ),
        (
            "path.0.link.0.fades={ length = \"50 ms\", share = 1.5 }",
            &["`share` is 1.5"],
        ),
        (
            "path.0.link.0.fades={ length = \"1 us\", share = 0.5 }",
            &["at least 1 ms"],
        ),
        (
            "path.0.link.0.variation={ deviation = 4.0, correlation = \"1 s\" }",
            &["`deviation` is not within 0 and 3"],
        ),
        (
            "path.0.link.0.variation={ deviation = 0.9, correlation = \"1 us\" }",
            &["at least 1 ms"],
        ),
        (
            "class=[{ name = \"a\", treatment = \"bulk\", deadline = \"1 s\" }]",
            &["only a class with", "treatment = \"media\""],
        ),
        ("sweep={ seed = [1, 2] }", &["a media stream has no sweep"]),
        (
            "media.policies=[\"in-time\"]",
            &[
                "where a table is wanted",
                "`policies = [{ kind = \"in-time\" }]`",
            ],
        ),
        (
            "path.1.cost=1",
            &["unknown key `cost`", "a key of `tariff`"],
        ),
        (
            "path.1.tariff.quota=20",
            &["for example `quota = \"20 GB\"`"],
        ),
    ] {
        let found = problems(&[set]);
        let is_expected = |problem: &String| words.iter().all(|word| problem.contains(word));
        assert!(found.iter().any(is_expected), "{set}: {found:?}");
    }
}

#[test]
fn classes_and_costs_need_a_policy_that_uses_them() {
    let policies = "media.policies=[{ kind = \"single-path\" }]";
    for (set, words) in [
        (
            "class=[{ name = \"a\", treatment = \"bulk\" }]",
            "the policy `single-path` does not use classes",
        ),
        (
            "path.1.tariff={ cost = 1 }",
            "the policy `single-path` does not use costs",
        ),
    ] {
        assert!(parsed(&[set]).is_ok(), "{set}");
        refused(&[policies, set], &[words, "in-time"]);
    }
}
