//! TCP compared with the formulae of its RFCs and papers.

use polypath_core::time::Duration;
use polypath_sim::tcp::Variant;

use crate::assert_near;
use crate::harness::{Experiment, Harm, Outcome};

fn run(variant: Variant, delay: Duration, harm: Harm) -> Outcome {
    let experiment = Experiment {
        variant,
        mbits: 1000,
        delay,
        queue: 10_000,
        harm,
        seconds: 400,
        ..Experiment::default()
    };
    experiment.run()
}

/// The mean window of a run, in segments of 8000 bits.
fn mean_window(outcome: &Outcome, rtt: f64) -> f64 {
    outcome.goodput_mbits * 1e6 / 8000.0 * rtt
}

/// One loss in 10 000 segments over 200 ms: CUBIC's window is 1.054 RTT^(3/4) / p^(3/4) (RFC 9438,
/// equation 6), 315 segments where Reno has 122.
#[test]
fn cubic_has_its_mean_window_where_round_trips_are_long() {
    let outcome = run(
        Variant::Cubic,
        Duration::from_millis(100),
        Harm::LossEvery(10_000),
    );
    let expected = 1.054 * (0.2_f64 / 1e-4).powf(0.75);
    assert_near("window", mean_window(&outcome, 0.2), expected, 0.05);
}

/// One loss in 1000 segments over 20 ms: below Reno's window, CUBIC has that, sqrt(3 / 2 p) (RFC
/// 9438, 4.3).
#[test]
fn cubic_has_the_window_of_reno_where_that_is_larger() {
    let delay = Duration::from_millis(10);
    let outcome = run(Variant::Cubic, delay, Harm::LossEvery(1000));
    assert_near("window", mean_window(&outcome, 0.02), 38.7, 0.07);
}

/// A loss in every 1000 segments halves the window of Reno from sqrt(8 / 3 p) (Mathis et al. 1997).
#[test]
fn reno_has_its_mean_window() {
    let delay = Duration::from_millis(10);
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let outcome = run(variant, delay, Harm::LossEvery(1000));
        assert_near("window", mean_window(&outcome, 0.02), 38.7, 0.05);
    }
}

/// A mark is answered like a loss, without a retransmission (RFC 3168).
#[test]
fn marks_reduce_the_window_like_losses_and_lose_nothing() {
    let delay = Duration::from_millis(10);
    for variant in [Variant::Reno, Variant::Sack, Variant::Cubic] {
        let lost = run(variant, delay, Harm::LossEvery(1000));
        let marked = run(variant, delay, Harm::MarkEvery(1000));
        let (goodput, of_lost) = (marked.goodput_mbits, lost.goodput_mbits);
        assert_near("goodput", goodput, of_lost, 0.05);
        assert_eq!((marked.drops, marked.stats.retransmitted), (0, 0));
    }
}

/// BBR's rate is that of the path whatever is lost at random (Cardwell et al. 2016, Fig. 5), and its
/// window, two products of rate and round-trip time, never fills the queue.
#[test]
fn bbr_has_the_rate_of_the_path_and_losses_do_not_slow_it() {
    let path = Experiment {
        variant: Variant::Bbr,
        queue: 400,
        ..Experiment::default()
    };
    let clean = path.run();
    assert!(clean.goodput_mbits >= 9.3, "{clean:?}");
    assert_eq!((clean.drops, clean.stats.timeouts), (0, 0), "{clean:?}");
    // Not a divisor of the window: a segment that is lost again needs a timeout.
    let harm = Harm::LossEvery(53);
    let lossy = Experiment { harm, ..path }.run();
    assert!(lossy.goodput_mbits >= 8.8, "{lossy:?}");
    let cubic = Experiment {
        variant: Variant::Cubic,
        harm,
        ..path
    };
    assert!(cubic.run().goodput_mbits < lossy.goodput_mbits / 2.0);
}
