//! One flow over a drop-tail bottleneck, against ns-2 2.35.
//!
//! 10 Mbit/s, 20 ms one way, receiver window 10 000, 100 s; all other parameters of ns-2 at their defaults
//! (`ns2/single_flow.tcl`).
//! With queues of 50 and 100 packets most rows agree to the packet. With 20, packets arrive at the very
//! instants at which others leave, and which is first decides over a drop: ns-2 by the rounding of its
//! clock, ours by rule.

use polypath_sim::tcp::Variant;

use crate::assert_near;
use crate::harness::Experiment;

/// Variant, delayed ACK, queue limit; goodput in Mbit/s, drops, retransmissions, timeouts.
type Row = (Variant, bool, u32, f64, u64, u64, u64);

const NS2: [Row; 24] = [
    (Variant::Tahoe, false, 20, 8.4254, 83, 129, 0),
    (Variant::Tahoe, true, 20, 8.4696, 45, 85, 0),
    (Variant::Tahoe, false, 50, 9.3750, 131, 233, 0),
    (Variant::Tahoe, true, 50, 9.4484, 66, 165, 0),
    (Variant::Tahoe, false, 100, 9.6654, 166, 318, 0),
    (Variant::Tahoe, true, 100, 9.7030, 83, 232, 0),
    (Variant::Reno, false, 20, 9.1226, 92, 154, 2),
    (Variant::Reno, true, 20, 9.1293, 47, 98, 1),
    (Variant::Reno, false, 50, 9.9159, 131, 231, 1),
    (Variant::Reno, true, 50, 9.8764, 66, 187, 1),
    (Variant::Reno, false, 100, 9.9087, 165, 315, 1),
    (Variant::Reno, true, 100, 9.8989, 82, 266, 1),
    (Variant::NewReno, false, 20, 9.1537, 95, 168, 2),
    (Variant::NewReno, true, 20, 9.1497, 48, 89, 1),
    (Variant::NewReno, false, 50, 9.9226, 131, 238, 1),
    (Variant::NewReno, true, 50, 9.8925, 66, 195, 1),
    (Variant::NewReno, false, 100, 9.9098, 165, 322, 1),
    (Variant::NewReno, true, 100, 9.9194, 82, 280, 1),
    (Variant::Sack, false, 20, 9.2506, 91, 91, 0),
    (Variant::Sack, true, 20, 9.2261, 48, 48, 0),
    (Variant::Sack, false, 50, 9.9478, 132, 132, 0),
    (Variant::Sack, true, 50, 9.9537, 67, 67, 0),
    (Variant::Sack, false, 100, 9.9530, 166, 166, 0),
    (Variant::Sack, true, 100, 9.9625, 83, 83, 0),
];

#[test]
fn agrees_with_ns2() {
    for (variant, delayed_ack, queue, goodput, drops, retransmitted, timeouts) in NS2 {
        let ours = Experiment {
            variant,
            delayed_ack,
            queue,
            ..Experiment::default()
        }
        .run();
        let row = format!("{variant:?}, delayed ACK {delayed_ack}, queue {queue}");
        println!("{row}: {ours:?}");
        let near = |what: &str, value, reference, share| {
            assert_near(&format!("{row}: {what}"), value, reference, share);
        };
        near("goodput", ours.goodput_mbits, goodput, 0.03);
        near("drops", ours.drops as f64, drops as f64, 0.10);
        let again = ours.stats.retransmitted as f64;
        near("retransmissions", again, retransmitted as f64, 0.10);
        let off = ours.stats.timeouts.abs_diff(timeouts);
        assert!(off <= 1, "{row}: {} timeouts", ours.stats.timeouts);
    }
}
