use std::collections::{BTreeMap, BTreeSet};

use polypath_core::frame::FrameKind;
use polypath_core::time::Duration;
use polypath_sim::{DelayQuantiles, PathBytes, WireCount, WireKind, WireUse};

use super::*;
use crate::fixture::HOSTILE;
use crate::legend::MEDIA_LEGEND;

const RANDOM: &str = include_str!("../../../../scenarios/media-random.toml");

/// A scenario of two policies.
fn scenario(title: &str) -> MediaScenario {
    let policies = r#"media.policies=[{ kind = "single-path" }, { kind = "duplicate-all" }]"#;
    let overrides = [policies.parse().unwrap()];
    let mut scenario = MediaScenario::parse(RANDOM, "media.toml", &overrides).unwrap();
    title.clone_into(&mut scenario.title);
    scenario
}

/// The bytes of an outcome with this number of copies of each packet.
fn path_bytes(copies: u64) -> Vec<PathBytes> {
    let path = |forward, backward| PathBytes { forward, backward };
    let second = if copies > 1 { 1_423_000 } else { 0 };
    vec![path(1_423_000, 810), path(second, 0)]
}

/// A run of 1000 packets of which `late` are late at each of three deadlines.
fn outcome(late: [u64; 3], copies: u64) -> MediaOutcome {
    let ms = Duration::from_millis;
    let data = WireCount {
        frames: 1000 * copies,
        bytes: 1_423_000 * copies,
    };
    let replies = WireCount {
        frames: 10,
        bytes: 810,
    };
    MediaOutcome {
        sent: 1000,
        delivered: 1000 - late[2],
        late: late.into(),
        delay: Some(DelayQuantiles {
            p50: ms(21),
            p99: ms(150),
            p999: ms(320),
        }),
        longest_gap: ms(40 + late[2]),
        reordered: 2,
        payload: 1_316_000,
        wire: WireUse {
            forward: [(WireKind::Frame(FrameKind::Data), data)].into(),
            backward: [(WireKind::Frame(FrameKind::HeartbeatReply), replies)].into(),
            paths: path_bytes(copies),
        },
    }
}

/// Three runs of single-path and duplicate-all.
pub(super) fn outcomes() -> Vec<Vec<MediaOutcome>> {
    vec![
        [[40, 20, 10], [44, 22, 12], [48, 24, 14]]
            .map(|late| outcome(late, 1))
            .into(),
        [[2, 1, 0], [0, 0, 0], [4, 2, 0]]
            .map(|late| outcome(late, 2))
            .into(),
    ]
}

pub(super) fn with_record<T>(
    title: &str,
    read: impl FnOnce(MediaRecord<'_>, &MediaFigures) -> T,
) -> T {
    let (scenario, outcomes) = (scenario(title), outcomes());
    let carriers: Vec<_> = scenario.media.policies.iter().map(Into::into).collect();
    let record = MediaRecord {
        scenario: &scenario,
        seeds: &[1, 2, 3],
        carriers: &carriers,
        outcomes: &outcomes,
        lab: None,
    };
    read(record, &MediaFigures::of(record))
}

#[test]
fn shares_have_intervals_and_differences_are_paired() {
    with_record("", |_, figures| {
        let [single, all] = &figures.policies[..] else {
            panic!("{figures:?}");
        };
        let late = single.late[1].unwrap();
        assert!((late.mean - 0.022).abs() < 1e-12);
        // t(0.975, 2) = 4.302653; the standard deviation is 0.002.
        let half = 4.302_653 * 0.002 / 3_f64.sqrt();
        assert!((late.ci95.unwrap() - half).abs() < 1e-8);
        assert!(single.late_differences.is_empty());
        let difference = all.late_differences[1].unwrap().estimate;
        assert!((difference.mean + 0.021).abs() < 1e-12, "{difference:?}");
        assert_eq!((difference.n, difference.includes(0.0)), (3, Some(false)));
        assert!((single.lost.unwrap().mean - 0.012).abs() < 1e-12);
        let ratio = single.wire_ratio.unwrap().mean;
        assert!((ratio - 1_423_810.0 / 1_316_000.0).abs() < 1e-12);
        let parts: f64 = all.wire.iter().map(|of| of.ratio.unwrap().mean).sum();
        assert!((parts - all.wire_ratio.unwrap().mean).abs() < 1e-12);
        assert_eq!(all.wire[0].total.frames, 6000);
        let share = |of: &PathFigures| of.share.unwrap().mean;
        assert_eq!(
            single.paths.iter().map(share).collect::<Vec<_>>(),
            [1.0, 0.0]
        );
        assert!((share(&all.paths[1]) - 1_423_000.0 / 2_846_810.0).abs() < 1e-12);
    });
}

#[test]
fn the_report_has_the_keys_that_programs_rely_on() {
    let text = with_record("A small stream", |record, figures| {
        json(record, figures).unwrap()
    });
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["deadlines_s"], serde_json::json!([0.1, 0.2, 0.4]));
    let all = &report["policies"][1];
    assert_eq!(all["kind"], "duplicate-all");
    assert_eq!(all["late"][1]["share"]["mean"], 0.001);
    assert_eq!(all["late"][1]["minus_first_includes_zero"], false);
    assert_eq!(all["wire"][1]["kind"], "heartbeat-reply");
    assert_eq!(all["runs"][2]["late"], serde_json::json!([4, 2, 0]));
    let mut shown = report;
    // The parameters are those of the scenario.
    shown["parameters"] = serde_json::Value::Null;
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap());
}

#[test]
fn the_terminal_shows_intervals_within_80_columns() {
    let text = with_record("A small \u{1b}[2Jstream", render);
    assert!(!text.contains('\u{1b}'));
    let tables = text.lines().filter(|line| line.starts_with(['─', ' ']));
    assert!(
        tables
            .map(|line| line.chars().count())
            .all(|width| width <= 80),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn the_page_is_self_contained_and_escapes_names() {
    let page = with_record(HOSTILE, |record, figures| {
        page::render(record, figures).unwrap()
    });
    assert!(!page.contains("<b>"));
    for outside in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg").count(), 3 + 3);
    assert_eq!(
        page.matches(r#"role="img" aria-label="Chart: "#).count(),
        3 + 3
    );
    for part in [
        "at 200 ms",
        "heartbeat-reply",
        "minus that of the first policy",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn each_sheet_has_a_header_and_a_row_for_each_observation() {
    let lines = |bytes: Vec<u8>| -> Vec<String> {
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    with_record("", |record, _| {
        let late = lines(csv::late(record).unwrap());
        assert_eq!(late[0], "policy,seed,deadline_s,late,sent");
        assert_eq!(late[2], "single-path,1,0.200000,20,1000");
        assert_eq!(late.len(), 1 + 2 * 3 * 3);
        let runs = lines(csv::runs(record).unwrap());
        assert_eq!(runs.len(), 1 + 2 * 3);
        assert!(
            runs[1].starts_with("single-path,1,1000,990,0.021000,0.150000,"),
            "{runs:?}"
        );
        let wire = lines(csv::wire(record).unwrap());
        assert_eq!(wire[1], "single-path,1,to client,data,1000,1423000");
        assert_eq!(wire.len(), 1 + 2 * 3 * 2);
        let paths = lines(csv::paths(record).unwrap());
        assert_eq!(paths[0], "policy,seed,path,bytes_to_client,bytes_to_server");
        assert_eq!(paths[1], "single-path,1,path1,1423000,810");
        assert_eq!(paths.len(), 1 + 2 * 3 * 2);
    });
}

#[test]
fn a_stream_that_never_arrives_still_makes_a_report() {
    let scenario = scenario("");
    let nothing = MediaOutcome {
        delivered: 0,
        delay: None,
        wire: WireUse {
            forward: BTreeMap::new(),
            backward: BTreeMap::new(),
            paths: Vec::new(),
        },
        ..outcome([1000; 3], 1)
    };
    let outcomes = vec![vec![nothing.clone()], vec![nothing]];
    let carriers: Vec<_> = scenario.media.policies.iter().map(Into::into).collect();
    let record = MediaRecord {
        scenario: &scenario,
        seeds: &[1],
        carriers: &carriers,
        outcomes: &outcomes,
        lab: None,
    };
    let figures = MediaFigures::of(record);
    assert!(render(record, &figures).contains("No packet arrived"));
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), record, &figures).unwrap();
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, FILES.len());
}

/// The record of the same runs in the lab: duplicate-all did not use the second path in the second run,
/// single-path lost packets in the kernel in the third, which was late.
fn with_lab<T>(read: impl FnOnce(MediaRecord<'_>, &MediaFigures) -> T) -> T {
    let conditions = [300, 400, 1500].map(|micros| LabConditions {
        lateness: Duration::from_micros(micros),
        bound: Duration::from_millis(1),
        longest: Duration::from_micros(50 * micros),
        groups: 1,
    });
    let run = |is_used| CarrierMeasurement {
        processor: Some(Duration::from_millis(50)),
        dropped_at_start: 7,
        used_at_start: vec![Some(true), Some(is_used)],
        ..CarrierMeasurement::default()
    };
    let mut single = vec![run(true); 3];
    single[2].dropped = 4;
    single[2].refused = 5;
    let mut all = vec![run(true); 3];
    all[1] = run(false);
    for measured in &mut single {
        measured.processor = None;
    }
    let measurements = [single, all];
    with_record("", |simulated, _| {
        let record = MediaRecord {
            lab: Some(LabRecord {
                conditions: &conditions,
                measurements: &measurements,
            }),
            ..simulated
        };
        read(record, &MediaFigures::of(record))
    })
}

#[test]
fn a_record_of_the_lab_warns_of_what_spoils_it() {
    let warnings = with_lab(|record, _| lab::warnings(record));
    let expected = [
        "The run of seed 3 is invalid: the emulated links were late by 1.5 ms at the 99th \
         percentile, and at most 1 ms are allowed.",
        "single-path, seed 3: the kernel dropped 4 packets before the emulated links and refused 5 \
         after them.",
        "duplicate-all, seed 2: did not use path2 at the start of the stream; the emulated links had \
         dropped 7 of its packets by then.",
    ];
    assert_eq!(warnings, expected);
    assert!(with_record("", |record, _| lab::warnings(record)).is_empty());
}

#[test]
fn a_run_does_not_count_if_the_machine_stalled() {
    let with = |longest| LabConditions {
        bound: Duration::from_millis(1),
        longest: Duration::from_millis(longest),
        ..LabConditions::default()
    };
    assert_eq!(with(100).invalid_reason(), None);
    let expected = "the machine stalled for 101 ms, and at most 100 ms are allowed";
    assert_eq!(with(101).invalid_reason().as_deref(), Some(expected));
    assert!(!with(101).is_valid());
}

#[test]
fn terminal_page_and_json_have_the_conditions_of_the_lab() {
    let (text, page, json) = with_lab(|record, figures| {
        let page = page::render(record, figures).unwrap();
        (
            render(record, figures),
            page,
            json(record, figures).unwrap(),
        )
    });
    let tables = text.lines().filter(|line| line.starts_with(['─', ' ']));
    let mut widths = tables.map(|line| line.chars().count());
    assert!(widths.all(|width| width <= 80), "{text}");
    for part in [
        "Lateness of the emulated links",
        "by path",
        "seed 2: did not",
    ] {
        assert!(text.contains(part), "{part}: {text}");
        assert!(page.contains(part), "{part}");
    }
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["mode"], "lab");
    assert_eq!(report["lab"]["runs"][2]["valid"], false);
    assert_eq!(report["lab"]["runs"][1]["lateness_p99_s"], 0.0004);
    assert_eq!(report["lab"]["runs"][1]["longest_lateness_s"], 0.02);
    assert_eq!(report["lab"]["warnings"].as_array().unwrap().len(), 3);
    let run = &report["policies"][1]["runs"][1]["lab"];
    assert_eq!(run["processor_s"], 0.05);
    // 50 ms for 1000 packets.
    assert_eq!(report["policies"][1]["processor_us"]["mean"], 50.0);
    assert!(report["policies"][0]["processor_us"]["mean"].is_null());
    assert_eq!(page.matches("<svg").count(), 3 + 4);
    assert_eq!(run["dropped_at_start"], 7);
    assert_eq!(run["used_at_start"][1], false);
    let path = &report["policies"][1]["runs"][1]["paths"][0];
    assert_eq!(path["bytes_to_client"], 1_423_000);
}

#[test]
fn every_column_is_explained() {
    let (columns, deadlines): (Vec<String>, _) = with_lab(|record, figures| {
        let tables = table::tables(record, figures).into_iter();
        let columns = tables.flat_map(|table| table.columns).collect();
        (columns, record.scenario.media.deadlines.clone())
    });
    let deadlines: Vec<String> = deadlines.iter().map(|of| format!("at {of}")).collect();
    let names: Vec<&str> = MEDIA_LEGEND
        .iter()
        .flat_map(|(names, _)| names.split(", "))
        .collect();
    assert!(columns.iter().any(|column| column == "counts"));
    for column in columns {
        let words = column.replace('\n', " ");
        let mut units = [" %", " ms"].into_iter();
        let without_unit = units.find_map(|unit| words.strip_suffix(unit));
        let name = match without_unit.unwrap_or(&words) {
            _ if deadlines.contains(&words) => "at",
            name => name,
        };
        assert!(name == "policy" || names.contains(&name), "{words}");
    }
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}
