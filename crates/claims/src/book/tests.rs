use polypath_report::plot::{Axis, Plot, Point, Series};

use super::*;
use crate::answer::{Answer, Outcome, answer};
use crate::ledger::{CLAIMS, Ledger};
use crate::measurement::{Measurement, Sample};
use crate::study::{Pending, Study};

static PAPER: Paper = Paper {
    id: "ppd",
    title: "Packets & paths",
    authors: "A. Author",
    figures: &[],
};

fn nothing(_: &mut Study<'_>) -> Result<Findings, Pending> {
    Err(Pending)
}

const FIGURES: [Figure; 2] = [
    Figure {
        id: "ppd.fig3",
        title: "Transfer times <by load>",
        claims: &["ppd.fig3.order", "ppd.fig3.at_95"],
        make: nothing,
    },
    Figure {
        id: "ppd.fig4",
        title: "Unequal paths",
        claims: &[],
        make: nothing,
    },
];

fn claim(id: &str, verdict: Verdict, reason: &str) -> ClaimRow {
    ClaimRow {
        id: id.to_owned(),
        place: "Fig. 3".to_owned(),
        statement: "a < b".to_owned(),
        kind: "value".to_owned(),
        paper: "35".to_owned(),
        ours: "30 +- 2".to_owned(),
        unit: "s".to_owned(),
        n: "20".to_owned(),
        seed: "1".to_owned(),
        verdict,
        reason: reason.to_owned(),
        lab: String::new(),
    }
}

fn findings() -> Findings {
    let y = [2.0, 4.0];
    let point = |y| Point {
        x: y,
        y,
        ci95: None,
    };
    Findings {
        plots: vec![Plot {
            id: "fig3".to_owned(),
            title: "Time".to_owned(),
            series: vec![Series {
                name: "<b>bold</b>".to_owned(),
                points: y.map(point).to_vec(),
                ..Series::default()
            }],
            ..Plot::default()
        }],
        tables: vec![FigureTable {
            id: "sensitivity".to_owned(),
            title: "Sensitivity".to_owned(),
            columns: vec!["queue (packets)".to_owned()],
            rows: vec![vec!["<script>alert(1)</script>".to_owned()]],
        }],
        parameters: vec![["queue".to_owned(), "50 packets, chosen".to_owned()]],
        notes: vec!["Files & sizes.".to_owned()],
        ..Findings::default()
    }
}

fn made(findings: &[Findings; 2]) -> Vec<MadeFigure<'_>> {
    let both = FIGURES.iter().zip(findings);
    both.map(|(figure, findings)| MadeFigure {
        figure,
        findings,
        measurements: Vec::new(),
        in_lab: Vec::new(),
    })
    .collect()
}

fn rendered(findings: &[Findings; 2]) -> Result<String, BookError> {
    render(&book(&made(findings)))
}

fn book<'a>(made: &'a [MadeFigure<'a>]) -> Book<'a> {
    Book {
        scale: Scale::Quick,
        seed: 7,
        ledger: "its own ledger",
        claims: vec![
            claim("ppd.fig3.order", Verdict::Holds, ""),
            claim(
                "ppd.fig3.at_95",
                Verdict::Differs,
                "Because \"the\" load <is> less.",
            ),
            claim(
                "ppd.fig9.gain",
                Verdict::NotRun,
                "its figure was not selected",
            ),
            claim("psp.rate", Verdict::NotRun, "its paper was not selected"),
        ],
        chapters: vec![Chapter {
            paper: &PAPER,
            figures: made.iter().collect(),
        }],
    }
}

#[test]
fn the_page_needs_no_other_files_and_escapes_text() {
    let findings = [findings(), Findings::default()];
    let page = rendered(&findings).unwrap();
    for outside in ["<script", "src=", "@import", "url(", "http:/", "https:/"] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "Packets &amp; paths",
        "Transfer times &lt;by load&gt;",
        "&lt;b&gt;bold&lt;",
        "&lt;script&gt;alert(1)",
        "Files &amp; sizes.",
        "load &lt;is&gt; less.",
        "a &lt; b",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.trim_start().starts_with("<!DOCTYPE html>"));
    assert_eq!(
        page,
        rendered(&findings).unwrap(),
        "the page is deterministic"
    );
}

#[test]
fn every_claim_has_a_verdict_and_an_anchor() {
    let findings = [findings(), Findings::default()];
    let page = rendered(&findings).unwrap();
    assert!(page.contains("Of 4 claims 1 hold,\n1 differ and 2 were not run."));
    let badges = |class: &str| page.matches(&format!("class=\"verdict {class}\"")).count();
    // Each in the table and in its chapter, except the claim of a paper without a chapter.
    assert_eq!(
        (badges("holds"), badges("differs"), badges("not-run")),
        (2, 2, 3)
    );
    assert!(page.contains("<a href=\"#ppd.fig3\">ppd.fig3.order</a>"));
    assert!(page.contains("<a href=\"#ppd\">ppd.fig9.gain</a>"));
    assert!(page.contains("<td data-label=\"claim\">psp.rate</td>"));
    assert!(page.contains("its paper was not selected"));
    assert!(page.contains("30\u{a0}±\u{a0}2 s; n = 20; seed 1."));
    let targets = page.split("href=\"#").skip(1);
    for target in targets.filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!(" id=\"{target}\"")), "{target}");
    }
}

#[test]
fn figures_have_plots_tables_and_parameters() {
    let mut both = [findings(), findings()];
    both[1].parameters[0][1] = "20 packets, as stated in the paper".to_owned();
    both[1]
        .parameters
        .push(["delay".to_owned(), "20 ms".to_owned()]);
    both[0]
        .parameters
        .push(["delay".to_owned(), "20 ms".to_owned()]);
    let page = rendered(&both).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("href=\"ppd.fig3&#x2f;fig3.csv\""));
    for file in ["sensitivity", "measurements"] {
        assert!(page.contains(&format!("href=\"ppd.fig3&#x2f;{file}.csv\"")));
    }
    for row in [
        "<td>50 packets, chosen</td><td>ppd.fig3</td>",
        "<td>20 packets, as stated in the paper</td><td>ppd.fig4</td>",
        "<td>20 ms</td><td>all</td>",
    ] {
        assert!(page.contains(row), "{row}");
    }
}

#[test]
fn a_plot_that_cannot_be_drawn_is_named() {
    let mut both = [findings(), Findings::default()];
    both[0].plots[0].y = Axis {
        label: "time".to_owned(),
        range: Some([2.0, 1.0]),
        ..Axis::default()
    };
    let error = rendered(&both).unwrap_err().to_string();
    assert!(error.starts_with("ppd.fig3: plot fig3: "), "{error}");
    assert!(error.contains("\"time\""), "{error}");
}

#[test]
fn the_book_has_every_claim_of_the_ledger() {
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let measured = measured("ppd.fig3.order");
    let figures: Vec<&Figure> = FIGURES.iter().collect();
    let made = [MadeFigure {
        figure: &FIGURES[0],
        findings: &measured,
        measurements: measured.measurements.clone(),
        in_lab: Vec::new(),
    }];
    let outcome = Outcome {
        made: &made,
        failed: &[],
    };
    let answers = answer(&ledger, &figures, outcome, &[]);
    let book = Book {
        scale: Scale::Full,
        seed: 1,
        ledger: "my ledger.toml",
        claims: answers.iter().map(Answer::book_claim).collect(),
        chapters: vec![Chapter {
            paper: &PAPER,
            figures: vec![&made[0]],
        }],
    };
    let page = render(&book).unwrap();
    let rows = page.matches("<td data-label=\"claim\">").count();
    assert_eq!(rows, ledger.claims.len());
    assert!(page.contains(" 0 hold,\n1 differ and "));
    assert!(page.contains("transfer.tcp 35.1") && page.contains("\u{a0}±\u{a0}0.0"));
    assert!(page.contains("Not met: `transfer.ppd3 &gt; transfer.ppd2`"));
    assert!(!page.contains("Not met: `transfer.tcp"));
    assert!(page.contains("Paper: 35, 7, 6, 4.5 s (within 30 %)."));
    assert!(page.contains("Rule: transfer.tcp &gt; transfer.ppd1;"));
}

/// Transfer times that violate the last part of the rule.
fn measured(claim: &str) -> Findings {
    let times = [("tcp", 35.0), ("ppd1", 7.0), ("ppd3", 6.0), ("ppd2", 9.0)];
    let measured = times.map(|(scheme, time)| {
        let sample = |seed: u32| Sample {
            seed: seed.into(),
            value: time + f64::from(seed % 3) / 10.0,
        };
        let samples: Vec<Sample> = (1..=8).map(sample).collect();
        Measurement::of(claim, &format!("transfer.{scheme}"), "s", "runs", &samples)
    });
    Findings {
        measurements: measured.to_vec(),
        ..Findings::default()
    }
}
