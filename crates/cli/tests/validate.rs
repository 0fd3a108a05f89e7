//! The command line of `polypath validate`.

mod common;

use std::collections::BTreeSet;
use std::process::Output;

use common::{polypath, printed};

fn validate(more: &[&str]) -> Output {
    let output = polypath().arg("validate").args(more).output();
    output.expect("the program runs")
}

#[test]
fn a_suite_prints_its_rows_as_a_table_and_as_json() {
    let only = ["--reduced", "--only", "ns2/single-flow/reno-queue-50"];
    let text = printed(&validate(&only));
    assert!(
        text.contains("ns2/single-flow/reno-queue-50/goodput"),
        "{text}"
    );
    assert!(text.contains("8 rows hold, 0 do not"), "{text}");
    let json = |jobs| {
        printed(&validate(
            &[&only[..], &["--format", "json", "--jobs", jobs]].concat(),
        ))
    };
    let value: serde_json::Value = serde_json::from_str(&json("1")).expect("it is JSON");
    assert_eq!(value["rows"].as_array().map(Vec::len), Some(8));
    assert_eq!(value["holds"], true);
    assert_eq!(value["rows"][0]["runs"], 1);
    assert_eq!(json("1"), json("2"));
}

#[test]
fn an_unknown_name_is_refused_with_a_list_of_the_suites() {
    let output = validate(&["--only", "ns3/"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("`ns3/`") && stderr.contains("ns2/spacing"),
        "{stderr}"
    );
    let listed = stderr
        .rsplit_once("the suites are ")
        .expect("a list")
        .1
        .trim();
    let suites: Vec<&str> = listed.split(", ").collect();
    let unique: BTreeSet<&str> = suites.iter().copied().collect();
    assert_eq!(unique.len(), suites.len(), "{stderr}");
}
