//! TCP connections: compared with ns-2 2.35 and with formulae, and properties of every connection.

mod formulae;
mod harness;
mod ns2_overhead;
mod properties;

/// Asserts that `value` is within `share` of `reference`.
fn assert_near(what: &str, value: f64, reference: f64, share: f64) {
    let off = value / reference - 1.0;
    assert!(
        off.abs() <= share,
        "{what}: {value} is {:+.1} % off {reference}",
        100.0 * off
    );
}
