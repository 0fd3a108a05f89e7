use super::super::tests::{outcomes, with_record};
use super::*;
use crate::media::CarrierName;

#[test]
fn a_policy_of_both_records_has_its_figures_with_paired_differences() {
    with_record("", |simulated, _| {
        let mut all = outcomes();
        // A peer that the simulator does not have, and one late packet more in each run.
        let peer = CarrierName {
            name: "udp".to_owned(),
            kind: "udp".to_owned(),
        };
        let carriers = [simulated.carriers[1].clone(), peer];
        for outcome in &mut all[1] {
            outcome.late[0] += 1;
        }
        let lab = MediaRecord {
            carriers: &carriers,
            outcomes: &[all[1].clone(), all[0].clone()],
            ..simulated
        };
        let found = predictions(lab, simulated);
        let figures: Vec<&str> = found.iter().map(|of| of.figure.as_str()).collect();
        let expected = [
            "Late or lost at 100 ms, %",
            "Late or lost at 200 ms, %",
            "Late or lost at 400 ms, %",
            "99th percentile of the one-way delay, ms",
            "Bytes on the wire over bytes of payload",
        ];
        assert_eq!(figures, expected);
        assert!(found.iter().all(|of| of.policy == "duplicate-all"));
        let difference = found[0].difference.unwrap();
        assert!((difference.mean - 0.1).abs() < 1e-9, "{difference:?}");
        assert!(difference.ci95.unwrap() < 1e-9, "{difference:?}");
        for same in &found[1..] {
            assert!(same.difference.unwrap().mean.abs() < 1e-9, "{same:?}");
        }
        let text = render_predictions(&found);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("Late or lost at 100 ms, %"), "{text}");
        let json = serde_json::json!(found[3]);
        assert_eq!(json["lab"]["mean"], 150.0, "{json}");
    });
}
