//! Receiver windows that change.

use polypath_sim::tcp::{SegmentKind, TcpEvent};
use polypath_sim::{FlowCounters, NetworkEvent};

use crate::recorder::{Recorder, network};

/// The right edge in each ACK.
fn edges(recorder: &Recorder) -> Vec<u32> {
    let segments = recorder.arrived(SegmentKind::Ack);
    let segments = segments.filter_map(|(_, packet)| packet.segment);
    segments.map(|ack| ack.number + ack.window).collect()
}

#[test]
fn a_receiver_window_that_changes_limits_the_rate_and_takes_nothing_back() {
    let changes = r#"tcp = { receiver_window = 40 }
receiver_window = [{ at = "2 s", window = 5 }, { at = "4 s", window = 30 }]"#;
    let network = network("{ kind = \"ftp\" }", changes);
    let (recorder, outcome) = Recorder::of(&network);
    // A round trip is 100 ms of propagation, 0.8 ms of a segment and 0.032 ms of an ACK.
    let segments = |span: &FlowCounters| span.goodput / 1000;
    let spans: Vec<u64> = outcome.flows[0].spans.iter().map(segments).collect();
    let of = |from: usize, to: usize| spans[from..to].iter().sum::<u64>() as f64;
    for (rate, window) in [
        (of(4, 8), 40.0),
        (of(9, 16) * 4.0 / 7.0, 5.0),
        (of(17, 20) * 4.0 / 3.0, 30.0),
    ] {
        let wanted = window / 0.100_832;
        assert!((rate / wanted - 1.0).abs() < 0.1, "{rate}, not {wanted}");
    }
    assert!(edges(&recorder).is_sorted(), "an edge moved back");
    let all: FlowCounters = outcome.flows[0].spans.iter().copied().sum();
    assert_eq!((all.sender.retransmitted, all.sender.timeouts), (0, 0));
    let reported = recorder.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Tcp {
            connection: 1,
            event: TcpEvent::ReceiverWindow { window },
            ..
        } => Some((at.0 / 1_000_000_000, *window)),
        _ => None,
    });
    assert_eq!(reported.collect::<Vec<_>>(), [(2, 5), (4, 30)]);
}

/// At every change connections are opening and data is in flight.
#[test]
fn a_window_that_shrinks_loses_nothing_that_was_offered() {
    let changes: Vec<String> = (1..490)
        .map(|n| format!("{{ at = \"{} ms\", window = {} }}", 10 * n, 1 + 7 * n % 13))
        .collect();
    let traffic = "{ kind = \"sessions\", idle = \"20 ms\", file = { mu = 9.0, sigma = 1.0 } }";
    for set_up in [true, false] {
        let keys = format!(
            "count = 4\ntcp = {{ set_up = {set_up}, initial_window = 9 }}\nreceiver_window = [{}]",
            changes.join(", ")
        );
        let (_, outcome) = Recorder::of(&network(traffic, &keys));
        let spans = outcome.flows.iter().flat_map(|flow| &flow.spans);
        let all: FlowCounters = spans.copied().sum();
        assert!(all.sender.sent > 500, "{all:?}");
        assert_eq!((all.sender.retransmitted, all.sender.timeouts), (0, 0));
    }
}
