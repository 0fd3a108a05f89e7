use super::*;

fn report(lost: bool, packets: core::ops::Range<u64>, next_sequence: u64) -> FeedbackReport {
    let sent = packets.end - packets.start;
    FeedbackReport {
        reading: PacketCounts {
            sent,
            received: sent - u64::from(lost),
        },
        end: packets.end,
        newest_lost: lost.then_some(packets.end - 1),
        next_sequence,
        rtt: RTT,
        sample: None,
        is_application_limited: false,
    }
}

/// The spacing in us after each report; each covers the packets sent since the one before.
fn spacings(control: ControlConfig, losses: &[bool]) -> Vec<u64> {
    let mut control = control.build();
    let step = |(i, &lost): (usize, &bool)| {
        let first = i as u64 * 10;
        control.handle_feedback(Time::ZERO, &report(lost, first..first + 10, first + 10));
        control.spacing(Time::ZERO).0 / 1000
    };
    losses.iter().enumerate().map(step).collect()
}

#[test]
fn spacings_follow_fig_4() {
    let losses = [true, true, true, false, false, true];
    let spacings = spacings(ad_hoc(Attribution::WhenSent), &losses);
    assert_eq!(spacings, [50, 100, 200, 198, 196, 392]);
}

/// Claim `psp.seven_rtts`, counted in reports of losses at the spacing in force.
#[test]
fn seven_losses_raise_the_spacing_above_2000_us() {
    for control in [ad_hoc(Attribution::WhenSent), damped(Attribution::WhenSent)] {
        let spacings = spacings(control, &[true; 13]);
        assert_eq!(spacings[5], 1600);
        assert_eq!(spacings[6], 3200);
        assert_eq!(spacings[12], 84_000, "one round-trip time at most");
    }
}

#[test]
fn the_spacing_never_falls_below_zero() {
    let mut losses = vec![true];
    losses.extend([false; 40]);
    for control in [ad_hoc(Attribution::WhenSent), damped(Attribution::Latest)] {
        let spacings = spacings(control, &losses);
        assert_eq!((spacings[24], spacings[25], spacings[40]), (2, 0, 0));
    }
}

#[test]
fn damping_reverts_the_decrease_that_led_to_loss_and_doubles_otherwise() {
    let losses = [true, false, true, true, false, false, true, false];
    for attribution in [Attribution::WhenSent, Attribution::Latest] {
        let spacings = spacings(damped(attribution), &losses);
        assert_eq!(spacings, [50, 48, 50, 100, 98, 96, 98, 96]);
    }
}

#[test]
fn a_loss_belongs_to_the_spacing_in_force_when_the_packet_was_sent() {
    for (attribution, expected) in [(Attribution::WhenSent, 50), (Attribution::Latest, 100)] {
        let mut control = ad_hoc(attribution).build();
        control.handle_feedback(Time::ZERO, &report(true, 0..10, 20));
        control.handle_feedback(Time::ZERO, &report(true, 10..20, 30));
        assert_eq!(control.spacing(Time::ZERO), US * expected);
    }
}

#[test]
fn several_decreases_are_reverted_to_the_last_spacing_without_loss() {
    let mut control = damped(Attribution::WhenSent).build();
    control.handle_feedback(Time::ZERO, &report(true, 0..10, 20));
    for i in 2..6 {
        control.handle_feedback(Time::ZERO, &report(false, i * 10..i * 10 + 10, i * 10 + 20));
    }
    assert_eq!(control.spacing(Time::ZERO), US * 42);
    // Packets 60 to 69 were sent at 44 us; the earlier ones at 46 us.
    let adjustment = control.handle_feedback(Time::ZERO, &report(true, 60..70, 90));
    assert_eq!(control.spacing(Time::ZERO), US * 46);
    assert_eq!(adjustment, SpacingChange::Reverted);
    let predates = control.handle_feedback(Time::ZERO, &report(true, 70..90, 100));
    assert_eq!(predates, SpacingChange::Held);
    let again = control.handle_feedback(Time::ZERO, &report(true, 90..100, 110));
    assert_eq!(
        (again, control.spacing(Time::ZERO)),
        (SpacingChange::Raised, US * 92)
    );
}

#[test]
fn remembered_decreases_are_bounded() {
    let config = AdaptiveConfig {
        initial: MS * 80,
        ..AdaptiveConfig::default()
    };
    let mut damped = Damped::new(config);
    for i in 0..1000 {
        // Reports lag so far behind that none covers the latest decreases.
        damped.handle_feedback(Time::ZERO, &report(false, i..i + 1, 1_000_000 + i));
        assert!(damped.remembered() <= 64);
    }
    damped.handle_feedback(Time::ZERO, &report(true, 1000..1_000_001, 1_001_000));
    assert_eq!(damped.spacing(Time::ZERO), MS * 80);
}
