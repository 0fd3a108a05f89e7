//! The receiver's estimate of the round-trip time.

use polypath_sim::NetworkEvent;
use polypath_sim::tcp::TcpEvent;

use crate::recorder::{Recorder, network, network_set};

#[test]
fn a_receiver_whose_window_limits_the_sender_measures_the_round_trip() {
    let network = network("{ kind = \"ftp\" }", "tcp = { receiver_window = 40 }");
    let (recorder, outcome) = Recorder::of(&network);
    let estimates = &outcome.flows[0].receiver_rtts;
    let last = estimates.last().copied().flatten().unwrap();
    assert!((last - 0.100_832).abs() < 1e-9, "{last}");
    let reported = recorder.0.iter().filter_map(|(_, event)| match event {
        NetworkEvent::Tcp {
            event: TcpEvent::ReceiverRtt { rtt, least },
            ..
        } => Some((rtt.as_secs_f64(), least.as_secs_f64())),
        _ => None,
    });
    let reported: Vec<_> = reported.collect();
    assert!(
        (40..50).contains(&reported.len()),
        "one a window: {reported:?}"
    );
    assert!(
        reported.iter().all(|(rtt, least)| rtt >= least),
        "{reported:?}"
    );
    assert!((reported.last().unwrap().0 - 0.100_832).abs() < 1e-9);
}

/// A SYN takes 50.032 ms, in which the receiver still has the previous connection.
#[test]
fn an_estimate_of_the_round_trip_ends_with_its_connection() {
    let traffic = "{ kind = \"sessions\", idle = \"20 ms\", file = { mu = 10.0, sigma = 1.0 } }";
    let network = network_set(
        traffic,
        "tcp = { receiver_window = 4 }",
        &["run.batches=1000"],
    );
    let (recorder, outcome) = Recorder::of(&network);
    let estimates = &outcome.flows[0].receiver_rtts;
    let measured = |wanted: u32| {
        recorder.0.iter().any(|(_, event)| match event {
            NetworkEvent::Tcp {
                connection,
                event: TcpEvent::ReceiverRtt { .. },
                ..
            } => *connection == wanted,
            _ => false,
        })
    };
    let span = |at: u64| usize::try_from(at / 5_000_000).unwrap();
    let mut known = 0;
    for (at, connection, _, took) in recorder.finished() {
        let began = span(at - took);
        let set_up = &estimates[began + 1..began + 10];
        assert!(set_up.iter().all(Option::is_none), "{connection} {began}");
        if measured(connection) {
            assert!(estimates[span(at) - 1].is_some(), "{connection}");
            known += 1;
        }
    }
    assert!(known > 3, "{known}");
}
