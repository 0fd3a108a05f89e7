use super::*;
use polypath_core::combine::signature::{MarkRule, SignatureConfig};
use proptest::prelude::*;

const SEED: Seed = Seed(5);

const fn fading(up: f64, down: f64) -> Fading {
    Fading { up, down }
}

fn rounds(config: &RoundModelConfig) -> RoundModel {
    RoundModel::new(config, SEED).unwrap()
}

/// The mean number of packets sent per round over `n` rounds.
fn mean_sent(config: &RoundModelConfig, n: u32) -> f64 {
    let mut rounds = rounds(config);
    let sent: u64 = (0..n).map(|_| rounds.step().sent).sum();
    sent as f64 / f64::from(n)
}

#[test]
fn one_flow_on_a_good_link_fills_it_and_stays() {
    let mut rounds = rounds(&RoundModelConfig::paper(1, 1, 40));
    let sent: Vec<u64> = (0..50).map(|_| rounds.step().sent).collect();
    assert_eq!(sent[..40], (1..=40).collect::<Vec<_>>());
    assert_eq!(sent[40..], [40; 10]);
    assert_eq!(rounds.flows()[0].delivered(), sent.iter().sum::<u64>());
}

#[test]
fn a_link_that_is_down_is_masked_by_the_others_and_two_halves_are_not() {
    let config = RoundModelConfig {
        fading: Some(fading(50.0, 5.0)),
        ..RoundModelConfig::paper(1, 1, 100)
    };
    let [one, four] = [1, 4].map(|links| RoundModelConfig {
        links,
        ..config.clone()
    });
    let coded = RoundModelConfig {
        coding: Coding::Fragments(4),
        ..four.clone()
    };
    let [one, four, coded] = [one, four, coded].map(|config| {
        let capacity = config.packets() as f64;
        mean_sent(&config, 20_000) / capacity
    });
    assert!(one < 0.4, "{one}");
    assert!(four > 0.95, "{four}");
    // Four fragments of four: each link is one too many.
    assert!(coded < 0.1, "{coded}");
}

#[test]
fn a_single_link_that_is_full_makes_flows_slow_down_at_once() {
    let mut rounds = rounds(&RoundModelConfig::paper(5, 1, 500));
    let over: Vec<bool> = (0..2000).map(|_| rounds.step().overflowed).collect();
    assert!(over.iter().any(|over| *over));
    assert!(!over.windows(2).any(|pair| pair == [true, true]));
}

#[test]
fn slow_start_doubles_up_to_half_of_where_it_lost() {
    let config = RoundModelConfig {
        slow_start: true,
        ..RoundModelConfig::paper(1, 1, 64)
    };
    let mut flow = Flow::new(&config, 0);
    flow.begin(0);
    let mut windows = |lost: u32, n: usize| -> Vec<u32> {
        flow.end(lost);
        let next = (0..n).map(|_| {
            let window = flow.window();
            flow.end(0);
            window
        });
        next.collect()
    };
    assert_eq!(windows(0, 8), [2, 4, 8, 16, 32, 64, 64, 64]);
    assert_eq!(windows(3, 8), [1, 2, 4, 8, 16, 32, 33, 34]);
}

/// Both ways of drawing losses, over the same windows: the means agree within four standard errors.
#[test]
fn losses_in_numbers_and_packet_by_packet_are_the_same() {
    for dropping in [Dropping::Excess, Dropping::Independent] {
        for coding in [Coding::Copies, Coding::Fragments(2)] {
            let config = RoundModelConfig {
                dropping,
                coding,
                fading: Some(fading(20.0, 2.0)),
                outage: Outage::Share,
                ..RoundModelConfig::paper(20, 3, 400 / if coding == Coding::Copies { 1 } else { 2 })
            };
            let looked = RoundModelConfig {
                detection: Some(SignatureResponse {
                    signature: SignatureConfig::default(),
                    marks: MarkRule::default(),
                    acts: false,
                }),
                ..config.clone()
            };
            let means: Vec<(f64, f64)> = [config, looked].iter().map(mean_and_error).collect();
            let [(a, of_a), (b, of_b)] = means[..] else {
                unreachable!()
            };
            let bound = 4.0 * of_a.hypot(of_b);
            assert!(
                (a - b).abs() < bound,
                "{dropping:?} {coding:?}: {a} {b} {bound}"
            );
            assert!(bound < 0.05 * a, "{bound} of {a}");
        }
    }
}

/// The mean number of packets per round over independent runs, and its standard error.
fn mean_and_error(config: &RoundModelConfig) -> (f64, f64) {
    let of = |run: u64| {
        let mut rounds = RoundModel::new(config, Seed(run)).unwrap();
        let sent: u64 = (0..1000).map(|_| rounds.step().sent).sum();
        sent as f64 / 1000.0
    };
    let means: Vec<f64> = (0..40).map(of).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Section III: of m packets, each dropped on n links with the probability p, one is lost with
/// about m p^n.
#[test]
fn the_union_bound_is_met_from_below() {
    let config = RoundModelConfig {
        dropping: Dropping::Independent,
        ..RoundModelConfig::paper(1, 2, 90)
    };
    let n = 100_000;
    let seen = rounds(&config).losing_with(100, n) as f64 / f64::from(n);
    let exact = 1.0 - (1.0_f64 - 0.01).powi(100);
    let bound = 4.0 * (exact * (1.0 - exact) / f64::from(n)).sqrt();
    assert!((seen - exact).abs() < bound, "{seen} {exact}");
}

#[test]
fn a_mark_halves_the_window_and_detecting_flows_stay_at_the_capacity() {
    let naive = RoundModelConfig::paper(20, 4, 2000);
    let detecting = RoundModelConfig {
        detection: Some(SignatureResponse {
            signature: SignatureConfig::default(),
            marks: MarkRule::default(),
            acts: true,
        }),
        ..naive.clone()
    };
    let most = |config: &RoundModelConfig| {
        let mut rounds = rounds(config);
        (0..2000).map(|_| rounds.step().sent).max().unwrap()
    };
    assert!(most(&naive) > 2150, "{}", most(&naive));
    assert!(most(&detecting) < 2100, "{}", most(&detecting));
}

#[test]
fn flows_use_their_own_links() {
    let config = RoundModelConfig {
        sets: Some(vec![0b01, 0b11, 0b10, 0b10]),
        ..RoundModelConfig::paper(4, 2, 100)
    };
    let mut rounds = rounds(&config);
    let over = (0..3000).filter(|_| rounds.step().overflowed).count();
    assert!(over > 0);
    let sent: Vec<u64> = rounds.flows().iter().map(Flow::sent).collect();
    assert!(sent[0] > sent[2] && sent[0] > sent[3], "{sent:?}");
    assert!(sent[1] > sent[0], "masked: {sent:?}");
}

#[test]
fn impossible_configurations_are_refused() {
    let of = |config: RoundModelConfig| RoundModel::new(&config, SEED).err();
    let base = || RoundModelConfig::paper(2, 4, 10);
    assert_eq!(
        of(RoundModelConfig::paper(2, 9, 10)),
        Some(RoundModelError::Size)
    );
    let still = RoundModelConfig {
        fading: Some(fading(0.0, 1.0)),
        ..base()
    };
    assert_eq!(of(still), Some(RoundModelError::Fading));
    let coded = RoundModelConfig {
        coding: Coding::Fragments(5),
        ..base()
    };
    assert_eq!(of(coded), Some(RoundModelError::Fragments(5, 4)));
    let apart = RoundModelConfig {
        sets: Some(vec![1, 16]),
        ..base()
    };
    assert_eq!(of(apart), Some(RoundModelError::Sets));
}

proptest! {
    /// Windows lie between 1 and the capacity, what arrives was sent, and the same seed gives the
    /// same rounds.
    #[test]
    fn rounds_are_sane_and_repeat(
        (flows, links, capacity) in (1_u32..8, 1_u32..5, 1_u32..60),
        (up, down) in (0.3_f64..40.0, 0.05_f64..5.0),
        readings in prop::array::uniform5(any::<bool>()),
        seed: u64,
    ) {
        let [outage, dropping, halve, slow_start, looked] = readings;
        let response = SignatureResponse {
            signature: SignatureConfig::default(),
            marks: MarkRule::default(),
            acts: true,
        };
        let config = RoundModelConfig {
            fading: Some(fading(up, down)),
            outage: if outage { Outage::Window } else { Outage::Share },
            dropping: if dropping { Dropping::Excess } else { Dropping::Independent },
            response: if halve { Response::Halve } else { Response::Reset },
            slow_start,
            late: 5,
            detection: looked.then_some(response),
            ..RoundModelConfig::paper(flows, links, capacity)
        };
        let mut rounds = RoundModel::new(&config, Seed(seed)).unwrap();
        let mut again = RoundModel::new(&config, Seed(seed)).unwrap();
        for _ in 0..60 {
            let round = rounds.step();
            prop_assert_eq!(round, again.step());
            prop_assert!(round.lost <= round.sent);
            let windows = rounds.flows().iter().map(Flow::window);
            prop_assert!(windows.clone().all(|window| window <= capacity));
            for flow in rounds.flows() {
                prop_assert!(flow.delivered() <= flow.sent());
            }
        }
    }
}
