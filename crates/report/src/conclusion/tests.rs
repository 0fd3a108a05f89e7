use proptest::prelude::*;

use super::*;
use crate::figures::Figures;
use crate::fixture::experiment;
use crate::record::{ExperimentRecord, SchemeRecord};
use polypath_core::time::Duration;

fn difference(mean: f64, ci95: Option<f64>) -> Difference {
    Difference::exact(Estimate { mean, ci95, n: 20 })
}

fn comparison(name: &str, difference: Difference) -> Comparison {
    Comparison {
        subject: name.to_owned(),
        name: name.to_owned(),
        difference,
        timed_out: None,
    }
}

fn wording() -> Wording {
    Wording::of_times()
}

fn clause(difference: Difference) -> String {
    sentence(&[comparison("it", difference)], &wording()).unwrap()
}

#[test]
fn each_verdict_has_its_sentence() {
    let slower = "it was slower than tcp by 1.8 s (95 % confidence: 1.5 to 2.1 s)";
    assert_eq!(clause(difference(1.8, Some(0.3))), slower);
    let faster = "it was faster than tcp by 1.8 s (95 % confidence: 1.5 to 2.1 s)";
    assert_eq!(clause(difference(-1.8, Some(0.3))), faster);
    let same = "it showed no difference from tcp (-0.1 to 0.3 s includes zero)";
    assert_eq!(clause(difference(0.1, Some(0.2))), same);
    assert_eq!(
        clause(difference(-1.8, None)),
        "it was faster than tcp by 1.80 s"
    );
    assert_eq!(
        clause(difference(0.0, None)),
        "it showed no difference from tcp"
    );
    let about_zero = "it showed no difference from tcp (-0.4 to 0.4 s includes zero)";
    assert_eq!(clause(difference(0.0002, Some(0.374))), about_zero);
    assert_eq!(
        clause(difference(0.0, Some(0.0))),
        "it showed no difference from tcp (exactly 0 s)"
    );
    // Four digits do not show so narrow an interval.
    let narrow = "it was slower than tcp by 1235 s (95 % confidence)";
    assert_eq!(clause(difference(1234.567, Some(0.001))), narrow);
    for broken in [
        difference(f64::NAN, Some(1.0)),
        difference(f64::INFINITY, None),
        difference(1.0, Some(f64::INFINITY)),
    ] {
        let text = clause(broken);
        assert_eq!(text, "it cannot be compared, since a value is not finite");
    }
    assert_eq!(sentence(&[], &wording()), None);
}

#[test]
fn timed_out_transfers_leave_only_what_they_cannot_reverse() {
    let bounded = |mean, ci95, bound| {
        let estimate = Estimate { mean, ci95, n: 3 };
        Difference { estimate, bound }.verdict()
    };
    let half = Some(0.5);
    assert_eq!(bounded(1.0, half, Bound::AtLeast), Verdict::Greater);
    assert_eq!(bounded(-1.0, half, Bound::AtLeast), Verdict::Unknown);
    assert_eq!(bounded(-1.0, half, Bound::AtMost), Verdict::Less);
    assert_eq!(bounded(1.0, half, Bound::AtMost), Verdict::Unknown);
    assert_eq!(bounded(0.1, half, Bound::AtLeast), Verdict::Unknown);
    assert_eq!(bounded(1.0, None, Bound::AtLeast), Verdict::NoInterval);
    assert_eq!(bounded(1.0, half, Bound::Neither), Verdict::Unknown);
    let of_bound = Difference {
        bound: Bound::AtMost,
        ..difference(-1.8, Some(0.3))
    };
    let because = Comparison {
        timed_out: Some("1 of 3 transfers of tcp timed out after 10 s".to_owned()),
        ..comparison("it", of_bound)
    };
    let wanted = "it was faster than tcp by at least 1.5 s (95 % confidence), since 1 of 3 \
                  transfers of tcp timed out after 10 s";
    assert_eq!(sentence(&[because], &wording()).unwrap(), wanted);
}

#[test]
fn many_comparisons_are_counted_by_their_verdict() {
    let means = [-1.0, 0.01, -3.0, 2.0, 0.02, 0.03, -0.01, 0.03, 0.04];
    let all: Vec<Comparison> = (0..)
        .zip(means)
        .map(|(n, mean)| comparison(&format!("c{n}"), difference(mean, Some(0.1))))
        .collect();
    let points = Wording {
        verb_of_several: "was",
        subject: "ppd-tcp2 at ".to_owned(),
        plural: "points",
        ..wording()
    };
    let text = sentence(&all, &points).unwrap();
    let wanted = "ppd-tcp2 at 2 of 9 points was faster than tcp, by 1.00 s (c0) to 3.00 s (c2) with \
                  95 % confidence each; ppd-tcp2 at 1 of 9 points was slower than tcp, by 2.00 s \
                  (c3) with 95 % confidence; ppd-tcp2 at 6 of 9 points showed no difference from \
                  tcp (the intervals include zero: c1, c4, c5 and 3 more)";
    assert_eq!(text, wanted);
    let text = sentence(&all, &wording()).unwrap();
    assert!(
        text.starts_with("2 of 9 schemes were faster than tcp, "),
        "{text}"
    );
    assert!(
        text.contains("; 1 of 9 schemes was slower than tcp, "),
        "{text}"
    );
    let text = sentence(&all[..LISTED], &wording()).unwrap();
    assert_eq!(text.matches("; ").count(), LISTED - 1, "one by one: {text}");
    let mut cut = all;
    for (n, bound) in [(0, Bound::AtMost), (2, Bound::Neither)] {
        cut[n].difference.bound = bound;
        cut[n].timed_out = Some("some timed out".to_owned());
    }
    let text = sentence(&cut, &wording()).unwrap();
    for wanted in [
        "was faster than tcp, by at least 1.00 s (c0) with",
        "1 of 9 schemes cannot be compared, since transfers timed out: c2",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    let all: Vec<Comparison> = (0..9)
        .map(|n| comparison(&format!("c{n}"), difference(1.0, None)))
        .collect();
    let none = "all 9 schemes: no interval (c0, c1, c2 and 6 more)";
    assert_eq!(sentence(&all, &wording()).unwrap(), none);
}

/// The sentences of the fixture after a change.
fn of_transfers(change: impl Fn(&mut ExperimentRecord)) -> Vec<String> {
    let mut experiment = experiment();
    change(&mut experiment);
    transfers::conclusion(&experiment, &Figures::of(&experiment))
}

fn set_times(scheme: &mut SchemeRecord, ms: [u64; 3]) {
    for (transfer, ms) in scheme.transfers.iter_mut().zip(ms) {
        transfer.duration = Some(Duration::from_millis(ms));
    }
}

#[test]
fn transfers_end_in_their_comparison() {
    let sentences = of_transfers(|experiment| {
        set_times(&mut experiment.schemes[0], [4000, 5000, 4500]);
    });
    let wanted = [
        "tcp needed 4.5 s (3.3 to 5.7 s) for 100 kB on average.",
        "ppd-tcp3 was faster than tcp by 1.8 s (95 % confidence: 1.1 to 2.6 s).",
        "Differences are paired over 3 rounds, seed 7.",
        "Longest transfer: tcp 5.00 s, ppd-tcp3 3.50 s.",
        "Bytes on the wire per byte of packets: tcp 1.09, ppd-tcp3 2.18.",
        "Other traffic next to ppd-tcp3 showed no difference from that next to tcp (-0.5 to 0.9 % \
         includes zero).",
    ];
    assert_eq!(sentences, wanted);
    let sentences = of_transfers(|experiment| {
        set_times(&mut experiment.schemes[0], [2100, 3400, 2500]);
    });
    let wanted = "ppd-tcp3 showed no difference from tcp (-0.2 to 0.2 s includes zero).";
    assert_eq!(sentences[1], wanted);
}

#[test]
fn a_single_round_has_no_interval_and_a_remedy() {
    let sentences = of_transfers(|experiment| {
        for scheme in &mut experiment.schemes {
            scheme.transfers.truncate(1);
        }
    });
    assert_eq!(sentences[0], "tcp needed 4.00 s for 100 kB on average.");
    assert_eq!(sentences[1], "ppd-tcp3 was faster than tcp by 2.00 s.");
    let wanted = "A single round (seed 7) gives no interval: repeat with --set transfer.count=20.";
    assert_eq!(sentences[2], wanted);
}

#[test]
fn runs_that_support_no_conclusion_state_why() {
    let none = of_transfers(|experiment| {
        let schemes = experiment.schemes.iter_mut();
        schemes
            .flat_map(|s| &mut s.transfers)
            .for_each(|t| t.duration = None);
    });
    assert!(
        none[0].starts_with("No transfer completed within 10 s"),
        "{none:?}"
    );
    assert_eq!(none.len(), 1);
    let late = of_transfers(|experiment| {
        if let Some(lateness) = &mut experiment.lateness {
            lateness.p99 = Duration::from_secs(1);
        }
    });
    assert!(
        late[0].contains("is invalid") && late.len() == 1,
        "{late:?}"
    );
    let alone = of_transfers(|experiment| experiment.schemes.truncate(1));
    assert!(alone.contains(&"There is no other scheme to compare it with.".to_owned()));
    let others = of_transfers(|experiment| _ = experiment.schemes.remove(0));
    assert!(others[0].contains("add it to `schemes`"), "{others:?}");
    assert!(!of_transfers(|experiment| experiment.schemes.clear()).is_empty());
}

/// The numbers of a text.
fn numbers_of(text: &str) -> Vec<f64> {
    let is_other = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
    text.split(is_other)
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The significant digits of a number.
fn digits(number: f64) -> usize {
    let text = format!("{number}").replace(['-', '.'], "");
    text.trim_matches('0').len()
}

#[test]
fn shares_stay_between_0_and_100_per_cent() {
    let of = |mean, ci95| Estimate {
        mean,
        ci95: Some(ci95),
        n: 5,
    };
    let share = |mean, ci95| numbers::with_interval(of(mean, ci95), "%");
    assert_eq!(share(98.0, 5.0), "98 % (93 to 100 %)");
    assert_eq!(share(0.5, 2.0), "0.5 % (0.0 to 2.5 %)");
    assert_eq!(share(50.0, 200.0), "50 % (0 to 100 %)");
    assert_eq!(
        numbers::with_interval(of(98.0, 5.0), "ms"),
        "98 ms (93 to 103 ms)"
    );
    let harm = |mean| {
        let sentences = of_transfers(|experiment| {
            for (round, transfer) in experiment.schemes[1].transfers.iter_mut().enumerate() {
                let factor = if round == 0 { mean } else { 0 };
                transfer.background = Some(polypath_core::units::Bytes(factor));
            }
        });
        sentences.last().unwrap().clone()
    };
    let none = harm(1);
    assert!(!none.contains("-1") && none.contains("100"), "{none}");
    // The interval of a ratio near 1/3 reaches below -100 %.
    let wide = harm(25_000_000);
    assert!(wide.contains("(-100 to "), "{wide}");
}

#[test]
fn the_longest_transfers_of_many_schemes_are_a_range() {
    let sentences = of_transfers(|experiment| {
        for n in 0..8 {
            let mut scheme = experiment.schemes[1].clone();
            scheme.name = format!("s{n}");
            set_times(&mut scheme, [1000, 2000 + n, 3000]);
            experiment.schemes.push(scheme);
        }
    });
    let wanted = "Longest transfer: 3.00 s (s0) to more than 10 s (tcp).";
    assert!(sentences.contains(&wanted.to_owned()), "{sentences:?}");
}

proptest! {
    #[test]
    fn the_sentence_agrees_with_the_interval(
        mean in -1e4_f64..1e4,
        power in -4_i32..5,
        factor in 1.0_f64..10.0,
    ) {
        let half = factor * 10_f64.powi(power);
        let difference = difference(mean, Some(half));
        let text = clause(difference);
        let includes = mean.abs() <= half;
        prop_assert_eq!(difference.includes_zero(), Some(includes));
        prop_assert_eq!(text.contains("includes zero"), includes, "{}", &text);
        prop_assert_eq!(text.contains("faster"), !includes && mean < 0.0);
        prop_assert_eq!(text.contains("slower"), !includes && mean > 0.0);
        let text = text.replace("95 %", "");
        let shown = numbers_of(&text);
        for number in &shown {
            prop_assert!(digits(*number) <= 4, "{}: {}", number, &text);
        }
        let size_error = 0.001 * mean.abs();
        if shown.len() == 1 {
            prop_assert!(half <= size_error && (shown[0] - mean.abs()).abs() <= size_error);
            return Ok(());
        }
        let ends = &shown[shown.len() - 2..];
        prop_assert!(ends[0] <= ends[1], "{}", &text);
        // What is shown is on the same side of zero as the interval.
        prop_assert_eq!(ends[0] <= 0.0 && ends[1] >= 0.0, includes, "{}", &text);
        if !includes {
            prop_assert!((shown[0] - mean.abs()).abs() <= half.max(size_error), "{}", &text);
        }
    }

    #[test]
    fn each_of_many_comparisons_is_counted_once(
        values in prop::collection::vec((-10.0_f64..10.0, prop::option::of(0.0_f64..10.0)), 9..40),
    ) {
        let all: Vec<Comparison> = values
            .iter()
            .map(|(mean, ci95)| comparison("c", difference(*mean, *ci95)))
            .collect();
        let text = sentence(&all, &wording()).unwrap();
        let of = format!(" of {} schemes", all.len());
        if text.contains(&format!("all {} schemes", all.len())) {
            return Ok(());
        }
        let counts = text.match_indices(&of).map(|(at, _)| {
            let before = &text[..at];
            let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
            before[start..].parse::<usize>().unwrap()
        });
        prop_assert_eq!(counts.sum::<usize>(), all.len(), "{}", &text);
    }
}
