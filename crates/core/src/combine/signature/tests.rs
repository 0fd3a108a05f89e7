use super::*;
use proptest::prelude::*;

const LINKS: usize = 4;

fn link(sent: u32, lost: u32) -> LinkWindow {
    LinkWindow {
        sent,
        lost,
        ..LinkWindow::default()
    }
}

/// A window of `sent` packets on four links with these losses.
fn window(sent: u32, lost: [u32; LINKS]) -> [LinkWindow; LINKS] {
    lost.map(|lost| link(sent, lost))
}

fn likelihood() -> LikelihoodRatio {
    LikelihoodRatio::new(LikelihoodConfig::default())
}

fn same_links() -> SameLinks {
    SameLinks::new(SameLinksConfig::default())
}

#[test]
fn losses_on_several_links_are_congestion_and_a_lost_link_is_not() {
    let golden = [
        ([0, 0, 0, 0], Sign::Nothing),
        ([1, 0, 1, 0], Sign::Congestion),
        ([3, 1, 2, 1], Sign::Congestion),
        ([100, 0, 0, 0], Sign::Dropout),
        ([100, 0, 100, 0], Sign::Dropout),
        ([100, 1, 2, 0], Sign::Congestion),
        ([37, 0, 0, 0], Sign::Dropout),
    ];
    for (lost, sign) in golden {
        let reading = likelihood().on_window(&window(100, lost));
        assert_eq!(reading.sign, sign, "{lost:?}: {}", reading.score);
    }
}

#[test]
fn persistent_partial_losses_on_one_link_become_congestion() {
    let mut signature = likelihood();
    let first = signature.on_window(&window(100, [10, 0, 0, 0]));
    assert_eq!(first.sign, Sign::Dropout, "{first:?}");
    let mut last = first;
    for _ in 0..8 {
        last = signature.on_window(&window(100, [10, 0, 0, 0]));
    }
    assert_eq!(last.sign, Sign::Congestion, "{last:?}");
}

#[test]
fn marks_and_long_queues_raise_the_score_and_short_queues_lower_it() {
    let score = |change: fn(&mut LinkWindow)| {
        let mut links = window(100, [10, 0, 0, 0]);
        change(&mut links[0]);
        likelihood().on_window(&links)
    };
    let known = score(|_| {});
    let marked = score(|link| link.marked = 1);
    let long = score(|link| link.queueing = Some(0.95));
    let short = score(|link| link.queueing = Some(0.05));
    assert_eq!(marked.sign, Sign::Congestion);
    assert!(long.score > known.score && known.score > short.score);
}

#[test]
fn same_links_requires_losses_on_the_same_links_for_several_windows() {
    let mut signature = same_links();
    let snapshot = [
        ([1, 1, 0, 0], Sign::Dropout),
        ([1, 1, 0, 0], Sign::Congestion),
        ([0, 1, 5, 0], Sign::Dropout),
        ([0, 1, 1, 1], Sign::Congestion),
        ([0, 0, 0, 0], Sign::Nothing),
        ([0, 1, 1, 0], Sign::Dropout),
    ];
    for (lost, sign) in snapshot {
        assert_eq!(
            signature.on_window(&window(10, lost)).sign,
            sign,
            "{lost:?}"
        );
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let of = |config: LikelihoodConfig| SignatureConfig::LikelihoodRatio(config).check();
    let good = LikelihoodConfig::default();
    assert_eq!(of(good), Ok(()));
    assert_eq!(
        of(LikelihoodConfig {
            dropout: 1.0,
            ..good
        }),
        Err(SignatureError::Share("dropout"))
    );
    assert_eq!(
        of(LikelihoodConfig {
            memory: 1.0,
            ..good
        }),
        Err(SignatureError::Memory)
    );
    let none = SameLinksConfig {
        links: 0,
        windows: 1,
    };
    assert_eq!(
        SignatureConfig::SameLinks(none).check(),
        Err(SignatureError::Count("links"))
    );
}

/// The probabilities of all numbers of losses of a link add up to 1.
#[test]
fn the_loss_models_are_probability_distributions() {
    let signature = likelihood();
    let up = 1.0 - signature.config().dropout;
    for sent in [1, 2, 7, 300] {
        let all = || (0..=sent).map(|lost| link(sent, lost));
        let congested: f64 = all().map(|link| signature.when_congested(&link)).sum();
        let down: f64 = all().map(|link| signature.when_down(&link)).sum();
        assert!((congested - 1.0).abs() < 1e-9, "{sent}: {congested}");
        assert!((down + up - 1.0).abs() < 1e-9, "{sent}: {down}");
    }
}

fn any_windows() -> impl Strategy<Value = alloc::vec::Vec<[(u32, u32); LINKS]>> {
    let link = (0_u32..400).prop_flat_map(|sent| (Just(sent), 0..=sent));
    prop::collection::vec(prop::array::uniform4(link), 1..20)
}

proptest! {
    #[test]
    fn scores_are_finite_and_independent_of_the_order_of_links(windows in any_windows()) {
        for config in [SignatureConfig::default(), SignatureConfig::SameLinks(SameLinksConfig::default())] {
            let (mut forth, mut back) = (config.build(), config.build());
            for window in &windows {
                let mut links = window.map(|(sent, lost)| link(sent, lost));
                let reading = forth.on_window(&links);
                links.reverse();
                let other = back.on_window(&links);
                prop_assert!(reading.score.is_finite());
                prop_assert!((reading.score - other.score).abs() < 1e-6 * reading.score.abs().max(1.0));
                prop_assert_eq!(reading.sign == Sign::Nothing, links.iter().all(|link| link.lost == 0));
            }
        }
    }

    /// Total losses are never congestion, whatever the number of links and the duration.
    #[test]
    fn links_that_lose_everything_are_never_congested(
        sent in 5_u32..500,
        down in prop::collection::vec(prop::array::uniform4(any::<bool>()), 1..30),
    ) {
        let mut signature = likelihood();
        for down in down {
            let lost = down.map(|down| if down { sent } else { 0 });
            prop_assert_ne!(signature.on_window(&window(sent, lost)).sign, Sign::Congestion);
        }
    }
}

#[test]
fn the_number_of_marks_is_the_mean_loss_of_a_link() {
    let mut marks = Marks::new(MarkRule::AnyLink);
    let mut mark = |sign: Sign, lost: [u32; LINKS]| {
        let reading = Reading { sign, score: 0.0 };
        marks.on_window(&reading, &window(10, lost), LinkWindow::has_lost_all);
        core::iter::from_fn(|| marks.take().then_some(())).count()
    };
    assert_eq!(mark(Sign::Congestion, [1, 2, 3, 2]), 2);
    assert_eq!(mark(Sign::Dropout, [10, 0, 0, 0]), 0);
    // The link that lost everything is excluded: two losses on three links.
    assert_eq!(mark(Sign::Congestion, [10, 1, 1, 0]), 0);
    assert_eq!(mark(Sign::Congestion, [10, 0, 0, 1]), 1);
    assert_eq!(mark(Sign::Congestion, [10, 10, 10, 10]), 0);
}

#[test]
fn by_the_rule_of_all_links_a_link_without_losses_prevents_marks() {
    let mut marks = Marks::new(MarkRule::AllLinks);
    let mut mark = |lost: [u32; LINKS]| {
        let sign = Sign::Congestion;
        let reading = Reading { sign, score: 0.0 };
        marks.on_window(&reading, &window(10, lost), LinkWindow::has_lost_all);
        core::iter::from_fn(|| marks.take().then_some(())).count()
    };
    assert_eq!(mark([0, 3, 3, 6]), 0);
    assert_eq!(mark([1, 2, 3, 2]), 2);
    // One that dropped out carried nothing.
    assert_eq!(mark([10, 1, 1, 1]), 1);
}

/// A link that fades for half of a window, and one that gets few copies, do not measure congestion.
#[test]
fn links_that_were_partly_down_do_not_count() {
    let signature = likelihood();
    for (lost, is_down) in [(1, false), (12, false), (50, true), (97, true), (100, true)] {
        assert_eq!(
            signature.is_down(&link(100, lost)),
            is_down,
            "{lost} of 100"
        );
    }
    let mut marks = Marks::new(MarkRule::AllLinks);
    let mut signature = likelihood();
    let window = window(167, [83, 2, 2, 2]);
    let reading = signature.on_window(&window);
    assert_eq!(reading.sign, Sign::Congestion);
    marks.on_window(&reading, &window, |link| signature.is_down(link));
    let marked = core::iter::from_fn(|| marks.take().then_some(())).count();
    assert_eq!(marked, 2);
}
