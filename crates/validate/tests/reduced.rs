//! The reduced validation: what `polypath validate` does, with fewer cases, seeds and seconds
//! within the same bounds.

use polypath_validate::{Case, Comparison, Scope, cases, render, validate};

fn rows(cases: &[Case], jobs: Option<u16>) -> Vec<Comparison> {
    validate(cases, jobs, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_reduced_form_is_within_all_bounds() {
    let cases = cases(Scope::Reduced).unwrap_or_else(|error| panic!("{error}"));
    let rows = rows(&cases, None);
    println!("{}", render(&rows));
    let missed: Vec<Comparison> = rows.into_iter().filter(|row| !row.holds).collect();
    assert!(missed.is_empty(), "{}", render(&missed));
}

#[test]
fn the_rows_are_the_same_on_any_number_of_threads() {
    let mut cases = cases(Scope::Reduced).unwrap_or_else(|error| panic!("{error}"));
    cases.retain(|case| case.name.starts_with("ns2/random-loss/reno-loss-0.03"));
    assert_eq!(cases.len(), 2);
    assert_eq!(rows(&cases, Some(1)), rows(&cases, Some(3)));
}
