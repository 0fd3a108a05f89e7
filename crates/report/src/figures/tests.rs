use super::*;
use crate::fixture::experiment;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_timed_out_transfer_counts_with_the_timeout_and_is_reported() {
    let figures = Figures::of(&experiment());
    let [tcp, ppd] = &figures.schemes[..] else {
        panic!("two schemes")
    };
    assert!(close(tcp.transfer.unwrap().mean, (4.0 + 5.0 + 10.0) / 3.0));
    assert_eq!((tcp.timed_out, ppd.timed_out), (1, 0));
    assert_eq!(tcp.curves.len(), 3);
    assert_eq!((tcp.intact, ppd.intact), (Some(true), Some(true)));
    assert_eq!(ppd.difference.unwrap().bound, Bound::AtMost);
}

#[test]
fn a_difference_is_marked_as_a_bound_on_the_true_mean() {
    let bound = |tcp: bool, ppd: bool| {
        let mut experiment = experiment();
        for (scheme, cut) in [(0, tcp), (1, ppd)] {
            let last = experiment.schemes[scheme].transfers.last_mut().unwrap();
            last.duration = (!cut).then_some(Duration::from_secs(3));
        }
        Figures::of(&experiment).schemes[1]
            .difference
            .unwrap()
            .bound
    };
    assert_eq!(bound(false, false), Bound::Exact);
    assert_eq!(bound(false, true), Bound::AtLeast);
    assert_eq!(bound(true, false), Bound::AtMost);
    assert_eq!(bound(true, true), Bound::Neither);
}

#[test]
fn a_timeout_in_an_unpaired_round_does_not_affect_a_difference() {
    let mut experiment = experiment();
    experiment.schemes[1].transfers.pop();
    let difference = Figures::of(&experiment).schemes[1].difference.unwrap();
    assert_eq!((difference.estimate.n, difference.bound), (2, Bound::Exact));
}

#[test]
fn differences_are_paired_by_round() {
    let mut experiment = experiment();
    experiment.schemes[1].transfers.reverse();
    let figures = Figures::of(&experiment);
    let difference = figures.schemes[1].difference.unwrap().estimate;
    assert!(close(difference.mean, (-2.0 - 1.5 - 7.5) / 3.0));
    assert_eq!(difference.n, 3);
    assert_eq!(figures.schemes[0].difference, None);
    experiment.schemes[1].transfers.remove(0);
    let fewer = Figures::of(&experiment).schemes[1].difference.unwrap();
    assert_eq!(fewer.estimate.n, 2);
}

#[test]
fn harm_and_overhead_are_ratios() {
    let figures = Figures::of(&experiment());
    let harm = figures.schemes[1].harm.unwrap();
    let ratio = (25.0 + 24.965 + 24.95) / (25.0 + 24.95 + 24.82);
    assert!(close(harm.mean, ratio), "{harm:?}");
    assert_eq!((harm.n, figures.schemes[0].harm), (3, None));
    assert!(close(
        figures.schemes[1].overhead_ratio.unwrap(),
        72.0 / 33.0
    ));
}

#[test]
fn a_round_in_which_the_background_was_starved_is_harm() {
    let mut experiment = experiment();
    let harm = |experiment: &crate::ExperimentRecord| Figures::of(experiment).schemes[1].harm;
    experiment.schemes[1].transfers[0].background = Some(Bytes(0));
    let starved = harm(&experiment).unwrap();
    let ratio = (24.965 + 24.95) / (25.0 + 24.95 + 24.82);
    assert!(close(starved.mean, ratio), "{starved:?}");
    assert_eq!(starved.n, 3);
    experiment.schemes[0].transfers[0].background = Some(Bytes(0));
    let both = harm(&experiment).unwrap();
    let ratio = (24.965 + 24.95) / (24.95 + 24.82);
    assert!(close(both.mean, ratio), "{both:?}");
    for transfer in &mut experiment.schemes[0].transfers {
        transfer.background = Some(Bytes(0));
    }
    assert_eq!(harm(&experiment), None);
}

#[test]
fn a_corrupt_or_missing_file_is_not_intact() {
    let mut experiment = experiment();
    experiment.schemes[0].transfers[0].intact = false;
    experiment.schemes[1].transfers.clear();
    let figures = Figures::of(&experiment);
    assert_eq!(figures.schemes[0].intact, Some(false));
    assert_eq!(figures.schemes[1].intact, None);
    assert_eq!(figures.schemes[1].transfer, None);
}

#[test]
fn waiting_grows_with_the_rate() {
    let figures = Figures::of(&experiment());
    let waits: Vec<f64> = figures
        .rates
        .iter()
        .filter_map(|r| figures.schemes[0].prebuffer_at(*r))
        .collect();
    assert_eq!(waits.len(), 40);
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
}
