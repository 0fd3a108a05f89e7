//! TCP over `in-time`, whose receiver holds segments behind a gap.

mod common;

use std::fs;

use common::{polypath, printed};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/order.toml");

/// The mean transfer times of `in-time` with this order, by the loss of the first path.
fn times(sheet: &str, order: &str) -> Vec<f64> {
    let rows = sheet.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let of_order = rows.filter(|row| row[1] == order && row[4] == "in-time");
    of_order.map(|row| row[7].parse().unwrap()).collect()
}

#[test]
fn a_hold_that_covers_repairs_makes_tcp_faster_on_lossy_paths() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = polypath();
    command.arg("sim").arg(SCENARIO);
    printed(&command.arg("--out").arg(dir.path()).output().unwrap());
    let sheet = fs::read_to_string(dir.path().join("sweep.csv")).unwrap();
    let none = times(&sheet, "none");
    let tcp = times(&sheet, "tcp");
    assert_eq!((none.len(), tcp.len()), (3, 3), "{sheet}");
    assert!(
        tcp[1] < 0.85 * none[1] && tcp[2] < 0.85 * none[2],
        "{sheet}"
    );
    let longer = times(&sheet, "200 ms")[0];
    assert!((tcp[0] - longer).abs() < 1e-9, "nothing waits longer");
}
