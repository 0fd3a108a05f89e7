//! One flow whose sender delays segments by a random time, compared with ns-2 2.35 (`overhead_`).
//!
//! 10 Mbit/s, 20 ms one way, queue of 50 packets, receiver window 10 000, 100 s; means over ten
//! seeds. Here no packets arrive at equal times, and the bursts after a delay cost Reno several
//! timeouts. SACK retransmits less than ns-2's, which after a timeout also repeats segments that
//! were selectively acknowledged.

use polypath_core::time::Duration;
use polypath_sim::tcp::Variant;

use crate::assert_near;
use crate::harness::{Experiment, Outcome};

/// Variant, maximum delay in ms; goodput in Mbit/s, retransmissions, timeouts.
type Row = (Variant, u64, f64, f64, f64);

const NS2: [Row; 4] = [
    (Variant::Reno, 2, 9.562, 232.1, 5.8),
    (Variant::Reno, 20, 8.295, 205.3, 12.4),
    (Variant::Sack, 2, 9.935, 135.5, 0.0),
    (Variant::Sack, 20, 9.393, 167.1, 0.2),
];

#[test]
fn agrees_with_ns2() {
    for (variant, overhead, goodput, retransmitted, timeouts) in NS2 {
        let runs: Vec<Outcome> = (1..=10)
            .map(|seed| {
                Experiment {
                    variant,
                    overhead: Duration::from_millis(overhead),
                    seed,
                    ..Experiment::default()
                }
                .run()
            })
            .collect();
        let mean = |value: fn(&Outcome) -> f64| runs.iter().map(value).sum::<f64>() / 10.0;
        let again = mean(|r| r.stats.retransmitted as f64);
        let expired = mean(|r| r.stats.timeouts as f64);
        let ours = mean(|r| r.goodput_mbits);
        let row = format!("{variant:?}, overhead {overhead} ms");
        println!("{row}: {ours:.3} Mbit/s, {again} again, {expired} timeouts");
        assert_near(&format!("{row}: goodput"), ours, goodput, 0.03);
        let what = format!("{row}: retransmissions");
        let bound = if variant == Variant::Sack { 0.20 } else { 0.10 };
        assert_near(&what, again, retransmitted, bound);
        assert!((expired - timeouts).abs() <= 2.5, "{row}: {expired}");
    }
}
