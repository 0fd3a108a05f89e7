//! `polypath reproduce`: verdicts from the given ledger, and reuse of finished runs.

mod common;
#[path = "common/files.rs"]
mod files;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use common::{polypath, printed};
use files::{content, write_file};
use serde_json::Value;

/// The ledger of the project.
const LEDGER: &str = include_str!("../../claims/claims.toml");

/// Figures that take almost no time.
const FAST: [&str; 2] = ["ppd.overhead", "ppd.eq1"];

fn reproduce(out: &Path, more: &[&str]) -> Output {
    let mut command = polypath();
    command.arg("reproduce").arg("--out").arg(out).args(more);
    command.output().expect("the program runs")
}

/// The answers to the claims of `names`.
fn answers(out: &Path, names: &[&str], more: &[&str]) -> Vec<Value> {
    let arguments = [names, &["--format", "json"], more].concat();
    let text = printed(&reproduce(out, &arguments));
    serde_json::from_str(&text).expect("it is JSON")
}

/// Claims and their verdicts.
fn verdicts(answers: &[Value]) -> Vec<[&str; 2]> {
    let keys = ["claim", "verdict"];
    let one = |answer| keys.map(|key| text_of(answer, key));
    answers.iter().map(one).collect()
}

fn text_of<'a>(answer: &'a Value, key: &str) -> &'a str {
    answer[key].as_str().unwrap_or_default()
}

#[test]
fn a_changed_number_in_the_ledger_changes_the_verdict() {
    let dir = tempfile::tempdir().expect("a folder");
    let claim = ["ppd.overhead.acks"];
    let found = answers(dir.path(), &claim, &[]);
    assert_eq!(verdicts(&found), [["ppd.overhead.acks", "holds"]]);
    assert_eq!(found[0]["paper"][0], 0.026);
    let ours = found[0]["ours"][0].as_f64().expect("a number");
    assert!((ours / 0.026 - 1.0).abs() < 0.02, "{ours}");
    let changed = LEDGER.replacen("value = [0.026]", "value = [0.027]", 1);
    assert_ne!(changed, LEDGER);
    let ledger = write_file(dir.path(), "ledger.toml", &changed);
    let ledger = ledger.to_str().expect("it is text");
    let found = answers(dir.path(), &claim, &["--ledger", ledger]);
    assert_eq!(verdicts(&found), [["ppd.overhead.acks", "differs"]]);
}

#[test]
fn figures_measurements_and_the_book_are_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let table = printed(&reproduce(dir.path(), &FAST));
    assert!(
        table.contains("claims: 4, of which 4 hold, 0 differ, 0 not run"),
        "{table}"
    );
    let files = content(dir.path());
    let text = |name: &str| String::from_utf8_lossy(&files[name]).into_owned();
    let measured = text("ppd.overhead/measurements.csv");
    assert!(
        measured.starts_with("claim,quantity,coordinate,at,at_unit,unit,group,seed,value\n"),
        "{measured}"
    );
    assert!(measured.contains("\nppd.overhead.probes,"), "{measured}");
    let book = text("book.html");
    for wanted in ["ppd.overhead.acks", "Steinbach", "holds"] {
        assert!(book.contains(wanted), "{wanted}");
    }
    assert!(!book.contains("<script") && !book.contains("src=\"http"));
    let claims: Vec<Value> = serde_json::from_slice(&files["claims.json"]).expect("it is JSON");
    assert_eq!(claims.len(), 4);
}

#[test]
fn the_bytes_depend_neither_on_threads_nor_on_interruptions() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| dir.path().join(name);
    let files = |name: &str, jobs: &str| {
        printed(&reproduce(
            &folder(name),
            &[&FAST[..], &["--jobs", jobs]].concat(),
        ));
        content(&folder(name))
    };
    let whole = files("one", "1");
    assert_eq!(files("five", "5"), whole);
    files("cut", "1");
    let jobs = |name: &str| -> BTreeMap<PathBuf, SystemTime> {
        let entries = fs::read_dir(folder(name).join("jobs")).expect("a folder");
        let entries = entries.map(|entry| entry.expect("it can be read"));
        let modified = |entry: fs::DirEntry| {
            let about = entry.metadata().expect("it is there");
            (entry.path(), about.modified().expect("a time"))
        };
        entries.map(modified).collect()
    };
    let kept = jobs("cut");
    let (lost, _) = kept.first_key_value().expect("a job");
    for file in [lost, &folder("cut/claims.json"), &folder("cut/book.html")] {
        fs::remove_file(file).expect("it was there");
    }
    assert_eq!(
        files("cut", "2"),
        whole,
        "it continues after the finished runs"
    );
    let again = jobs("cut");
    let rewritten = kept.iter().filter(|(path, at)| again[*path] != **at);
    assert_eq!(rewritten.map(|(path, _)| path).collect::<Vec<_>>(), [lost]);
    let job = fs::read_dir(folder("cut/jobs")).expect("a folder").next();
    let job = job.expect("a job").expect("it can be read").path();
    let text = fs::read_to_string(&job).expect("it is text");
    fs::write(&job, &text[..text.len() / 2]).expect("it can be written");
    assert_eq!(files("cut", "2"), whole, "a damaged run is repeated");
}

#[test]
fn a_ledger_that_uses_an_unmeasured_quantity_fails_with_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = "[[claim]]\nid = \"ppd.overhead.acks\"\nwhere = \"3.1\"\nkind = \"order\"\nsays = \"so\"\n\
                rule = \"ack < acks\"\n";
    let ledger = write_file(dir.path(), "ledger.toml", text);
    let ledger = ledger.to_str().expect("it is text");
    let output = reproduce(dir.path(), &["ppd.overhead", "--ledger", ledger]);
    assert_eq!(output.status.code(), Some(2));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("`ack` was not measured"), "{table}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("ppd.overhead.acks"), "{stderr}");
}

#[test]
fn a_ledger_of_a_few_claims_makes_only_their_figures() {
    let dir = tempfile::tempdir().expect("a folder");
    let claim = |id: &str| {
        format!(
            "[[claim]]\nid = \"{id}\"\nwhere = \"3.1\"\nkind = \"exact\"\nsays = \"so\"\nvalue = [5]\nunit = \"ratio\"\ntol = 0.1\n"
        )
    };
    let ledger = |text: &str| {
        let file = write_file(dir.path(), "ledger.toml", text);
        file.to_str().expect("it is text").to_owned()
    };
    let out = dir.path().join("out");
    let output = reproduce(&out, &["--ledger", &ledger(&claim("ppd.overhead.acks"))]);
    let table = printed(&output);
    assert!(
        table.contains("claims: 1, of which 0 hold, 1 differ"),
        "{table}"
    );
    let words: Vec<&str> = table.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("written for this program's own ledger"),
        "{table}"
    );
    assert!(!out.join("ppd.eq1").exists());
    let refused = |more: &[&str]| {
        let output = reproduce(&out, more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let stderr = refused(&["ppd.eq1", "--ledger", &ledger(&claim("ppd.overhead.acks"))]);
    assert!(
        stderr.contains("the ledger has no claim of ppd.eq1"),
        "{stderr}"
    );
    let stderr = refused(&["--ledger", &ledger(&claim("ppd.overhead.ack"))]);
    assert!(
        stderr.contains("did you mean `ppd.overhead.acks`?"),
        "{stderr}"
    );
}

#[test]
fn invalid_arguments_and_ledgers_are_refused_with_place_and_remedy() {
    let dir = tempfile::tempdir().expect("a folder");
    let refused = |more: &[&str]| {
        let output = reproduce(&dir.path().join("out"), more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let stderr = refused(&["ppd.fig33"]);
    assert!(
        stderr.contains("`ppd.fig33`: did you mean `ppd.fig3"),
        "{stderr}"
    );
    let stderr = refused(&["ppd.anything"]);
    assert!(
        stderr.contains("the figures of ppd are ppd.overhead"),
        "{stderr}"
    );
    assert!(refused(&["psp.fig16"]).contains("did you mean `psp.fig16_17"));
    assert!(refused(&["own.media.late_20"]).contains("did you mean `own.media.late_200`?"));
    let stderr = refused(&["nothing at all"]);
    assert!(
        stderr.contains("the papers are") && stderr.contains("psp; `own` has"),
        "{stderr}"
    );
    let wrong = LEDGER.replacen("transfer.ppd3 < transfer.ppd1", "transfer.ppd3 <", 1);
    let ledger = write_file(dir.path(), "ledger.toml", &wrong);
    let stderr = refused(&["--ledger", ledger.to_str().expect("it is text")]);
    let line = wrong
        .lines()
        .position(|line| line.contains("transfer.ppd3 <\""));
    let place = format!("ledger.toml:{}:", line.expect("it is there") + 1);
    assert!(
        stderr.contains(&place) && stderr.contains("fig4.probes_win"),
        "{place} {stderr}"
    );
    let stderr = refused(&["--ledger", "no/such/file"]);
    assert!(stderr.contains("no/such/file"), "{stderr}");
    assert!(refused(&["--quick", "--full"]).contains("cannot be used with"));
    assert!(!dir.path().join("out").exists(), "nothing was started");
}
