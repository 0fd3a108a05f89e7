//! Streams over several connections.

use polypath_core::connections::{ControlDecision, PlayOutEvent};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_sim::tcp::SegmentKind;
use polypath_sim::{
    AgentEvent, FlowCounters, NetworkEvent, NetworkOutcome, StreamEvent, run_network,
};

use crate::recorder::{Recorder, network, network_set};

/// Media of 4 Mbit/s under a controller, with further keys.
fn stream(controller: &str, more: &str) -> String {
    format!(r#"{{ kind = "striped", rate = "4 Mbit/s", controller = {{ {controller} }}{more} }}"#)
}

fn totals(outcome: &NetworkOutcome) -> FlowCounters {
    outcome.flows[0].spans.iter().copied().sum()
}

fn controlled(recorder: &Recorder) -> Vec<(Time, ControlDecision)> {
    let reported = recorder.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Agent {
            event: AgentEvent::Stream(StreamEvent::Controlled(controlled)),
            ..
        } => Some((*at, *controlled)),
        _ => None,
    });
    reported.collect()
}

/// One connection with a constant window is an FTP that starts when the request arrives: the same
/// segments at the same times, whatever the losses and recoveries.
#[test]
fn a_single_connection_is_a_plain_one() {
    // The request takes 32 us on the wire and 50 ms.
    let late = "start = \"50032 us\"\n";
    for variant in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        let hosts = format!("tcp = {{ variant = \"{variant}\", receiver_window = 200 }}");
        let fixed = stream(
            r#"kind = "fixed-windows", connections = 1, window = 200"#,
            "",
        );
        let sets = ["link.narrow.queue=20 packets", "run.duration=20 s"];
        let striped = Recorder::of(&network_set(&fixed, &hosts, &sets));
        let plain = network_set("{ kind = \"ftp\" }", &format!("{late}{hosts}"), &sets);
        let plain = Recorder::of(&plain);
        let segments = |recorder: &Recorder| -> Vec<(Time, u32)> {
            let data = recorder.arrived(SegmentKind::Data);
            data.map(|(at, packet)| (at, packet.number)).collect()
        };
        let (a, b) = (segments(&striped.0), segments(&plain.0));
        let first = a.iter().zip(&b).find(|(a, b)| a != b);
        assert_eq!(first, None, "{variant}");
        assert!(a.len() > 10_000 && a.len() == b.len(), "{variant}");
        let (a, b) = (totals(&striped.1), totals(&plain.1));
        assert!(a.sender.retransmitted > 10, "{variant}");
        assert_eq!((a.sender, a.goodput), (b.sender, b.goodput), "{variant}");
    }
}

/// Over five connections with losses all data is delivered in order, however small the reordering
/// buffer is.
#[test]
fn data_of_several_connections_is_delivered_in_order_with_any_buffer() {
    for buffer in [1, 7, 4096] {
        let controller = r#"kind = "fixed-windows", connections = 5, window = 20"#;
        let traffic = stream(controller, &format!(", buffer = {buffer}"));
        let sets = ["link.narrow.queue=20 packets", "run.duration=60 s"];
        let (_, outcome) = Recorder::of(&network_set(&traffic, "", &sets));
        let total = totals(&outcome);
        assert!(total.sender.retransmitted > 20, "{total:?}");
        let share = total.goodput as f64 * 8.0 / 60.0 / 10e6;
        let least = if buffer < 100 { 0.05 } else { 0.7 };
        assert!(share > least && share <= 1.0, "{buffer}: {share}");
    }
}

/// The rate reaches the target where capacity suffices, and connections open and close with
/// congestion.
#[test]
fn the_receiver_sets_the_rate() {
    let aims = [
        r#"kind = "adjust-window", connections = 3"#,
        r#"kind = "varied-connections""#,
    ];
    for controller in aims {
        let sets = ["run.duration=100 s", "run.warm_up=20 s"];
        let (recorder, outcome) = Recorder::of(&network_set(&stream(controller, ""), "", &sets));
        let rate = totals(&outcome).goodput as f64 * 8.0 / 80.0;
        assert!((3.8e6..4.2e6).contains(&rate), "{controller}: {rate}");
        let reported = controlled(&recorder);
        assert_eq!(
            reported[0].0,
            Time(100_064_000),
            "the set-up is a round trip"
        );
        let interval = reported[2].0.since(reported[1].0);
        assert_eq!(interval, Duration(reported[1].1.sample.unwrap().rtt.0 * 6));
    }
}

#[test]
fn connections_are_added_where_one_is_limited_and_a_run_repeats() {
    let controller = r#"kind = "varied-connections", control = { smoothing = 0.0 }"#;
    let traffic = stream(controller, r#", connection_limit = "1.5 Mbit/s""#);
    let network = network_set(&traffic, "", &["run.duration=60 s", "run.warm_up=30 s"]);
    let (recorder, outcome) = Recorder::of(&network);
    let (again, _) = Recorder::of(&network);
    assert_eq!(recorder.0, again.0);
    let most = controlled(&recorder)
        .iter()
        .map(|(_, reported)| reported.wanted.connections())
        .max();
    assert!(most >= Some(3), "{most:?}");
    let rate = totals(&outcome).goodput as f64 * 8.0 / 30.0;
    assert!((3.6e6..4.6e6).contains(&rate), "{rate}");
    // A connection never carries more than its limit.
    let mut first = Vec::new();
    for (at, packet) in recorder.arrived(SegmentKind::Data) {
        if packet
            .segment
            .is_some_and(|segment| segment.connection == 1)
            && packet.number > 0
        {
            first.push(at);
        }
    }
    let spacing = Duration(8_000_000_000_000 / 1_500_000_000 * 1000);
    let fastest = first
        .windows(20)
        .map(|run| run[19].since(run[0]))
        .min()
        .unwrap();
    assert!(fastest + spacing >= spacing * 18, "{fastest}");
}

/// A lost request or SYN is repeated, and a closed connection still delivers the data that it was
/// offered.
#[test]
fn an_outage_stops_the_player_and_nothing_for_good() {
    let play = r#", play_out = { prebuffer = "2 s", rebuffer = "3 s" }"#;
    let traffic = stream(r#"kind = "adjust-window", connections = 3"#, play);
    let outage = r#"link.narrow.outage=[{ from = "0 s", until = "100 ms" }, { from = "15 s", until = "25 s" }]"#;
    let sets = [outage, "run.duration=60 s"];
    let (recorder, outcome) = Recorder::of(&network_set(&traffic, "", &sets));
    let reported = recorder.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Agent {
            event: AgentEvent::Stream(StreamEvent::Player(event)),
            ..
        } => Some((at.as_secs_f64(), *event)),
        _ => None,
    });
    let reported: Vec<(f64, PlayOutEvent)> = reported.collect();
    assert_eq!(reported[0].1, PlayOutEvent::Plays);
    assert!(
        (3.0..8.0).contains(&reported[0].0),
        "after 3 s of timeout: {reported:?}"
    );
    assert_eq!(reported[1].1, PlayOutEvent::Stops);
    assert!((15.0..20.0).contains(&reported[1].0), "{reported:?}");
    assert_eq!(reported[2].1, PlayOutEvent::Plays);
    assert!(reported[2].0 >= reported[1].0 + 3.0, "{reported:?}");
    let stops: u32 = outcome.flows[0].streams.iter().map(|span| span.stops).sum();
    let observed_stops = reported
        .iter()
        .filter(|(_, event)| *event == PlayOutEvent::Stops);
    assert_eq!(stops as usize, observed_stops.count());
    let connections = outcome.flows[0].streams[10].connections;
    assert_eq!(connections, Some(3.0));
    assert!(totals(&outcome).goodput > 15_000_000, "{outcome:?}");
}

/// Each of three outages takes more than half of the buffer: a later one stops a player whose buffer did
/// not fill again in between.
#[test]
fn a_buffer_that_refills_survives_later_outages() {
    let stops = |refill: u32, starts: [u32; 3]| {
        let play =
            format!(r#", play_out = {{ prebuffer = "6 s", rebuffer = "1 s", refill = {refill} }}"#);
        let traffic = stream(r#"kind = "adjust-window", connections = 3"#, &play);
        let outages =
            starts.map(|from| format!(r#"{{ from = "{from} s", until = "{} s" }}"#, from + 4));
        let outages = format!("link.narrow.outage=[{}]", outages.join(", "));
        let sets = [outages.as_str(), "run.duration=120 s"];
        let (_, outcome) = Recorder::of(&network_set(&traffic, "", &sets));
        let streams = &outcome.flows[0].streams;
        streams.iter().map(|span| span.stops).sum::<u32>()
    };
    for starts in [[20, 40, 60], [20, 50, 80]] {
        assert!(stops(0, starts) > 0, "{starts:?}");
        assert_eq!(stops(50, starts), 0, "{starts:?}");
    }
}

#[test]
fn a_stream_that_stops_sends_nothing_new() {
    let traffic = stream(r#"kind = "varied-connections", connections = 4"#, "");
    let (recorder, _) = Recorder::of(&network(&traffic, "stop = \"2 s\""));
    let last = recorder.arrived(SegmentKind::Data).last().unwrap().0;
    assert!((2.0..2.3).contains(&last.as_secs_f64()), "{last}");
    let controls = controlled(&recorder);
    assert!(controls.last().unwrap().0 < Time(2_000_000_000));
    let outcome = run_network(&network(&traffic, "start = \"3 s\""), Seed(1), &mut ()).unwrap();
    assert_eq!(
        outcome.flows[0].spans[..12]
            .iter()
            .map(|s| s.goodput)
            .sum::<u64>(),
        0
    );
}

/// The ACK of the last segment of a connection is delayed like any other, and sent.
#[test]
fn a_connection_that_ends_owes_no_ack() {
    let control = r#"control = { smoothing = 0.0, guard = "1 kbit/s" }"#;
    let variation = "variation = { damping = 50.0, congestion_factor = 1.0 }";
    let controller =
        format!(r#"kind = "varied-connections", connections = 9, {control}, {variation}"#);
    let hosts = r#"tcp = { delayed_ack = "100 ms", variant = "sack", receiver_window = 200 }"#;
    let sets = ["link.narrow.queue=200 packets", "run.duration=120 s"];
    let (recorder, outcome) = Recorder::of(&network_set(&stream(&controller, ""), hosts, &sets));
    let connections = controlled(&recorder);
    let number = |(_, reported): &(Time, ControlDecision)| reported.wanted.connections();
    assert!(connections.iter().map(number).min() < connections.iter().map(number).max());
    assert_eq!(totals(&outcome).sender.timeouts, 0);
}

#[test]
fn a_player_that_has_played_a_stream_to_its_end_has_not_stopped() {
    let play = r#", play_out = { prebuffer = "2 s", rebuffer = "3 s" }"#;
    let traffic = stream(r#"kind = "adjust-window", connections = 3"#, play);
    let (recorder, outcome) = Recorder::of(&network_set(
        &traffic,
        "stop = \"10 s\"",
        &["run.duration=30 s"],
    ));
    let reported = recorder.0.iter().filter_map(|(_, event)| match event {
        NetworkEvent::Agent {
            event: AgentEvent::Stream(StreamEvent::Player(event)),
            ..
        } => Some(*event),
        _ => None,
    });
    assert_eq!(
        reported.collect::<Vec<_>>(),
        [PlayOutEvent::Plays, PlayOutEvent::Ends]
    );
    let stops: u32 = outcome.flows[0].streams.iter().map(|span| span.stops).sum();
    assert_eq!(stops, 0);
}
