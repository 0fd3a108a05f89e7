use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Garden {
    /// The name on the gate.
    name: String,
    #[serde(default)]
    area: f64,
    /// The months in which
    /// it is open.
    ///
    /// None in winter.
    #[serde(default)]
    #[schemars(range(min = 1, max = 12))]
    months: Option<u8>,
    #[serde(default)]
    bed: Vec<Bed>,
    #[serde(default)]
    tools: BTreeMap<String, Tool>,
    #[serde(default)]
    gate: Gate,
}

impl Document for Garden {}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bed {
    crop: Crop,
    /// The interval of watering.
    interval: polypath_core::time::Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Crop {
    /// Roots.
    Carrot,
    /// Leaves.
    SavoyCabbage,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
enum Tool {
    Spade { blade: u32 },
    Hose { length: u32 },
}

#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
enum Gate {
    #[default]
    Open,
    Locked(u32),
}

const GOOD: &str = r#"name = "Eden"
area = 3
months = 4

[[bed]]
crop = "carrot"
interval = "20 ms"

[[bed]]
crop = "savoy-cabbage"
interval = "1 h"

[tools.one]
kind = "spade"
blade = 20
"#;

fn problems(text: &str, overrides: &[&str]) -> Vec<String> {
    let overrides: Vec<Override> = overrides.iter().map(|o| o.parse().unwrap()).collect();
    let read = read::<Garden>(text, "g.toml", &overrides);
    let errors = read.map(|(garden, _)| format!("{garden:?}")).unwrap_err();
    errors.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn reads_a_good_document_and_finds_its_lines() {
    let (garden, locator) = read::<Garden>(GOOD, "g.toml", &[]).unwrap();
    assert_eq!(garden.bed[1].crop, Crop::SavoyCabbage);
    assert_eq!(garden.tools["one"], Tool::Spade { blade: 20 });
    assert_eq!((garden.area, garden.months), (3.0, Some(4)));
    assert_eq!(locator.line_of("bed.1.interval"), Some(11));
    assert_eq!(locator.line_of("bed.1"), Some(9));
    assert_eq!(locator.line_of("bed.2"), None);
    assert_eq!(locator.line_of("gate"), None);
    assert_eq!(locator.location("bed.0.crop").to_string(), "g.toml:6:8");
}

#[test]
fn reports_every_problem_in_the_order_of_lines() {
    let text = r#"nmae = "Eden"
area = "large"
months = 13

[[bed]]
crop = "carot"
interval = "20 msec"

[[bed]]
crop = 3
zzz = true

[tools.one]
kind = "spoon"

[tools.two]
kind = "spade"
blade = -1
"#;
    insta::assert_snapshot!(problems(text, &[]).join("\n"));
}

#[test]
fn a_description_of_several_lines_is_printed_on_one() {
    assert_eq!(
        problems("name = \"x\"\nmonths = 13", &[]),
        ["g.toml:2:10: `months` is 13, but must be at most 12; The months in which it is open."]
    );
    assert_eq!(
        problems("name = \"x\"\nmonths = 0", &[]),
        ["g.toml:2:10: `months` is 0, but must be at least 1; The months in which it is open."]
    );
}

/// The example has the default, the text of a tag, or else any valid value.
#[test]
fn a_value_of_the_wrong_type_is_refused_with_an_example() {
    for (line, remedy) in [
        ("area = \"3 acres\"", "for example `area = 0.0`"),
        (
            "months = 1.5",
            "The months in which it is open; for example `months = 1`",
        ),
        (
            "bed = 5",
            "for example `bed = [{ crop = \"carrot\", interval = \"1 s\" }]`",
        ),
        (
            "tools.one = \"hose\"",
            "for example `one = { kind = \"hose\" }`",
        ),
        (
            "tools.one = 7",
            "for example `one = { kind = \"spade\", blade = 1 }`",
        ),
        ("tools = 7", "a table is wanted"),
    ] {
        let found = problems(&format!("name = \"x\"\n{line}"), &[]);
        assert!(found[0].ends_with(remedy), "{found:?}\nnot {remedy}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn a_key_of_a_table_within_is_located() {
    assert_eq!(
        problems("name = \"x\"\ncrop = \"carrot\"", &[]),
        ["g.toml:2:1: unknown key `crop`; it is a key of `bed`"]
    );
    assert_eq!(
        problems("name = \"x\"", &["bed.0.crop=carrot"]),
        [
            "--set bed.0.crop=carrot: the file has no `bed`, of which an entry could be set; add it to the file"
        ]
    );
}

#[test]
fn a_table_that_replaces_a_list_is_of_the_wrong_type() {
    let found = problems(GOOD, &["bed={ crop = \"carrot\" }"]);
    assert!(
        found[0].contains("`bed` is a table, where a list is wanted; write the header of each entry in double brackets"),
        "{found:?}"
    );
}

#[test]
fn a_key_that_is_defined_twice_is_named() {
    let found = problems("name = \"x\"\nmonths = 3\nmonths = 4", &[]);
    let expected = "g.toml:3:1: `months` is defined twice; remove one of the two";
    assert_eq!(found[0], expected);
    let found = problems("name = \"x\"\n[bed]\n[bed]", &[]);
    let expected = "g.toml:3:2: `bed` is defined twice; write each header in double brackets";
    assert!(found[0].starts_with(expected), "{found:?}");
}

#[test]
fn reports_every_syntax_error() {
    insta::assert_snapshot!(problems("name = \nmonths = 3 4\n[bed", &[]).join("\n"));
    assert_eq!(
        problems("name = \"x\"\nmonths = 99999999999999999999", &[]),
        ["g.toml:2:10: the integer 99999999999999999999 is out of range"]
    );
}

#[test]
fn an_integer_override_out_of_range_is_not_reported_as_a_string() {
    assert_eq!(
        problems(GOOD, &["months=99999999999999999999"]),
        ["--set months=99999999999999999999: the integer 99999999999999999999 is out of range"]
    );
}

#[test]
fn the_document_itself_is_not_printed_as_a_key() {
    let without = GOOD.replace("name = \"Eden\"\n", "");
    let found = problems(&without, &[]);
    assert!(
        found[0].contains("missing key `name` in the document"),
        "{found:?}"
    );
}

#[test]
fn overrides_replace_values_of_the_file() {
    let set = |text: &str| text.parse::<Override>().unwrap();
    let overrides = [
        set("bed.1.crop=carrot"),
        set("tools.two={ kind = \"hose\", length = 3 }"),
        set("gate.Locked=7"),
        set("name = The Park"),
    ];
    let (garden, locator) = read::<Garden>(GOOD, "g.toml", &overrides).unwrap();
    assert_eq!(garden.bed[1].crop, Crop::Carrot);
    assert_eq!(garden.tools["two"], Tool::Hose { length: 3 });
    assert_eq!(garden.gate, Gate::Locked(7));
    assert_eq!(garden.name, "The Park");
    assert_eq!(locator.line_of("bed.1.crop"), None);
    assert_eq!(
        locator.location("bed.1.crop").to_string(),
        "--set bed.1.crop=carrot"
    );
}

#[test]
fn problems_of_overrides_name_the_override() {
    let overrides = [
        "bed.7.crop=carrot",
        "mnths=3",
        "area.x=1",
        "bed.0.interval=soon",
    ];
    insta::assert_snapshot!(problems(GOOD, &overrides).join("\n"));
    for bad in ["", "=3", "key", " = "] {
        assert!(bad.parse::<Override>().is_err(), "{bad}");
    }
}

#[test]
fn one_mistake_does_not_hide_the_next_and_stand_ins_are_not_reported() {
    let check = |garden: &Garden, problems: &mut Problems| {
        for (index, bed) in garden.bed.iter().enumerate() {
            if bed.interval < polypath_core::time::Duration::from_secs(60) {
                problems.report(&format!("bed.{index}.interval"), "too often", "wait");
            }
        }
    };
    let text = GOOD.replace("20 ms", "often").replace("1 h", "2 s");
    let errors = read_checked::<Garden>(&text, "g.toml", &[], check).unwrap_err();
    let shown: Vec<String> = errors.problems().iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{errors}");
    assert!(shown[0].starts_with("g.toml:7:12: `interval`: `often` is not a duration"));
    assert_eq!(shown[1], "g.toml:11:12: too often; wait");
}

#[test]
fn only_a_similar_name_is_suggested() {
    let names = ["delay", "rate", "queue"];
    assert_eq!(nearest("dealy", names), Some("delay"));
    assert_eq!(nearest("Rate", names), Some("rate"));
    assert_eq!(nearest("loss", names), None);
    assert_eq!(nearest("x", []), None);
}

#[test]
fn a_missing_key_suggests_a_similar_unknown_key() {
    let with = |key: &str| problems(&GOOD.replacen("name", key, 1), &[]);
    let found = with("naming");
    let wanted = "missing key `name` in the document; is `naming` meant to be it?";
    assert!(found.iter().any(|p| p.ends_with(wanted)), "{found:?}");
    let found = with("zzz");
    assert!(
        found.iter().any(|p| p.contains("missing key `name`")),
        "{found:?}"
    );
    assert!(
        !found.iter().any(|p| p.contains("meant to be")),
        "{found:?}"
    );
}

#[test]
fn at_most_twenty_problems_are_printed() {
    let many: Vec<String> = (0..30).map(|n| format!("zzz{n} = 1\n")).collect();
    let many = many.concat();
    let errors = read::<Garden>(&format!("{many}{GOOD}"), "g.toml", &[]).unwrap_err();
    assert_eq!(errors.problems().len(), 30);
    let printed = errors.to_string();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines.len(), lines[20]), (21, "and 10 more"), "{printed}");
    let few: String = many.split_inclusive('\n').take(20).collect();
    let errors = read::<Garden>(&format!("{few}{GOOD}"), "g.toml", &[]).unwrap_err();
    assert!(!errors.to_string().contains("more"), "{errors}");
}

#[test]
fn the_first_hundred_problems_are_kept_and_the_others_counted() {
    let keys: Vec<usize> = (100_000..400_000).collect();
    let descending: Vec<usize> = keys.iter().rev().copied().collect();
    for keys in [keys, descending] {
        let lines: Vec<String> = keys.iter().map(|n| format!("zzz{n} = 1\n")).collect();
        let errors = read::<Garden>(&lines.concat(), "g.toml", &[]).unwrap_err();
        assert_eq!(errors.problems().len(), 100);
        for (index, problem) in errors.problems().iter().enumerate() {
            let start = format!("g.toml:{}:1: unknown key `zzz{}`", index + 1, keys[index]);
            assert!(problem.to_string().starts_with(&start), "{problem}");
        }
        // The required key is missing as well.
        let more = format!("\nand {} more", 300_000 + 1 - 20);
        assert!(errors.to_string().ends_with(&more), "{errors}");
    }
    // Its distance to a known name would take gigabytes.
    let long = format!("{} = 1\n{GOOD}", "z".repeat(10_000_000));
    let errors = read::<Garden>(&long, "g.toml", &[]).unwrap_err();
    assert_eq!(errors.problems().len(), 1);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("name = {}", "[".repeat(100_000));
    assert!(!problems(&deep, &[]).is_empty());
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC{0,80}", key in "\\PC{0,12}", value in "\\PC{0,12}") {
        let set = format!("{key}={value}").parse::<Override>();
        let overrides: Vec<Override> = set.into_iter().collect();
        let _ = read::<Garden>(&text, "g.toml", &overrides).map_err(|errors| errors.to_string());
    }

    #[test]
    fn a_mutated_document_does_not_panic_and_errors_have_a_location(
        at in 0..GOOD.len(),
        remove in 0_usize..12,
        insert in "[\\[\\]{}=\"'.#a-z0-9\n -]{0,6}",
    ) {
        let end = (at + remove).min(GOOD.len());
        let text = format!("{}{insert}{}", &GOOD[..at], &GOOD[end..]);
        if let Err(errors) = read::<Garden>(&text, "g.toml", &[]) {
            let lines = text.split('\n').count();
            for problem in errors.problems() {
                let Location::File { line, .. } = problem.location else {
                    panic!("{problem}");
                };
                prop_assert!((1..=lines).contains(&line), "{problem}");
            }
            prop_assert!(!errors.problems().is_empty());
        }
    }
}
