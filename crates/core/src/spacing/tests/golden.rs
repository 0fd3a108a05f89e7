//! Golden tables of both protocols under the same pattern of losses.

use core::fmt::Write;

use super::*;

/// Loses each tenth packet sent with a spacing below 90 us.
fn pattern(state: loopback::State, header: &SpacedHeader) -> Vec<Duration> {
    let lost = state.spacing < US * 90 && header.sequence % 10 == 9;
    if lost { vec![] } else { vec![ONE_WAY] }
}

fn table(control: ControlConfig) -> String {
    let receiver = SpacedReceiver::new(0);
    let back = |_: loopback::State| vec![ONE_WAY];
    let mut network = Loopback::new(sender(control), receiver, pattern, back);
    network.run(at(30));
    let mut text = String::from("      RTT  sent  rcvd  by clock     spacing\n");
    for (now, adjustment, spacing, readings) in applied(&network) {
        let rtts = now.as_secs_f64() / RTT.as_secs_f64();
        let (range, clock) = (readings.range, readings.clock);
        let by_clock = format!("{}/{}", clock.sent, clock.received);
        let adjustment = format!("{adjustment:?}").to_lowercase();
        writeln!(
            text,
            "{rtts:>9.3} {:>5} {:>5} {by_clock:>9}  {spacing:>10}  {adjustment}",
            range.sent, range.received,
        )
        .unwrap();
    }
    text
}

#[test]
fn ad_hoc_and_damped_under_the_same_losses() {
    let literal = AdaptiveConfig {
        step: US * 10,
        attribution: Attribution::Latest,
        ..AdaptiveConfig::default()
    };
    let when_sent = AdaptiveConfig {
        attribution: Attribution::WhenSent,
        ..literal
    };
    for (name, control) in [
        ("ad_hoc", ControlConfig::AdHoc(when_sent)),
        ("ad_hoc_literal", ControlConfig::AdHoc(literal)),
        ("damped", ControlConfig::Damped(when_sent)),
        ("damped_literal", ControlConfig::Damped(literal)),
    ] {
        insta::assert_snapshot!(name, table(control));
    }
}
