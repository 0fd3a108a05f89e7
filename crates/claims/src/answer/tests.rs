use super::*;
use crate::figure::{ClaimRemark, Findings};
use crate::ledger::CLAIMS;
use crate::measurement::{Measurement, Sample};
use crate::study::{Pending, Study};

#[expect(clippy::unnecessary_wraps, reason = "the signature of figures")]
fn nothing(_: &mut Study<'_>) -> Result<Findings, Pending> {
    Ok(Findings::default())
}

const FIGURE: Figure = Figure {
    id: "psp.fig5",
    title: "",
    claims: &["psp.fig5.damping", "psp.fig5.oscillation"],
    make: nothing,
};

fn answer_from(
    ledger: &Ledger,
    findings: &Findings,
    measurements: Vec<Measurement>,
    names: &[String],
) -> Vec<Answer> {
    let made = [MadeFigure {
        figure: &FIGURE,
        findings,
        measurements,
        in_lab: findings.in_lab.clone(),
    }];
    let outcome = Outcome {
        made: &made,
        failed: &[],
    };
    answer(ledger, &[&FIGURE], outcome, names)
}

fn answers(gain: f64, ledger: &str) -> Vec<Answer> {
    let samples = [gain - 0.01, gain + 0.01].map(|value| Sample { seed: 7, value });
    let of = |claim, quantity| Measurement::of(claim, quantity, "ratio", "runs", &samples);
    let measurements = vec![
        of("psp.fig5.damping", "gain"),
        of("psp.fig5.oscillation", "deviation.damped"),
    ];
    let findings = Findings {
        reasons: vec![ClaimRemark {
            claim: "psp.fig5.damping",
            text: "it is noise.".to_owned(),
        }],
        ..Findings::default()
    };
    let ledger = Ledger::parse(ledger, "claims.toml").unwrap();
    let names = ["psp.fig5".to_owned(), "psp.seven_rtts".to_owned()];
    answer_from(&ledger, &findings, measurements, &names)
}

#[test]
fn a_claim_is_judged_by_its_figure_and_the_ledger() {
    let holds = answers(0.1, CLAIMS);
    let ids: Vec<&str> = holds
        .iter()
        .map(|answer| answer.claim.id.as_str())
        .collect();
    let wanted = ["psp.fig5.damping", "psp.fig5.oscillation", "psp.seven_rtts"];
    assert_eq!(ids, wanted);
    assert_eq!(
        (holds[0].verdict, holds[0].reason.as_str()),
        (Verdict::Holds, "")
    );
    let changed = CLAIMS.replace("bounds = [[0.05, 0.2]]", "bounds = [[0.12, 0.2]]");
    assert_ne!(changed, CLAIMS);
    let differs = &answers(0.1, &changed)[0];
    let found = (differs.verdict, differs.reason.as_str());
    assert_eq!(found, (Verdict::Differs, "it is noise."));
}

#[test]
fn a_claim_without_measurements_is_not_run_and_has_a_reason() {
    let answers = answers(0.1, CLAIMS);
    assert_eq!(answers[1].verdict, Verdict::NotRun);
    assert!(
        answers[1]
            .reason
            .contains("`deviation.ad_hoc` was not measured")
    );
    assert_eq!(answers[2].verdict, Verdict::NotRun);
    assert!(answers[2].reason.contains("no figure"));
    assert!(summary(&answers).starts_with("claims: 3, of which 1 hold, 0 differ, 2 not run"));
}

#[test]
fn the_error_of_a_failed_figure_is_the_reason_of_each_of_its_claims() {
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let failed = [FailedFigure {
        figure: &FIGURE,
        error: "the load was not reached",
    }];
    let outcome = Outcome {
        made: &[],
        failed: &failed,
    };
    let answers = answer(&ledger, &[&FIGURE], outcome, &["psp.fig5".to_owned()]);
    assert_eq!(answers.len(), 2);
    for answer in answers {
        assert_eq!(answer.verdict, Verdict::NotRun);
        let reason = "psp.fig5 could not be made: the load was not reached";
        assert_eq!(answer.reason, reason);
        assert!(!answer.is_unanswerable);
    }
}

#[test]
fn json_has_values_intervals_and_seeds() {
    let text = json(&answers(0.1, CLAIMS)).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &rows[0];
    assert_eq!(row["claim"], "psp.fig5.damping");
    assert_eq!(row["verdict"], "holds");
    assert_eq!(row["paper"][0], 0.1);
    assert!((row["ours"][0].as_f64().unwrap() - 0.1).abs() < 1e-9);
    assert!(
        row["ci95"][0].as_f64().unwrap() > 0.1,
        "two runs have a wide interval"
    );
    assert_eq!((&row["n"][0], &row["seed"]), (&2.into(), &1.into()));
    assert_eq!(rows[2]["seed"], serde_json::Value::Null);
}

/// The damped deviation is the smaller one in the simulation, and the greater one in the lab.
#[test]
fn a_claim_is_judged_a_second_time_by_its_measurements_in_the_lab() {
    let of = |quantity, values: [f64; 2]| {
        let samples = values.map(|value| Sample { seed: 1, value });
        Measurement::of("psp.fig5.oscillation", quantity, "Mb/s", "runs", &samples)
    };
    let [small, great] = [[1.0, 1.1], [9.0, 9.1]];
    let pair = |damped, ad_hoc| {
        vec![
            of("deviation.damped", damped),
            of("deviation.ad_hoc", ad_hoc),
        ]
    };
    let findings = Findings {
        in_lab: pair(great, small),
        ..Findings::default()
    };
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let names = ["psp.fig5".to_owned()];
    let answers = answer_from(&ledger, &findings, pair(small, great), &names);
    assert!(answers[0].lab.is_none(), "nothing was measured for it");
    let answer = &answers[1];
    let lab = answer.lab.as_ref().unwrap();
    assert_eq!(
        (answer.verdict, lab.verdict),
        (Verdict::Holds, Verdict::Differs)
    );
    let text = render(&answers);
    let heading = text.lines().find(|line| line.contains("verdict"));
    assert!(heading.unwrap().contains("in the lab"), "{text}");
    let row = text.lines().find(|line| line.contains("deviation.damped"));
    let row = row.unwrap();
    assert!(row.contains("1.05") && row.contains("9.05"), "{row}");
    assert!(
        text.contains("psp.fig5.oscillation, not met in the lab:"),
        "{text}"
    );
    let rows: serde_json::Value = serde_json::from_str(&json(&answers).unwrap()).unwrap();
    assert_eq!(rows[1]["lab"]["verdict"], "differs");
    assert_eq!(rows[0]["lab"], serde_json::Value::Null);
    let words = answer.book_claim().lab;
    assert!(words.starts_with("differs: "), "{words}");
}

#[test]
fn numbers_have_four_digits() {
    let of = words::number;
    assert_eq!(of(35.0), "35");
    assert_eq!(of(0.026), "0.026");
    assert_eq!(of(1540.64), "1541");
    assert_eq!(of(-0.123_456), "-0.1235");
    assert_eq!(of(2.12e7), "2.120e7");
    assert_eq!(of(0.0), "0");
    let pair = |value, half| words::with_interval(value, Some(half));
    assert_eq!(pair(62.1, 0.1424), "62.10 +- 0.14");
    assert_eq!(pair(44.29, 18.8), "44 +- 19");
    assert_eq!(pair(7.0, 0.0), "7 +- 0");
}

#[test]
fn an_unproven_order_differs_from_a_refuted_one() {
    let of = |quantity, values: [f64; 2]| {
        let samples = values.map(|value| Sample { seed: 1, value });
        Measurement::of("psp.fig5.oscillation", quantity, "Mb/s", "runs", &samples)
    };
    let reason = |damped| {
        let measurements = vec![
            of("deviation.damped", damped),
            of("deviation.ad_hoc", [9.0, 9.1]),
        ];
        let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
        let names = ["psp.fig5.oscillation".to_owned()];
        let answers = answer_from(&ledger, &Findings::default(), measurements, &names);
        (answers[0].reason.clone(), answers[0].unmet().len())
    };
    assert_eq!(reason([8.0, 8.1]), (String::new(), 0));
    let (few, unmet) = reason([2.0, 12.0]);
    assert!(few.contains("too few") && unmet == 1, "{few}");
    let (refuted, _) = reason([12.0, 12.1]);
    assert_eq!(refuted, "the reason is not known");
}

#[test]
fn a_claim_that_holds_has_caveats_and_computed_values() {
    let of = |quantity, values: [f64; 3]| {
        let samples = values.map(|value| Sample { seed: 1, value });
        Measurement::of("psp.fig5.damping", quantity, "ratio", "runs", &samples)
    };
    let over = |quantity, values: [f64; 3]| {
        let pairs = values.into_iter().enumerate();
        let curve = pairs.map(|(n, value)| of(quantity, [value; 3]).over("flows", "", n as f64));
        curve.collect::<Vec<_>>()
    };
    let ask = |late: [f64; 3]| {
        let mut measurements = vec![of("late", late), of("early", [0.5; 3])];
        measurements.extend(over("windows", [1.0, 2.0, 3.0]));
        measurements.extend(over("connections", [1.0, 2.0, 2.0]));
        let ledger = r#"
            [[claim]]
            id = "psp.fig5.damping"
            where = "Fig. 5"
            kind = "order"
            says = "The late one has no less"
            rule = "late >= early; correlation(connections, windows) > 0.5"
        "#;
        let ledger = Ledger::parse(ledger, "claims.toml").unwrap();
        let names = ["psp.fig5.damping".to_owned()];
        answer_from(&ledger, &Findings::default(), measurements, &names).remove(0)
    };
    let weak = ask([0.4, 0.5, 0.55]);
    assert_eq!(weak.verdict, Verdict::Holds);
    assert!(
        weak.caveat.contains("Not refuted, but not shown")
            && weak.caveat.contains("`late >= early` in 1 of 1."),
        "{}",
        weak.caveat
    );
    let shown = ask([0.6, 0.61, 0.62]);
    assert!(!shown.caveat.contains("refuted"), "{}", shown.caveat);
    let ours = shown.measured();
    assert!(
        ours.contains("windows at flows 2 3") && ours.contains("> 0.5` met by 0.366"),
        "{ours}"
    );
}
