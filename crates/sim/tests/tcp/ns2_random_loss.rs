//! One flow with random losses and no congestion, against ns-2 2.35.
//!
//! 100 Mbit/s, 20 ms one way, queue limit and receiver window 10 000, losses of data only, five seeds. The
//! runs of ns-2 have 1000 s, ours 200. Of the retransmissions the median over the seeds counts: where a run
//! begins with a window of hundreds of segments, one timeout repeats more of them than the rest of the run.

use polypath_sim::tcp::Variant;

use crate::assert_near;
use crate::harness::{Experiment, Harm};

/// Loss, variant, delayed ACK; goodput in Mbit/s, share of retransmissions.
type Row = (f64, Variant, bool, f64, f64);

const NS2: [Row; 20] = [
    (0.001, Variant::NewReno, false, 8.0097, 0.0010),
    (0.001, Variant::Reno, false, 7.7688, 0.0010),
    (0.001, Variant::Reno, true, 5.4184, 0.0010),
    (0.001, Variant::Sack, false, 8.0094, 0.0010),
    (0.001, Variant::Tahoe, false, 7.0224, 0.0010),
    (0.003, Variant::NewReno, false, 4.4895, 0.0030),
    (0.003, Variant::Reno, false, 4.2137, 0.0030),
    (0.003, Variant::Reno, true, 2.9105, 0.0031),
    (0.003, Variant::Sack, false, 4.4892, 0.0030),
    (0.003, Variant::Tahoe, false, 3.7444, 0.0033),
    (0.01, Variant::NewReno, false, 2.3023, 0.0104),
    (0.01, Variant::Reno, false, 2.0433, 0.0105),
    (0.01, Variant::Reno, true, 1.4235, 0.0102),
    (0.01, Variant::Sack, false, 2.2983, 0.0101),
    (0.01, Variant::Tahoe, false, 1.8934, 0.0113),
    (0.03, Variant::NewReno, false, 1.1852, 0.0320),
    (0.03, Variant::Reno, false, 0.9529, 0.0324),
    (0.03, Variant::Reno, true, 0.6755, 0.0310),
    (0.03, Variant::Sack, false, 1.1742, 0.0299),
    (0.03, Variant::Tahoe, false, 0.9890, 0.0356),
];

#[test]
fn agrees_with_ns2() {
    for (loss, variant, delayed_ack, goodput, retransmitted) in NS2 {
        let runs = (1..=5).map(|seed| {
            Experiment {
                variant,
                delayed_ack,
                mbits: 100,
                queue: 10_000,
                harm: Harm::Loss(loss),
                seconds: 200,
                seed,
                ..Experiment::default()
            }
            .run()
        });
        let runs: Vec<_> = runs.collect();
        let mean = runs.iter().map(|r| r.goodput_mbits).sum::<f64>() / 5.0;
        let shares = runs.iter().map(|r| r.stats);
        let mut shares: Vec<f64> = shares
            .map(|s| s.retransmitted as f64 / s.sent as f64)
            .collect();
        shares.sort_by(f64::total_cmp);
        let row = format!("loss {loss}, {variant:?}, delayed ACK {delayed_ack}");
        println!("{row}: {mean:.4} Mbit/s, {:.4} again", shares[2]);
        assert_near(&format!("{row}: goodput"), mean, goodput, 0.03);
        // The share is given in whole ten-thousandths.
        let bound = 0.10 + 0.000_05 / retransmitted;
        let what = format!("{row}: retransmissions");
        assert_near(&what, shares[2], retransmitted, bound);
    }
}
