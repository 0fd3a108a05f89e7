//! Spaced packets of an endpoint, over one path.

use alloc::vec;

use super::network::{Network, TestPath};
use super::*;
use crate::liveness::LivenessConfig;
use crate::spacing::{AdaptiveConfig, ControlConfig, SpacingConfig, SpacingStatistics};
use crate::units::Rate;

fn spaced(control: ControlConfig) -> EndpointConfig {
    EndpointConfig {
        spacing: Some(SpacingConfig::new(control)),
        ..config(PolicyConfig::single_path(0))
    }
}

fn damped(initial: Duration) -> ControlConfig {
    ControlConfig::Damped(AdaptiveConfig {
        initial,
        ..AdaptiveConfig::default()
    })
}

/// A path of 8 Mbit/s with a queue of ten packets.
fn narrow() -> TestPath {
    let mut path = TestPath::limited(20, Rate::from_mbits(8));
    path.max_queue = MS * 14;
    path
}

fn network(end: &EndpointConfig, path: TestPath) -> Network {
    Network::with_config(end, vec![path], 1)
}

fn state(network: &Network) -> SpacingStatistics {
    network.ends[0].spacing_statistics(at(100_000)).unwrap()
}

/// A source ten times as fast as the spacing fills the queue: what has waited for too long gives way,
/// and nothing leaves later than that.
#[test]
fn packets_leave_at_their_spacing_and_wait_for_no_longer_than_allowed() {
    let end = spaced(ControlConfig::Fixed { spacing: MS });
    let mut network = network(&end, TestPath::new(20, never));
    network.interval = Duration::from_micros(100);
    network.stream(3);
    let gaps = network
        .departures
        .windows(2)
        .map(|pair| pair[1].since(pair[0]));
    assert!(gaps.clone().all(|gap| gap >= MS), "{:?}", gaps.min());
    // Those that wait when the source ends leave afterwards.
    let sent = network.departures.len();
    assert!((3000..=3100).contains(&sent), "{sent}");
    let delays = network.delays_of_media(at(1500));
    let arrived = delays.iter().filter(|delay| **delay < Duration::MAX);
    let latest = arrived.max().unwrap();
    assert!((MS * 110..=MS * 121).contains(latest), "{latest}");
    let dropped = usize::try_from(state(&network).dropped).unwrap();
    assert_eq!(dropped + sent, network.sent.len());
}

/// Bursts of video, of 20 packets every 40 ms, pass a queue of ten packets.
#[test]
fn bursts_of_a_live_source_are_spread() {
    let lost = |end: &EndpointConfig| {
        let mut network = network(end, narrow());
        (network.burst, network.interval) = (20, MS * 40);
        network.stream(20);
        let delays = network.delays_of_media(at(3000));
        let lost = delays
            .iter()
            .filter(|delay| **delay == Duration::MAX)
            .count();
        lost as f64 / delays.len() as f64
    };
    let plain = lost(&config(PolicyConfig::single_path(0)));
    let spaced = lost(&spaced(damped(Duration::ZERO)));
    std::println!("lost: {plain:.3} without spacing, {spaced:.4} with");
    assert!(plain > 0.3, "{plain}");
    assert!(spaced < 0.02, "{spaced}");
}

/// A source slower than its spacing does not lower it.
#[test]
fn a_slow_source_does_not_lower_the_spacing() {
    let mut network = network(&spaced(damped(MS * 5)), TestPath::new(20, never));
    network.interval = MS * 20;
    network.stream(10);
    let state = state(&network);
    assert_eq!(state.spacing, MS * 5);
    // 1344 B in 5 ms.
    assert_eq!(state.rate, Some(Rate(2_150_400)));
    assert_eq!(state.dropped, 0);
}

/// A fast one that loses nothing does: by 2 us in each round-trip time.
#[test]
fn a_source_that_waits_lowers_the_spacing() {
    let mut network = network(&spaced(damped(MS * 5)), TestPath::new(20, never));
    network.interval = MS * 4;
    network.stream(10);
    let lowered = MS * 5 - state(&network).spacing;
    let reports = 10_000 / 40;
    let steps = lowered.0 / 2000;
    assert!((reports - 30..=reports + 5).contains(&steps), "{steps}");
}

/// Repairs count as losses.
#[test]
fn repairs_do_not_hide_losses_from_the_spacing() {
    let end = EndpointConfig {
        spacing: Some(SpacingConfig::new(damped(Duration::ZERO))),
        ..config(PolicyConfig::InTime(policy(200, 10)))
    };
    let mut network = network(&end, TestPath::new(20, random));
    network.stream(10);
    assert_eq!(
        network.lost().count(),
        usize::try_from(state(&network).dropped).unwrap()
    );
    assert!(state(&network).spacing > Duration::ZERO);
}

fn data(outputs: &[Output<Packet>]) -> usize {
    let is_data = |output: &&Output<Packet>| matches!(output, Output::Transmit(frame) if frame.body.kind() == FrameKind::Data);
    outputs.iter().filter(is_data).count()
}

fn packet(number: u32) -> Wake<Input<Packet>> {
    Wake::Input(Input::Packet {
        meta: meta(Kind::Opaque, 1000),
        payload: Packet(number, 1000),
    })
}

/// A peer that gives no feedback gets the packets at the first spacing.
#[test]
fn without_feedback_the_spacing_stays() {
    let mut end = Endpoint::new(&spaced(damped(MS))).unwrap();
    let before = wake(&mut end, at(0), packet(0));
    assert_eq!(data(&before), 0, "no round-trip time");
    assert_eq!(data(&wake(&mut end, at(0), packet(1))), 0);
    let input = |gives| Wake::Input(Input::PeerSpacing(gives));
    let unavailable = wake(&mut end, at(1), input(false));
    assert_eq!(data(&unavailable), 1);
    assert!(unavailable.contains(&Output::Event(Event::SpacingUnavailable)));
    assert_eq!(end.deadline().unwrap().at, at(2));
    // Another version of the peer gives it: a ping goes out, and packets do not wait for its answer.
    let available = wake(&mut end, at(2), input(true));
    let is_ping = |output: &Output<Packet>| matches!(output, Output::Transmit(frame) if frame.body.kind() == FrameKind::Spacing);
    assert!(available.iter().any(is_ping), "{available:?}");
    assert_eq!(data(&available), 1);
}

/// A reload changes the spacing of a stream under way: feedback goes on, and no packet waits for a
/// measurement.
#[test]
fn a_reload_changes_the_spacing() {
    let reload = |from: &EndpointConfig, to: &EndpointConfig| {
        let mut network = network(from, TestPath::new(20, never));
        network.interval = MS * 4;
        let adjust = Input::Adjust(Adjustment::new(&of_network(to)).unwrap());
        network.input = Some((at(5000), 0, adjust));
        network.stream(10);
        let late = network.late(MS * 40);
        let steps = (MS * 5).0.saturating_sub(state(&network).spacing.0) / 2000;
        (late, steps)
    };
    let plain = config(PolicyConfig::single_path(0));
    let slow = spaced(damped(MS * 6));
    let fixed = spaced(ControlConfig::Fixed { spacing: MS });
    let adaptive = spaced(damped(MS * 5));
    // 6 s of feedback every 40 ms.
    for (from, most_late) in [(&plain, 0.001), (&fixed, 0.001)] {
        let (late, steps) = reload(from, &adaptive);
        assert!((130..=155).contains(&steps), "{steps}");
        // Packets come every 4 ms, and leave every 5 ms.
        let _ = most_late;
        assert!(late < 0.7, "{late}");
    }
    let (_, steps) = reload(&slow, &adaptive);
    assert!((130..=155).contains(&steps), "{steps}");
    let mut network = network(&slow, TestPath::new(20, never));
    let adjust = Input::Adjust(Adjustment::new(&of_network(&plain)).unwrap());
    network.input = Some((at(5000), 0, adjust));
    network.stream(10);
    assert!(network.ends[0].spacing_statistics(at(0)).is_none());
    // No feedback is requested any more.
    let feedback = network.bytes[&FrameKind::Spacing];
    let of_4_s = 100 * (73 + 60);
    assert!(feedback < of_4_s * 11 / 10, "{feedback}");
}

/// The configuration of an end in a network of one path.
fn of_network(end: &EndpointConfig) -> EndpointConfig {
    EndpointConfig {
        paths: 1,
        liveness: Some(LivenessConfig::default()),
        ..end.clone()
    }
}

/// A receiver that restarts counts from somewhere: its feedback is applied again.
#[test]
fn feedback_goes_on_after_a_restart_of_the_receiver() {
    let end = || Endpoint::new(&of_network(&spaced(damped(MS * 5)))).unwrap();
    let mut ends = [end(), end()];
    let mut applied = [0_u32; 2];
    for ms in 0..20_000 {
        let now = at(ms);
        let mut wakes = vec![(0, Wake::Timeout), (1, Wake::Timeout)];
        if ms == 10_000 {
            ends[1] = end();
            wakes.push((0, Wake::Input(Input::PeerRestarted)));
        }
        if ms % 4 == 0 {
            wakes.push((0, packet(u32::try_from(ms).unwrap())));
        }
        // Frames arrive at once.
        while let Some((to, what)) = wakes.pop() {
            for output in wake(&mut ends[to], now, what) {
                match output {
                    Output::Transmit(frame) => {
                        wakes.insert(0, (1 - to, Wake::Input(Input::Frame(frame))));
                    }
                    Output::Event(Event::SpacingFeedback { sent, received, .. }) => {
                        assert_eq!(sent, received);
                        applied[usize::from(ms >= 10_000)] += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    std::println!("feedback before and after: {applied:?}");
    assert!(applied[0] > 100 && applied[1] * 10 > applied[0] * 9);
}
