mod shared;

use proptest::prelude::*;

use super::*;
use crate::Link;
use polypath_core::frame::PathId;
use polypath_link::QueueLimit;

const DEMO: &str = include_str!("../../../../scenarios/demo.toml");

fn demo(overrides: &[&str]) -> Result<Scenario, Errors> {
    let overrides: Vec<Override> = overrides.iter().map(|o| o.parse().unwrap()).collect();
    Scenario::parse(DEMO, "demo.toml", &overrides)
}

fn problems(overrides: &[&str]) -> Vec<String> {
    let errors = demo(overrides).unwrap_err();
    errors.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn the_demo_is_valid_and_has_the_documented_values() {
    let demo = demo(&[]).unwrap();
    assert_eq!(demo.schemes, Scheme::ALL);
    assert_eq!(demo.transfer.size, Bytes(100_000));
    assert_eq!(demo.foreground_window(), 20);
    assert_eq!(demo.paths.len(), 2);
    assert_eq!(demo.paths[1].hops(), 5);
    assert_eq!(demo.profile(&demo.paths[0]).unwrap().hosts, 20);
    assert_eq!(demo.paths[0].links[0].queue, QueueLimit::Packets(50).into());
    let names: Vec<String> = demo.paths[0].expanded().map(|(name, _)| name).collect();
    assert_eq!(names[0], "path1/core.0");
    assert_eq!(names[4], "path1/core.4");
}

#[test]
fn a_scheme_can_be_the_table_of_any_policy() {
    let with = |schemes: &str| {
        let line = DEMO
            .lines()
            .find(|line| line.starts_with("schemes"))
            .unwrap();
        Scenario::parse(&DEMO.replace(line, schemes), "demo.toml", &[])
    };
    let parsed =
        with(r#"schemes = ["tcp", { kind = "delay-centric", hysteresis = "20 ms" }]"#).unwrap();
    assert_eq!(parsed.schemes[1].name(), "delay-centric");
    let text = toml::to_string(&parsed).unwrap();
    assert_eq!(Scenario::parse(&text, "again.toml", &[]).unwrap(), parsed);
    for (schemes, expected) in [
        (
            r#"schemes = [{ kind = "delay-centrik" }]"#,
            "`delay-centric`",
        ),
        (
            r#"schemes = [{ kind = "single-path", path = 7 }]"#,
            "paths are 0 to 1",
        ),
        (
            r#"schemes = [{ kind = "delay-centric", heartbeats = { timeout = "0 s" } }]"#,
            "`heartbeats.timeout`",
        ),
        (r#"schemes = ["ppd-tcp4"]"#, "`ppd-tcp1`"),
    ] {
        let errors = with(schemes).unwrap_err().to_string();
        assert!(errors.contains(expected), "{schemes}: {errors}");
    }
}

#[test]
fn overrides_change_the_load_and_the_job() {
    let off = demo(&["background=off", "transfer.count=5"]).unwrap();
    assert_eq!(off.background, Background::Off);
    assert!(off.profile(&off.paths[0]).is_none());
    assert_eq!(off.transfer.count, 5);
    let light = demo(&["path.1.background=light", "path.0.link.0.delay=60 ms"]).unwrap();
    assert!(light.profile(&light.paths[1]) != light.profile(&light.paths[0]));
    assert_eq!(light.paths[0].links[0].delay, Duration::from_millis(60));
}

#[test]
fn what_is_written_is_read_again() {
    let demo = demo(&["transfer.receiver_window=1000", "path.0.link.0.queue=64 kB"]).unwrap();
    let text = toml::to_string(&demo).unwrap();
    assert_eq!(Scenario::parse(&text, "again.toml", &[]).unwrap(), demo);
}

#[test]
fn paths_are_watched_where_the_table_is_there_and_never_under_plain_tcp() {
    let text = include_str!("../../../../scenarios/failover.toml");
    let failover = Scenario::parse(text, "failover.toml", &[]).unwrap();
    let usual = polypath_core::liveness::LivenessConfig::default();
    for scheme in Scheme::ALL {
        assert_eq!(demo(&[]).unwrap().endpoint(scheme).liveness, None);
        let watched = failover.endpoint(scheme).liveness;
        assert_eq!(watched, (scheme != Scheme::Tcp).then_some(usual));
    }
    let again = toml::to_string(&failover).unwrap();
    assert_eq!(
        Scenario::parse(&again, "again.toml", &[]).unwrap(),
        failover
    );
    let found = problems(&["overlay.liveness.misses=1", "overlay.liveness.hold=0 s"]);
    assert!(
        found.iter().any(|p| p.contains("`misses` must be 2 to 20")),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|p| p.contains("`hold` must be at least 1 ms")),
        "{found:?}"
    );
    let found = problems(&["overlay.liveness.longest_hold=25 h"]);
    let wanted = "`longest_hold` must be at most 86400 s";
    assert!(found.iter().any(|p| p.contains(wanted)), "{found:?}");
}

#[test]
fn equal_link_names_count_on() {
    let mut path = demo(&[]).unwrap().paths.remove(0);
    let access = Link {
        name: "access".to_owned(),
        repeat: 1,
        ..path.links[0].clone()
    };
    path.links[0].repeat = 2;
    path.links = vec![path.links[0].clone(), access, path.links[0].clone()];
    let names: Vec<String> = path.expanded().map(|(name, _)| name).collect();
    let expected = ["core.0", "core.1", "access.0", "core.2", "core.3"];
    assert_eq!(names, expected.map(|name| format!("path1/{name}")));
}

#[test]
fn impossible_values_are_all_named_with_their_remedies() {
    insta::assert_snapshot!(
        problems(&[
            "schema=2",
            "name=../etc",
            "schemes=[\"tcp\", \"tcp\", \"ppd-tpc1\"]",
            "transfer.count=0",
            "transfer.size=0 B",
            "transfer.timeout=0 s",
            "tcp.segment=40 B",
            "tcp.delayed_ack=0 s",
            "tcp.max_rto=100 ms",
            "overlay.threshold=-1",
            "overlay.pair_len=99 B",
            "path.0.background=haevy",
            "path.0.link.0.rate=0 Mbit/s",
            "path.0.link.0.loss=1.5",
            "path.0.link.0.onoff={ up = \"0 s\", down = \"1 s\" }",
            "path.0.link.0.outage=[{ from = \"2 s\", until = \"1 s\" }]",
            "path.1.name=path1",
            "path.1.link.0.repeat=2",
            "path.1.link.0.queue=900 B",
            "path.1.link.0.delay=-20 ms",
            "background.light.hosts=0",
            "background.heavy.udp.peak=0 bit/s",
            "background.idle={ hosts = 1, host_link = { rate = \"1 Mbit/s\", delay = \"0 s\", queue = \"0 packets\" } }",
        ])
        .join("\n")
    );
}

#[test]
fn a_title_does_not_steer_the_terminal() {
    let found = problems(&["title=\"\\u001b[2J\""]);
    assert!(
        found[0].contains("`title` has a control character"),
        "{found:?}"
    );
    assert!(demo(&["title=Läuft: a film"]).is_ok());
}

#[test]
fn an_override_finds_a_path_by_its_name_and_by_its_position() {
    let hurt = |set: &str| {
        let scenario = demo(&[set]).unwrap();
        let paths = scenario.paths.iter();
        paths
            .map(|path| path.links[0].loss > 0.4)
            .collect::<Vec<bool>>()
    };
    assert_eq!(hurt("path.path1.link.0.loss=0.5"), [true, false]);
    assert_eq!(hurt("path.path2.link.0.loss=0.5"), [false, true]);
    assert_eq!(hurt("path.1.link.0.loss=0.5"), [false, true]);
    let unknown = problems(&["path.paht2.link.0.loss=0.5"]);
    assert!(unknown[0].contains("did you mean `path2`?"), "{unknown:?}");
}

/// Settings that no machine could run, each with a part of the error.
const ABSURD: &[(&str, &str)] = &[
    (
        "path.0.link.0.queue=2000000 packets",
        "`queue` is 2000000 packets, but must be at most 1000000",
    ),
    (
        "path.0.link.0.queue=20 GB",
        "`queue` is 20 GB, but must be at most 10 GB",
    ),
    ("path.0.link.0.queue=5000000000 packets", "is too large"),
    (
        "path.0.link.0.delay=2 h",
        "`delay` is 7200 s, but must be at most 3600 s",
    ),
    ("path.0.link.0.delay=99999999999 h", "is too large"),
    ("path.0.link.0.rate=2000 Gbit/s", "`rate` is 2000 Gbit/s"),
    ("background.heavy.hosts=10001", "at most 10000"),
    (
        "background.heavy.host_link.queue=1000001 packets",
        "`queue` is 1000001 packets",
    ),
    ("background.heavy.tcp.file.mu=30", "B on average"),
    ("background.heavy.tcp.file.sigma=9", "lower `mu` or `sigma`"),
    ("background.heavy.tcp.idle=25 h", "`idle` is 90000 s"),
    (
        "background.heavy.udp.peak=20 Gbit/s",
        "less than 1 us apart",
    ),
    ("transfer.count=100001", "at most 100000"),
    ("transfer.size=2 GB", "at most 1 GB"),
    ("transfer.timeout=25 h", "`timeout` is 90000 s"),
    ("transfer.warm_up=25 h", "`warm_up` is 90000 s"),
    (
        "tcp.min_rto=1 ns",
        "`min_rto` is 1 ns, but must be at least 1 ms",
    ),
    (
        "overlay.pair_interval=1 us",
        "`pair_interval` is 1 us, but must be at least 1 ms",
    ),
];

#[test]
fn absurd_values_are_refused_instead_of_run() {
    let refused = |set: &str, part: &str| {
        let found = problems(&[set]);
        assert_eq!(found.len(), 1, "{set}: {found:#?}");
        assert!(
            found[0].starts_with(&format!("--set {set}: ")),
            "{found:#?}"
        );
        assert!(found[0].contains(part), "{found:#?}");
    };
    for (set, part) in ABSURD {
        refused(set, part);
    }
    let hosts = ["background.heavy.hosts=10000", "path.0.link.0.repeat=8"];
    let found = problems(&hosts);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].contains("have 110000 background hosts"),
        "{found:#?}"
    );
}

#[test]
fn a_queue_must_admit_what_comes_to_it() {
    let admitted = |sets: &[&str]| demo(&[&["background=off"], sets].concat()).is_ok();
    // A frame adds 60 B to a segment of 1000 B, unless sizes are those of the paper.
    assert!(!admitted(&["path.0.link.0.queue=1059 B"]));
    assert!(admitted(&["path.0.link.0.queue=1060 B"]));
    assert!(admitted(&[
        "path.0.link.0.queue=1 kB",
        "overlay.encapsulation=paper"
    ]));
    assert!(!admitted(&[
        "path.0.link.0.queue=1060 B",
        "overlay.pair_len=1200 B"
    ]));
    let large = "background.heavy.udp.packet=9 kB";
    let [on_host, on_link] = [
        "background.heavy.host_link.queue=8 kB",
        "path.0.link.0.queue=8 kB",
    ];
    assert_eq!(problems(&[large, on_host]).len(), 1);
    assert_eq!(problems(&[large, on_link]).len(), 1);
    let alone = demo(&[large]);
    assert!(alone.is_ok(), "{alone:?}");
}

#[test]
fn what_does_not_go_together_is_blamed_on_the_option() {
    let first = |sets: &[&str]| problems(sets).remove(0);
    for (set, part) in [
        (
            "tcp.set_up=false",
            "begins with the set-up of its connection; remove `set_up`",
        ),
        ("tcp.min_rto=90 s", "is below `min_rto`, 90 s"),
        (
            "path.1.link.0.repeat=2",
            "a path of 2 links cannot carry background",
        ),
        ("overlay.pair_len=60 kB", "frame with a pair"),
        ("path.0.name=path2", "another path is called `path2`"),
        ("background={}", "unknown background profile `heavy`"),
    ] {
        let queue = ["path.0.link.0.queue=50 kB", set];
        let sets = if part.starts_with("frame") {
            &queue[..]
        } else {
            &queue[1..]
        };
        let problem = first(sets);
        assert!(problem.contains(part), "{problem}");
        assert!(problem.starts_with("--set "), "{problem}");
    }
}

#[test]
fn costs_and_classes_need_a_policy_that_uses_them() {
    let cost = "path.1.tariff={ cost = 1, quota = \"1 MB\" }";
    let class = "class=[{ name = \"voice\", treatment = \"media\" }]";
    let found = problems(&[cost, class]);
    assert_eq!(found.len(), 2, "{found:?}");
    for (problem, unused) in found.iter().zip(["classes", "costs"]) {
        let part = format!("no policy of the file uses {unused}");
        assert!(problem.contains(&part), "{problem}");
    }
    // What is refused may have been the policy.
    let found = problems(&[cost, class, "schemes=[\"tcp\", \"in-time\"]"]);
    assert_eq!(found.len(), 1, "{found:?}");
    let form = "it is a table, as in `schemes = [{ kind = \"in-time\" }]`";
    assert!(found[0].ends_with(form), "{found:?}");
}

#[test]
fn plain_tcp_has_no_tariffs() {
    let quota = "path.0.tariff={ quota = \"1 MB\" }";
    let scenario = demo(&[quota, "schemes=[\"tcp\", { kind = \"single-path\" }]"]).unwrap();
    let of = |scheme: Scheme| scenario.endpoint(scheme).tariffs.of(PathId(0)).quota;
    assert_eq!(of(Scheme::Tcp), None);
    assert_eq!(of(scenario.schemes[1]), Some(Bytes(1_000_000)));
    let found = problems(&[quota, "schemes=[\"tcp\"]"]);
    assert!(
        found.len() == 1 && found[0].contains("`tcp` has no overlay"),
        "{found:?}"
    );
}

#[test]
fn the_cause_stands_before_what_follows_from_it() {
    let text = DEMO.replacen("[transfer]", "[job]", 1);
    let errors = Scenario::parse(&text, "demo.toml", &[]).unwrap_err();
    let shown: Vec<String> = errors.problems().iter().map(ToString::to_string).collect();
    assert!(shown[0].contains("unknown key `job`"), "{shown:#?}");
    assert!(shown[1].contains("missing key `transfer`"), "{shown:#?}");
}

#[test]
fn impossible_shapes_are_refused() {
    for (overrides, part) in [
        (["path=[]"], "there is no path"),
        (["schemes=[]"], "`schemes` is empty"),
        (["path.0.link=[]"], "has no links"),
        (["path=3"], "`path` is an integer, where a list is wanted"),
        (["background=on"], "`on` is not valid for `background`"),
        (
            ["background=7"],
            "`background` is an integer, where a string or a table is wanted",
        ),
        (["path.0.link.0.loss=nan"], "must be a finite number"),
        (["transfer.count=5000000000"], "must be at most 100000"),
        (["seed=-1"], "`seed` is -1, but must be at least 0"),
        (["path.0.link.0.name=a/b"], "`a/b` is not a name"),
    ] {
        let found = problems(&overrides);
        assert!(
            found.iter().any(|problem| problem.contains(part)),
            "{part}: {found:#?}"
        );
    }
}

#[test]
fn too_many_paths_are_refused() {
    let path = &DEMO[DEMO.find("[[path]]").unwrap()..DEMO.find("[lab]").unwrap()];
    let mut text = DEMO.to_owned();
    for copy in 0..32 {
        let path = path.replace("path1", &format!("a{copy}"));
        text.push_str(&path.replace("path2", &format!("b{copy}")));
    }
    let errors = Scenario::parse(&text, "many.toml", &[]).unwrap_err();
    assert_eq!(errors.problems().len(), 1, "{errors}");
    assert!(
        errors.to_string().contains("66 paths are too many"),
        "{errors}"
    );
}

#[test]
fn a_mistyped_key_is_shown_with_its_line_and_the_nearest_name() {
    let line = DEMO
        .lines()
        .position(|line| line.starts_with("delay"))
        .unwrap()
        + 1;
    let errors = Scenario::parse(&DEMO.replacen("\ndelay", "\ndealy", 1), "demo.toml", &[]);
    assert_eq!(
        errors.unwrap_err().to_string(),
        format!("demo.toml:{line}:1: unknown key `dealy`; did you mean `delay`?")
    );
}

#[test]
fn the_schema_names_every_key_of_the_demo() {
    let schema = Scenario::schema();
    let table: toml::Table = toml::from_str(DEMO).unwrap();
    for key in table.keys() {
        let described = schema["properties"][key].is_object();
        assert!(described, "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

proptest! {
    #[test]
    fn no_mutation_of_the_demo_makes_it_panic(
        at in 0..DEMO.len(),
        remove in 0_usize..40,
        insert in "[\\[\\]{}=\"'.a-z0-9\n -]{0,8}",
        swap in 0..DEMO.len(),
    ) {
        let boundary = |at: usize| (at..=DEMO.len()).find(|at| DEMO.is_char_boundary(*at)).unwrap();
        let (start, end) = (boundary(at), boundary((at + remove).min(DEMO.len())));
        let tail = &DEMO[boundary(swap)..boundary((swap + remove).min(DEMO.len()))];
        let text = format!("{}{insert}{tail}{}", &DEMO[..start], &DEMO[end..]);
        if let Err(errors) = Scenario::parse(&text, "demo.toml", &[]) {
            prop_assert!(!errors.problems().is_empty());
        }
    }
}

#[test]
fn classes_are_read_and_checked() {
    let class =
        |treatment: &str| format!("class=[{{ name = \"a\", treatment = \"{treatment}\" }}]");
    let schemes = "schemes=[{ kind = \"in-time\" }]";
    let scenario = demo(&[schemes, &class("media")]).unwrap();
    assert_eq!(
        scenario.endpoint(scenario.schemes[0]).classes,
        scenario.classes
    );
    assert_eq!(scenario.classes.iter().len(), 1);
    let twice =
        "class=[{ name = \"a\", treatment = \"bulk\" }, { name = \"b\", treatment = \"bulk\" }]";
    let found = problems(&[schemes, twice]);
    assert!(
        found.len() == 1 && found[0].contains("never matches"),
        "{found:?}"
    );
    let empty = "class=[{ name = \"a\", treatment = \"bulk\", dscp = [] }]";
    let found = demo(&[schemes, empty]).unwrap_err().to_string();
    assert!(found.contains("an empty list matches no packet"), "{found}");
}
