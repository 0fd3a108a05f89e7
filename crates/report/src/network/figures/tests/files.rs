use super::*;

/// Two files of each span: 10 ms each, and then 40, or 20, ms.
const SLOW: &[Did] = &[(500, 5, 10), (500, 5, 40)];
const FAST: &[Did] = &[(500, 5, 10), (500, 5, 20)];

fn files(replicas: &[[&[Did]; 2]]) -> FileFigures {
    let network = NETWORK.replace("ftp", "file\", size = \"9 kB");
    let replicas = replicas.iter().map(|flows| run(*flows, &LINK)).collect();
    let mut groups = figures_of(&network, replicas).groups;
    groups.remove(0).files.expect("they send files")
}

#[test]
fn every_file_weighs_the_same_in_a_single_run() {
    let found = files(&[[SLOW, FAST]]);
    assert_eq!((found.finished, found.under_way), (8, 0));
    assert_estimate(found.per_run.finished, (8.0, 0.0, 1));
    assert_estimate(found.mean, (0.02, 0.02 * T1, 2));
    assert_estimate(found.median, (0.015, 0.0, 1));
    assert_estimate(found.p95, (0.04, 0.0, 1));
    let without = figures(vec![run([SLOW, FAST], &LINK)]);
    assert_eq!(without.groups[0].files, None);
}

#[test]
fn percentiles_are_means_of_those_of_the_replicas_with_an_interval() {
    let found = files(&[[SLOW, FAST], [SLOW, SLOW]]);
    assert_eq!(found.finished, 16);
    assert_estimate(found.per_run.finished, (8.0, 0.0, 2));
    // 20 ms in one, 25 ms in the other.
    assert_estimate(found.mean, (0.0225, 0.005 * T1, 2));
    // 15 ms in one, 25 ms in the other.
    assert_estimate(found.median, (0.02, 0.01 * T1, 2));
    assert_estimate(found.p95, (0.04, 0.0, 2));
    assert_eq!(found.lag_one, None, "replicas are independent");
}

#[test]
fn files_that_the_end_finds_under_way_are_counted() {
    let early: &[Did] = &[(501, 5, 10), (500, 5, 10)];
    let late: &[Did] = &[(501, 5, 10), (501, 5, 10)];
    let found = files(&[[early, late]]);
    assert_eq!((found.finished, found.under_way), (8, 1));
    assert_estimate(found.per_run.under_way, (1.0, 0.0, 1));
    let found = files(&[[early, late], [late, late]]);
    assert_eq!((found.finished, found.under_way), (16, 3));
    assert_estimate(found.per_run.under_way, (1.5, T1, 2));
}

#[test]
fn times_that_grow_from_span_to_span_are_correlated() {
    let ramp = [10, 20, 30, 40, 50].map(|ms| (500, 5, ms));
    let found = files(&[[&ramp, &ramp]]).lag_one.unwrap();
    assert!((found - 0.4).abs() < 1e-12, "{found}");
}
