//! Links that paths share, and backgrounds that differ by direction.

use super::*;

/// Two paths that share their first two links.
const SHARED: &str = r#"
schema = 1
name = "shared"
schemes = ["tcp"]
[transfer]
size = "10 kB"
count = 1
[[path]]
name = "a"
[[path.link]]
name = "access"
shared = true
repeat = 2
rate = "20 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[path.link]]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[path]]
name = "b"
[[path.link]]
name = "access"
shared = true
repeat = 2
rate = "20 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[path.link]]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
"#;

fn shared(overrides: &[&str]) -> Result<Scenario, Errors> {
    let overrides: Vec<Override> = overrides.iter().map(|o| o.parse().unwrap()).collect();
    Scenario::parse(SHARED, "shared.toml", &overrides)
}

fn only_problem(text: &str) -> String {
    let errors = Scenario::parse(text, "shared.toml", &[]).unwrap_err();
    assert_eq!(errors.problems().len(), 1, "{errors}");
    errors.to_string()
}

#[test]
fn shared_links_have_one_name_in_all_paths() {
    let scenario = shared(&[]).unwrap();
    let names = |path: &crate::Path| -> Vec<String> { path.expanded().map(|l| l.0).collect() };
    assert_eq!(
        names(&scenario.paths[0]),
        ["access.0", "access.1", "a/link.0"]
    );
    assert_eq!(
        names(&scenario.paths[1]),
        ["access.0", "access.1", "b/link.0"]
    );
    let text = toml::to_string(&scenario).unwrap();
    assert_eq!(Scenario::parse(&text, "again.toml", &[]).unwrap(), scenario);
}

#[test]
fn shared_links_that_differ_are_refused_with_line_and_remedy() {
    let first = SHARED.find("20 Mbit/s").unwrap() + 1;
    let second = first + SHARED[first..].find("20 Mbit/s").unwrap();
    let mut text = SHARED.to_owned();
    text.replace_range(second..second + 9, "15 Mbit/s");
    let line = text[..second].lines().count();
    let problem = only_problem(&text);
    let place = format!("shared.toml:{line}:");
    assert!(problem.starts_with(&place), "{problem}");
    assert!(
        problem.contains("`rate` of the shared link `access`"),
        "{problem}"
    );
    assert!(
        problem.contains("give it the same value in each path"),
        "{problem}"
    );
    let set = shared(&["path.b.link.0.queue=60 packets"]).unwrap_err();
    assert!(
        set.to_string().contains("`queue` of the shared link"),
        "{set}"
    );
}

#[test]
fn a_link_that_nobody_shares_or_that_has_no_name_is_refused() {
    let alone = SHARED.replacen("shared = true\n", "", 1);
    assert!(only_problem(&alone).contains("no other path shares the link `access`"));
    let nameless = SHARED.replace("name = \"access\"\n", "");
    assert!(only_problem(&nameless).contains("a shared link has no name"));
    let twice = SHARED.replacen(
        "[[path.link]]\nrate",
        "[[path.link]]\nname = \"access\"\nshared = true\nrate",
        1,
    );
    let errors = Scenario::parse(&twice, "shared.toml", &[]).unwrap_err();
    assert!(
        errors
            .to_string()
            .contains("passes the shared link `access` twice"),
        "{errors}"
    );
}

#[test]
fn a_background_back_needs_a_background_with_equal_hosts() {
    assert!(demo(&["path.path1.background_back=light"]).is_ok());
    let scenario = demo(&["path.path1.background_back=light"]).unwrap();
    let path = &scenario.paths[0];
    assert_ne!(scenario.profile(path), scenario.profile_back(path));
    let path = &scenario.paths[1];
    assert_eq!(scenario.profile(path), scenario.profile_back(path));
    let first = |sets: &[&str]| problems(sets).remove(0);
    let unlike = first(&[
        "path.path1.background_back=light",
        "background.light.hosts=19",
    ]);
    assert!(
        unlike.contains("give both profiles the same `hosts`"),
        "{unlike}"
    );
    let unknown = first(&["path.path1.background_back=lihgt"]);
    assert!(unknown.contains("did you mean `light`?"), "{unknown}");
    let without = demo(&["path.0.background_back=light", "background=off"]);
    assert!(without.is_ok(), "no background at all is valid");
    let errors = shared(&[
        "background.x={ hosts = 1, host_link = { rate = \"1 Mbit/s\", delay = \"1 ms\", queue = \"50 packets\" }, tcp = { idle = \"1 s\", file = { mu = 9.0, sigma = 1.0 } } }",
        "path.a.background_back=x",
    ]);
    let errors = errors.unwrap_err().to_string();
    assert!(
        errors.contains("is the return direction of a `background`"),
        "{errors}"
    );
}
