use proptest::prelude::*;

use super::*;
use crate::ledger::Ledger;
use crate::measurement::Sample;

const CLAIM: &str = "x.y";

fn samples(values: &[f64]) -> Vec<Sample> {
    let seeds = 1..;
    let sample = |(seed, value): (u64, &f64)| Sample {
        seed,
        value: *value,
    };
    seeds.zip(values).map(sample).collect()
}

/// A quantity whose runs are paired with those of the others.
fn measured(quantity: &str, values: &[f64]) -> Measurement {
    Measurement::of(CLAIM, quantity, "s", "runs", &samples(values))
}

fn curve(quantity: &str, points: &[(f64, f64)]) -> Vec<Measurement> {
    let point = |(at, value): &(f64, f64)| measured(quantity, &[*value]).over("x", "us", *at);
    points.iter().map(point).collect()
}

fn claim(rest: &str) -> Claim {
    let text = format!("[[claim]]\nid = \"{CLAIM}\"\nwhere = \"1\"\nsays = \"so\"\n{rest}\n");
    Ledger::parse(&text, "x.toml").unwrap().claims[0].clone()
}

fn ruled(rule: &str, measurements: &[Measurement]) -> Result<bool, JudgeError> {
    let claim = claim(&format!("kind = \"order\"\nrule = \"{rule}\""));
    judge(&claim, measurements).map(|judgement| judgement.verdict == Verdict::Holds)
}

fn valued(rest: &str, measurements: &[Measurement]) -> Result<Verdict, JudgeError> {
    let claim = claim(&format!("kind = \"value\"\nunit = \"s\"\n{rest}"));
    judge(&claim, measurements).map(|judgement| judgement.verdict)
}

#[test]
fn a_changed_number_in_the_ledger_flips_the_verdict() {
    let ours = [measured("a", &[0.9, 1.1]), measured("b", &[4.4, 4.6])];
    let verdict = |rest: &str| valued(rest, &ours);
    assert_eq!(verdict("value = [1.0, 5.0]\ntol = 0.1"), Ok(Verdict::Holds));
    assert_eq!(
        verdict("value = [1.0, 5.1]\ntol = 0.1"),
        Ok(Verdict::Differs)
    );
    assert_eq!(
        verdict("value = [1.0, 5.0]\ntol = 0.09"),
        Ok(Verdict::Differs)
    );
    let bounds = |high: f64| format!("value = [1.0, 9.0]\nbounds = [[0.9, 1.1], [4.0, {high}]]");
    assert_eq!(verdict(&bounds(4.6)), Ok(Verdict::Holds));
    assert_eq!(verdict(&bounds(4.4)), Ok(Verdict::Differs));
    let three = "value = [1.0, 5.0, 6.0]\ntol = 0.1";
    assert_eq!(
        verdict(three),
        Err(JudgeError::Count { ours: 2, values: 3 })
    );
    let other = claim("kind = \"value\"\nunit = \"ms\"\nvalue = [1.0, 5.0]\ntol = 0.1");
    assert!(matches!(judge(&other, &ours), Err(JudgeError::Unit { .. })));
    assert_eq!(valued("value = [1.0]\ntol = 0.1", &[]), Ok(Verdict::NotRun));
}

#[test]
fn paired_runs_prove_an_order_that_unpaired_means_do_not() {
    let (a, b) = ([1.0, 5.0, 9.0, 13.0], [1.5, 5.4, 9.6, 13.5]);
    let paired = [measured("a", &a), measured("b", &b)];
    assert_eq!(ruled("a < b", &paired), Ok(true));
    assert_eq!(ruled("b <= a", &paired), Ok(false), "it is refuted");
    let mut apart = paired.clone();
    apart[1].group = "others".to_owned();
    assert_eq!(ruled("a < b", &apart), Ok(false));
    assert_eq!(ruled("b <= a", &apart), Ok(true), "it is not refuted");
    apart[0].samples.pop();
    assert!(ruled("a < b", &apart).is_ok(), "groups may differ in size");
    apart[1].group = "runs".to_owned();
    let unpaired = JudgeError::Unpaired("runs".to_owned());
    assert_eq!(ruled("a < b", &apart), Err(unpaired));
}

#[test]
fn relative_differences_and_ranges_compare_means() {
    let ours = [measured("a", &[1.0, 1.2]), measured("b", &[1.0, 1.0])];
    assert_eq!(ruled("a ~ b within 0.11", &ours), Ok(true));
    assert_eq!(ruled("a ~ b within 0.09", &ours), Ok(false));
    assert_eq!(ruled("a in [1000, 1200] ms", &ours), Ok(true));
    assert_eq!(ruled("a in [1200, 1300] ms", &ours), Ok(false));
}

#[test]
fn a_part_has_to_hold_for_each_of_its_names() {
    let ours = |c| [("x.a", 3.0), ("x.b", 2.0), ("x.c", c)].map(|(q, v)| measured(q, &[v]));
    assert_eq!(ruled("x.a > x.s for every other s", &ours(1.0)), Ok(true));
    assert_eq!(ruled("x.a > x.s for every other s", &ours(4.0)), Ok(false));
    assert_eq!(ruled("x.s >= 1 for each s", &ours(0.5)), Ok(false));
    assert_eq!(ruled("x.s > 1 for s in a, b", &ours(0.5)), Ok(true));
    assert_eq!(ruled("x >= 1", &ours(1.0)), Ok(true), "all of its children");
    let some = ruled("x.a > x", &ours(1.0));
    assert_eq!(
        some,
        Err(JudgeError::Missing("x".to_owned())),
        "no part of it"
    );
    assert_eq!(ruled("x >= 2", &ours(1.0)), Ok(false));
    let missing = |name: &str| Err(JudgeError::Missing(name.to_owned()));
    assert_eq!(ruled("y > 1", &ours(1.0)), missing("y"));
    assert_eq!(ruled("y.s > 1 for each s", &ours(1.0)), missing("y.s"));
}

#[test]
fn a_curve_is_judged_by_its_steps_and_ends() {
    let up = curve("f", &[(1.0, 1.0), (2.0, 1.0), (3.0, 4.0)]);
    assert_eq!(ruled("monotone(f over x)", &up), Ok(true));
    assert_eq!(ruled("monotone(f over x, falling)", &up), Ok(false));
    let bent = curve("f", &[(1.0, 2.0), (2.0, 1.0), (3.0, 4.0)]);
    assert_eq!(ruled("monotone(f over x)", &bent), Ok(false));
    assert_eq!(ruled("f falls over x", &bent), Ok(false));
    assert_eq!(ruled("argmax(f) > 2 us", &bent), Ok(true));
    assert_eq!(ruled("argmax(f) > 0.003 ms", &bent), Ok(false));
    assert_eq!(ruled("monotone(f over x above 1 us)", &bent), Ok(true));
    let noisy = [[1.0, 1.4], [0.8, 1.5], [4.0, 4.2]];
    let point = |(at, values): (f64, [f64; 2])| measured("f", &values).over("x", "us", at);
    let noisy: Vec<Measurement> = [1.0, 2.0, 3.0].into_iter().zip(noisy).map(point).collect();
    assert_eq!(
        ruled("monotone(f over x)", &noisy),
        Ok(true),
        "no fall is proven"
    );
}

/// A quantity may be measured over two coordinates, and at several places of a third.
#[test]
fn a_part_uses_the_curve_over_its_coordinate() {
    let of = |coordinate: &str, points: [f64; 2]| {
        let at = [1.0, 2.0].into_iter().zip(points);
        let point = |(at, value): (f64, f64)| measured("a", &[value]).over(coordinate, "", at);
        at.map(point).collect::<Vec<_>>()
    };
    let both = [of("flows", [1.0, 2.0]), of("links", [2.0, 1.0])].concat();
    assert_eq!(ruled("monotone(a over flows)", &both), Ok(true));
    assert_eq!(ruled("monotone(a over links)", &both), Ok(false));
    assert_eq!(ruled("monotone(a over links, falling)", &both), Ok(true));
    let refused = ruled("monotone(a over nodes)", &both);
    assert!(matches!(
        refused,
        Err(JudgeError::Coordinate { .. } | JudgeError::Twice(_))
    ));
    let placed = of("packets a flow", [1.0, 5.0]);
    assert_eq!(ruled("a > 4 at 2 packets a flow", &placed), Ok(true));
    assert_eq!(ruled("a > 4 at 1 packets a flow", &placed), Ok(false));
}

#[test]
fn functions_of_curves_have_textbook_values() {
    let x = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 9.0)];
    let y = [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 18.0)];
    let ours = [curve("x", &x), curve("y", &y)].concat();
    assert_eq!(ruled("correlation(x, y) >= 1", &ours), Ok(true));
    assert_eq!(ruled("median(abs(x - y) / y) == 0.5", &ours), Ok(true));
    assert_eq!(
        ruled("mean(x) == 3.75; max(x) == 9; min(y) == 2", &ours),
        Ok(true)
    );
    assert_eq!(ruled("max(run_length(x > 1)) == 3", &ours), Ok(true));
    assert_eq!(ruled("max(run_length(x > 9)) == 0", &ours), Ok(true));
    assert_eq!(ruled("x < y at x >= 2 us", &ours), Ok(true));
    assert_eq!(ruled("2 * x == y at x < 3 us", &ours), Ok(true));
    let zero = curve("y", &[(1.0, 0.0)]);
    let twice = ruled("x / y > 1", &[&ours[..], &zero].concat());
    assert_eq!(twice, Err(JudgeError::Twice("y".to_owned())));
    let apart = ruled("x / y > 1", &[&ours[..4], &zero].concat());
    assert_eq!(apart, Err(JudgeError::Positions));
    let undefined = ruled("x / y > 1", &[&ours[..1], &zero].concat());
    assert!(
        matches!(undefined, Err(JudgeError::Undefined(_))),
        "{undefined:?}"
    );
}

proptest! {
    /// For a difference the jackknife equals Student's t of the differences.
    #[test]
    fn the_jackknife_of_a_difference_is_the_paired_interval(
        pairs in prop::collection::vec((-1e3_f64..1e3, -1e3_f64..1e3), 2..30),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let ours = [measured("a", &a), measured("b", &b)];
        let claim = claim("kind = \"order\"\nrule = \"a > b\"");
        let test = judge(&claim, &ours).unwrap().parts[0].tests[0].clone();
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let wanted = Estimate::of(&differences).unwrap();
        prop_assert!((test.margin - wanted.mean).abs() < 1e-6);
        prop_assert!((test.ci95.unwrap() - wanted.ci95.unwrap()).abs() < 1e-6);
    }

    /// Welch's interval.
    #[test]
    fn independent_groups_have_welchs_interval(
        a in prop::collection::vec(-1e3_f64..1e3, 3..20),
        b in prop::collection::vec(-1e3_f64..1e3, 3..20),
    ) {
        let mut ours = [measured("a", &a), measured("b", &b)];
        ours[1].group = "others".to_owned();
        let claim = claim("kind = \"order\"\nrule = \"a > b\"");
        let test = judge(&claim, &ours).unwrap().parts[0].tests[0].clone();
        let error = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
        };
        let (va, vb) = (error(&a), error(&b));
        let freedom = (va + vb).powi(2)
            / (va * va / (a.len() as f64 - 1.0) + vb * vb / (b.len() as f64 - 1.0));
        let wanted = polypath_report::statistics::student_975(freedom) * (va + vb).sqrt();
        prop_assert!((test.ci95.unwrap() - wanted).abs() < 1e-6 * (1.0 + wanted));
    }
}

#[test]
fn a_rule_with_other_units_or_coordinates_is_rejected() {
    let f = curve("f", &[(1.0, 1.0), (2.0, 3.0)]);
    for rule in [
        "monotone(f over load)",
        "f falls over load",
        "f > 0 at load > 0",
    ] {
        let refused = ruled(rule, &f);
        assert!(
            matches!(refused, Err(JudgeError::Coordinate { .. })),
            "{rule}: {refused:?}"
        );
    }
    let mut other = measured("f", &[1.0]);
    for rule in ["f < 2 kb/s", "f in [0, 2] Mb/s"] {
        let refused = ruled(rule, &[other.clone()]);
        assert!(
            matches!(refused, Err(JudgeError::Dimension { .. })),
            "{rule}: {refused:?}"
        );
    }
    other.unit = "kbit/s".to_owned();
    let refused = ruled("f < 2 kb/s", &[other]);
    assert!(
        matches!(refused, Err(JudgeError::Dimension { .. })),
        "{refused:?}"
    );
    let argmax = ruled("argmax(f) > 1 kb/s", &f);
    assert!(
        matches!(argmax, Err(JudgeError::Dimension { .. })),
        "{argmax:?}"
    );
}

#[test]
fn two_modes_are_found_also_at_one_position_of_a_curve() {
    let one: Vec<f64> = (0..60).map(f64::from).collect();
    let two: Vec<f64> = (0..60)
        .map(|i| f64::from(i) + f64::from(i / 30) * 500.0)
        .collect();
    assert_eq!(ruled("bimodal(a)", &[measured("a", &one)]), Ok(false));
    assert_eq!(ruled("bimodal(a)", &[measured("a", &two)]), Ok(true));
    let curve = |values: [&[f64]; 3]| -> Vec<Measurement> {
        let points = (1..).zip(values);
        let point =
            |(at, values): (u32, &[f64])| measured("a", values).over("x", "", f64::from(at));
        points.map(point).collect()
    };
    assert_eq!(ruled("bimodal(a)", &curve([&one, &one, &one])), Ok(false));
    assert_eq!(ruled("bimodal(a)", &curve([&one, &two, &one])), Ok(true));
    let missing = JudgeError::Missing("b".to_owned());
    assert_eq!(ruled("bimodal(b)", &[measured("a", &one)]), Err(missing));
    assert!(
        ruled("bimodal(a)", &[measured("a", &one[..1])]).is_err(),
        "a run alone"
    );
}

#[test]
fn quantities_of_one_group_need_the_same_seeds() {
    let mut ours = [measured("a", &[1.0, 2.0]), measured("b", &[3.0, 4.0])];
    assert_eq!(ruled("a < b", &ours), Ok(true));
    ours[1].samples[0].seed = 7;
    assert_eq!(
        ruled("a < b", &ours),
        Err(JudgeError::Unpaired("runs".to_owned()))
    );
}
