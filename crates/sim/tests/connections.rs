//! How connections begin, what their receivers do, and how their files end.

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::tcp::{SegmentKind, TcpEvent};
use polypath_sim::{
    Detail, FlowCounters, FlowPacket, NetworkEvent, NetworkObserver, NetworkOutcome, run_network,
};

fn network(traffic: &str, keys: &str) -> Network {
    network_set(traffic, keys, &[])
}

/// A link of 10 Mbit/s and 50 ms, and a flow over it with further keys; `sets` are overrides.
fn network_set(traffic: &str, keys: &str, sets: &[&str]) -> Network {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let text = format!(
        r#"schema = 1
name = "small"
run = {{ duration = "5 s" }}
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "50 ms"
queue = "50 packets"
[[flow]]
name = "f"
from = "a"
to = "b"
traffic = {traffic}
{keys}
"#
    );
    Network::parse(&text, "net.toml", &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Keeps all that is said.
#[derive(Default)]
struct Heard(Vec<(Time, NetworkEvent)>);

impl NetworkObserver for Heard {
    fn on_progress(&mut self, _now: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            tcp: true,
            packets: true,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        self.0.push((at, *event));
    }
}

impl Heard {
    fn of(network: &Network) -> (Self, NetworkOutcome) {
        let mut heard = Self::default();
        let outcome = run_network(network, Seed(1), &mut heard).unwrap();
        (heard, outcome)
    }

    /// The packets of a kind that arrived, in the order of time.
    fn arrived(&self, kind: SegmentKind) -> impl Iterator<Item = (Time, FlowPacket)> {
        self.0.iter().filter_map(move |(at, event)| match event {
            NetworkEvent::Arrived { packet, .. }
                if packet.segment.is_some_and(|segment| segment.kind == kind) =>
            {
                Some((*at, *packet))
            }
            _ => None,
        })
    }
}

/// When each segment arrives in ms and which it is, of a file of 20 segments.
fn arrivals(keys: &str) -> Vec<(f64, u32)> {
    let network = network("{ kind = \"file\", size = \"20 kB\" }", keys);
    let (heard, _) = Heard::of(&network);
    let number = |(at, packet): (Time, FlowPacket)| {
        let number = packet.segment.unwrap().number;
        (at.as_secs_f64() * 1e3, number)
    };
    heard.arrived(SegmentKind::Data).map(number).collect()
}

/// The times are those of ns-2 2.35 (`Agent/TCP/Reno`, `syn_` and `delay_growth_ false`, `windowInit_ 4`, `produce 20`).
#[test]
fn without_set_up_the_initial_window_goes_at_once_as_in_ns2() {
    let ns2 = [
        (50.8, 0),
        (51.6, 1),
        (52.4, 2),
        (53.2, 3),
        (151.632, 4),
        (152.432, 5),
        (153.232, 6),
        (154.032, 7),
        (154.832, 8),
        (155.632, 9),
        (156.432, 10),
        (157.232, 11),
        (252.464, 12),
        (253.264, 13),
        (254.064, 14),
        (254.864, 15),
        (255.664, 16),
        (256.464, 17),
        (257.264, 18),
        (258.064, 19),
    ];
    let ours = arrivals("tcp = { set_up = false, initial_window = 4 }");
    assert_eq!(ours.len(), ns2.len());
    for ((at, number), (wanted, segment)) in ours.iter().zip(ns2) {
        assert!(
            (at - wanted).abs() < 1e-3,
            "{number} at {at}, in ns-2 {wanted}"
        );
        assert_eq!(*number, segment);
    }
    let with = arrivals("tcp = { initial_window = 4 }");
    assert_eq!((with.len(), with[0].1), (21, 0), "a SYN, and the file");
    assert!(
        (with[0].0 - 50.032).abs() < 1e-9,
        "a SYN is as long as an ACK"
    );
}

/// The right edge that each ACK says.
fn edges(heard: &Heard) -> Vec<u32> {
    let segments = heard.arrived(SegmentKind::Ack);
    let segments = segments.filter_map(|(_, packet)| packet.segment);
    segments.map(|ack| ack.number + ack.window).collect()
}

#[test]
fn a_receiver_window_that_changes_limits_the_rate_and_takes_nothing_back() {
    let changes = r#"tcp = { receiver_window = 40 }
receiver_window = [{ at = "2 s", window = 5 }, { at = "4 s", window = 30 }]"#;
    let network = network("{ kind = \"ftp\" }", changes);
    let (heard, outcome) = Heard::of(&network);
    // A window goes in 100 ms of propagation, 0.8 ms of a segment and 0.032 ms of an ACK.
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
    assert!(edges(&heard).is_sorted(), "an edge moved back");
    let all: FlowCounters = outcome.flows[0].spans.iter().copied().sum();
    assert_eq!((all.sender.retransmitted, all.sender.timeouts), (0, 0));
    let said = heard.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Tcp {
            connection: 1,
            event: TcpEvent::ReceiverWindow { window },
            ..
        } => Some((at.0 / 1_000_000_000, *window)),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), [(2, 5), (4, 30)]);
}

/// Connections open and data is under way at every change.
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
        let (_, outcome) = Heard::of(&network(traffic, &keys));
        let spans = outcome.flows.iter().flat_map(|flow| &flow.spans);
        let all: FlowCounters = spans.copied().sum();
        assert!(all.sender.sent > 500, "{all:?}");
        assert_eq!((all.sender.retransmitted, all.sender.timeouts), (0, 0));
    }
}

#[test]
fn a_receiver_whose_window_limits_the_sender_measures_the_round_trip() {
    let network = network("{ kind = \"ftp\" }", "tcp = { receiver_window = 40 }");
    let (heard, outcome) = Heard::of(&network);
    let estimates = &outcome.flows[0].receiver_rtts;
    let last = estimates.last().copied().flatten().unwrap();
    assert!((last - 0.100_832).abs() < 1e-9, "{last}");
    let said = heard.0.iter().filter_map(|(_, event)| match event {
        NetworkEvent::Tcp {
            event: TcpEvent::ReceiverRtt { rtt, least },
            ..
        } => Some((rtt.as_secs_f64(), least.as_secs_f64())),
        _ => None,
    });
    let said: Vec<_> = said.collect();
    assert!((40..50).contains(&said.len()), "one a window: {said:?}");
    assert!(said.iter().all(|(rtt, least)| rtt >= least), "{said:?}");
    assert!((said.last().unwrap().0 - 0.100_832).abs() < 1e-9);
}

/// A SYN is on the way for 50.032 ms, in which the receiver still holds the connection before.
#[test]
fn an_estimate_of_the_round_trip_ends_with_its_connection() {
    let traffic = "{ kind = \"sessions\", idle = \"20 ms\", file = { mu = 10.0, sigma = 1.0 } }";
    let network = network_set(
        traffic,
        "tcp = { receiver_window = 4 }",
        &["run.batches=1000"],
    );
    let (heard, outcome) = Heard::of(&network);
    let estimates = &outcome.flows[0].receiver_rtts;
    let measured = |wanted: u32| {
        heard.0.iter().any(|(_, event)| match event {
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
    for (at, connection, _, took) in finished(&heard) {
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

/// Two files take what they take by hand: of three segments without set-up, with an initial window of two, two round
/// trips (the first and third segment are on the way for 50.8 ms, their ACKs for 50.032 ms).
#[test]
fn a_file_takes_from_its_start_to_its_last_ack_as_long_as_by_hand() {
    let file = "{ kind = \"file\", size = \"3 kB\" }";
    let keys = "start = \"1 s\"\ntcp = { set_up = false }";
    let (heard, outcome) = Heard::of(&network(file, keys));
    let finished = finished(&heard);
    let (at, connection, size, took) = finished[0];
    assert_eq!((finished.len(), connection, size), (1, 1, 3000));
    assert_eq!(took, 2 * (50_800_000 + 50_032_000));
    assert_eq!(at, 1_000_000_000 + took);
    let files = outcome.flows[0].files.iter();
    let files: Vec<usize> = files.map(|files| files.finished.len()).collect();
    assert_eq!(files.iter().sum::<usize>(), 1);
    assert_eq!(files[4], 1, "1.2 s are in the fifth of 20 spans of 0.25 s");
    let cut = format!("{keys}\nstop = \"1050 ms\"");
    let (heard, outcome) = Heard::of(&network(file, &cut));
    assert!(
        self::finished(&heard).is_empty(),
        "what was cut off is no file"
    );
    let files = &outcome.flows[0].files;
    assert!(files.iter().all(|files| files.finished.is_empty()));
}

/// It begins at 1 s and is finished at 1.2017 s.
#[test]
fn files_that_were_finished_in_the_warm_up_are_left_out() {
    let file = "{ kind = \"file\", size = \"3 kB\" }";
    let keys = "start = \"1 s\"\ntcp = { set_up = false }";
    let counted = |warm_up: &str| {
        let network = network_set(file, keys, &[warm_up]);
        let outcome = Heard::of(&network).1;
        let finished = outcome.flows[0].files.iter().flat_map(|f| &f.finished);
        finished.map(|took| took.as_nanos()).collect::<Vec<_>>()
    };
    let whole = 2 * (50_800_000 + 50_032_000);
    assert_eq!(counted("run.warm_up=1100 ms"), [whole]);
    assert_eq!(counted("run.warm_up=1300 ms"), [0; 0]);
}

#[test]
fn a_file_that_the_end_of_the_run_finds_under_way_is_told() {
    let file = "{ kind = \"file\", size = \"10 MB\" }";
    let keys = "start = \"3 s\"\ntcp = { receiver_window = 120 }";
    let (_, outcome) = Heard::of(&network(file, keys));
    let files = &outcome.flows[0].files;
    assert!(files[..11].iter().all(|files| !files.under_way));
    assert!(files[12..].iter().all(|files| files.under_way));
    assert!(files.iter().all(|files| files.finished.is_empty()));
    let cut = format!("{keys}\nstop = \"4950 ms\"");
    let (heard, outcome) = Heard::of(&network(file, &cut));
    let last = heard.arrived(SegmentKind::Data).last().unwrap().0;
    assert!(last > Time(4_950_000_000), "no ACK of {last:?} is back");
    let files = &outcome.flows[0].files;
    assert!(files[18].under_way && !files[19].under_way, "it is cut off");
}

#[test]
fn every_session_is_finished_or_under_way() {
    let traffic = "{ kind = \"sessions\", idle = \"50 ms\", file = { mu = 9.5, sigma = 1.0 } }";
    let (heard, outcome) = Heard::of(&network(traffic, "count = 20"));
    let mut opened = [0; 20];
    for (_, packet) in heard.arrived(SegmentKind::Data) {
        let connection = packet.segment.unwrap().connection;
        let newest = &mut opened[packet.flow as usize];
        *newest = connection.max(*newest);
    }
    let mut under_way = 0;
    for (flow, opened) in outcome.flows.iter().zip(opened) {
        let finished: usize = flow.files.iter().map(|files| files.finished.len()).sum();
        let last = usize::from(flow.files[19].under_way);
        // The SYN of the last one may still be on the way.
        assert!((0..=last).contains(&(finished + last - opened as usize)));
        under_way += last;
    }
    assert!((3..20).contains(&under_way), "{under_way}");
}

/// When each file was finished, its connection, its size and the time that it took.
fn finished(heard: &Heard) -> Vec<(u64, u32, u64, u64)> {
    let finished = heard.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Tcp {
            connection,
            event: TcpEvent::FileFinished { size, took },
            ..
        } => Some((at.0, *connection, *size, took.as_nanos())),
        _ => None,
    });
    finished.collect()
}

#[test]
fn the_files_of_sessions_add_up_to_their_goodput() {
    let traffic = "{ kind = \"sessions\", idle = \"100 ms\", file = { mu = 9.0, sigma = 1.0 } }";
    let network = network(traffic, "stop = \"3 s\"");
    let (heard, outcome) = Heard::of(&network);
    let finished = finished(&heard);
    let goodput: u64 = outcome.flows[0].spans.iter().map(|span| span.goodput).sum();
    let size: u64 = finished.iter().map(|(_, _, size, _)| size).sum();
    assert!(finished.len() > 5, "{finished:?}");
    assert!(
        size <= goodput && goodput - size < 60_000,
        "{size} of {goodput}"
    );
    let files = outcome.flows[0].files.iter();
    let kept: usize = files.map(|files| files.finished.len()).sum();
    assert_eq!(kept, finished.len());
    assert!(
        finished
            .iter()
            .zip(1..)
            .all(|(file, number)| file.1 == number)
    );
}

/// A voice flow behind one that fills the queue, but for the last second.
#[test]
fn percentiles_of_delays_are_those_of_the_packets_after_the_warm_up() {
    let voice = "{ kind = \"cbr\", packet = \"200 B\", interval = \"10 ms\" }";
    let noise = r#"[[flow]]
name = "noise"
from = "a"
to = "b"
stop = "1 s"
traffic = { kind = "cbr", packet = "1000 B", interval = "500 us" }"#;
    let measured = |sets: &[&str]| {
        Heard::of(&network_set(voice, noise, sets))
            .1
            .delay_percentiles
    };
    assert!(measured(&[]).is_empty());
    let after = measured(&["run.percentiles=true", "run.warm_up=2 s"]);
    let found = after[0].unwrap();
    for delay in [found.p50, found.p95, found.p99] {
        let delay = delay.as_secs_f64();
        assert!((delay / 0.050_16 - 1.0).abs() < 1e-3, "{delay}");
    }
    assert_eq!(after[1], None, "nothing arrived of the noise");
    // The queue is full for a fifth of the time: of 49 packets before a voice packet two or three are of its own flow,
    // with 0.16 ms, the others take 0.8 ms each, and of the one in transmission some is left.
    let all = measured(&["run.percentiles=true"])[0].unwrap();
    assert!(
        (all.p50.as_secs_f64() / 0.050_16 - 1.0).abs() < 1e-3,
        "{all:?}"
    );
    for delay in [all.p95, all.p99] {
        let delay = delay.as_secs_f64();
        assert!((0.0878..0.0888).contains(&delay), "{delay}");
    }
}

#[test]
fn a_link_in_via_carries_the_flow_there_and_back() {
    let second = r#"via = ["other"]
[[link]]
name = "other"
from = "b"
to = "a"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "50 packets"
"#;
    let outcome = Heard::of(&network("{ kind = \"ftp\" }", second)).1;
    let carried = |name: &str| {
        let link = outcome.links.iter().find(|link| link.name == name).unwrap();
        link.spans
            .iter()
            .map(|span| span.packets_delivered)
            .sum::<u64>()
    };
    let packets = ["narrow", "narrow/back", "other", "other/back"].map(carried);
    assert_eq!((packets[0], packets[1]), (0, 0));
    assert!(packets[2] > 500 && packets[3] > 500, "{packets:?}");
}

/// ns-2 2.35 sends these datagrams of this recording at these times after the start (where it begins with the first
/// record, which it draws).
#[test]
fn a_recording_in_the_form_of_ns2_is_played_as_there() {
    let text = r#"schema = 1
name = "played"
run = { duration = "1 s" }
[[link]]
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "voice"
from = "a"
to = "b"
traffic = { kind = "trace", file = "v.bin", format = "ns2", repeat = "100 ms" }
"#;
    let records: [(u32, u32); 4] = [(10_000, 100), (20_000, 200), (30_000, 300), (40_000, 400)];
    let words = records.iter().flat_map(|(pause, size)| [*pause, *size]);
    let content: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
    let mut files = |_: &str| Ok(content.clone());
    let network = Network::parse_with(text, "net.toml", &[], &mut files).unwrap();
    let (heard, _) = Heard::of(&network);
    let sent = heard.0.iter().filter_map(|(at, event)| match event {
        NetworkEvent::Arrived { packet, .. } => {
            let on_the_way = 1_000_000 + u64::from(packet.size) * 8;
            Some(((at.0 - on_the_way) / 1_000_000, packet.size))
        }
        _ => None,
    });
    let ns2 = [
        (10, 100),
        (30, 200),
        (60, 300),
        (100, 400),
        (110, 100),
        (130, 200),
        (160, 300),
        (200, 400),
        (210, 100),
    ];
    assert_eq!(sent.take(ns2.len()).collect::<Vec<_>>(), ns2);
}
