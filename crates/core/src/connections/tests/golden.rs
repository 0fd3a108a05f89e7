//! Golden tables of the controllers on a network whose capacity per connection drops and recovers.

use core::fmt::Write;

use super::*;

/// The capacity of a connection in kb/s, reduced between 10 s and 40 s.
fn capacity(now: Time) -> u64 {
    if (10.0..40.0).contains(&now.as_secs_f64()) {
        300
    } else {
        5000
    }
}

fn table(config: ControllerConfig) -> String {
    let mut unit = ControlUnit::new(config, TARGET);
    step(
        &mut unit,
        Time::ZERO,
        Wake::Input(ControlInput::Rtt(RTT)),
        &mut |_| {},
    );
    let mut text = String::from("       s  measured  windows  connections\n");
    let mut before = Time::ZERO;
    while let Some(deadline) = unit.deadline().filter(|d| d.at.as_secs_f64() < 60.0) {
        let now = deadline.at;
        let by_window = |window: u32| u64::from(window) * 8_000_000_000 / RTT.0;
        let rate: u64 = unit
            .wanted()
            .iter()
            .map(|w| by_window(w).min(capacity(now)))
            .sum();
        let bytes = rate * 125 * now.since(before).0 / 1_000_000_000;
        let data = ControlInput::Delivered(Bytes(bytes));
        step(&mut unit, now, Wake::Input(data), &mut |_| {});
        step(&mut unit, now, Wake::Timeout, &mut |decision| {
            let measured = decision.sample.unwrap().throughput.0 / 1000;
            let (sum, n) = (decision.wanted.sum(), decision.wanted.connections());
            let s = now.as_secs_f64();
            writeln!(text, "{s:>8.2} {measured:>9} {sum:>8} {n:>12}").unwrap();
        });
        before = now;
    }
    text
}

/// The rows of `table` before 10 s: time, measured kb/s and sum of windows.
fn rows_before_congestion(table: &str) -> Vec<(f64, u32, u32)> {
    let rows = table.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| cells[n].parse().unwrap();
        (cells[0].parse().unwrap(), number(1), number(2))
    });
    rows.take_while(|(at, ..)| *at < 10.0).collect()
}

/// 8 segments of 1000 B in 80 ms are 800 kb/s.
#[test]
fn without_congestion_the_initial_windows_reach_the_target() {
    for config in [adjust(2, TABLE_1), varied(1)] {
        let table = table(config);
        let rows = rows_before_congestion(&table);
        assert!(rows.len() > 15, "{table}");
        let is_on_target =
            |(_, measured, windows): &(f64, u32, u32)| (*measured, *windows) == (800, 8);
        assert!(rows.iter().all(is_on_target), "{table}");
    }
}

#[test]
fn windows_and_connections_during_30_s_of_congestion() {
    insta::assert_snapshot!("adjust_window", table(adjust(2, TABLE_1)));
    insta::assert_snapshot!("varied_connections", table(varied(1)));
}
