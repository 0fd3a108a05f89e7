use std::collections::BTreeMap;

use polypath_core::rng::Seed;
use polypath_core::spacing::PacketCounts;
use polypath_core::spacing::{FeedbackCounts, SpacingChange};
use polypath_core::time::Duration;
use polypath_link::DropReason;
use polypath_sim::tcp::Segment;
use polypath_sim::{AgentEvent, NetworkOutcome, SpacingEvent, run_network};
use serde_json::Value;

use super::*;

const NETWORK: &str = r#"schema = 1
name = "small"
run = { duration = "20 s" }
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
loss = 0.02
queue = "10 packets"
[[flow]]
name = "bulk"
from = "a"
to = "b"
traffic = { kind = "ftp" }
tcp = { variant = "newreno" }
[[flow]]
name = "files"
from = "a"
to = "b"
traffic = { kind = "sessions", idle = "50 ms", file = { mu = 9.0, sigma = 1.0 } }
[[flow]]
name = "voice"
from = "b"
to = "a"
traffic = { kind = "cbr", packet = "200 B", interval = "20 ms" }
"#;

fn stream(packets: bool) -> (String, NetworkOutcome) {
    let network = Network::parse(NETWORK, "small.toml", &[]).unwrap();
    let mut bytes = Vec::new();
    let mut events = EventWriter::new(&network, 3, packets, &mut bytes).unwrap();
    let outcome = run_network(&network, Seed(3), &mut events).unwrap();
    events.finish().unwrap();
    (String::from_utf8(bytes).unwrap(), outcome)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The number of lines of each event.
fn counts(lines: &[Value]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for event in lines.iter().filter_map(|line| line["event"].as_str()) {
        *counts.entry(event).or_default() += 1;
    }
    counts
}

#[test]
fn the_stream_begins_with_its_version_and_is_the_same_for_a_seed() {
    let (text, _) = stream(true);
    let head = text.lines().next().unwrap();
    assert_eq!(head, r#"{"version":2,"network":"small","seed":3}"#);
    assert_eq!(text, stream(true).0);
}

#[test]
fn events_add_up_to_the_report() {
    let (text, outcome) = stream(true);
    let lines = lines(&text);
    let counts = counts(&lines);
    let senders = outcome.flows.iter().flat_map(|flow| &flow.spans);
    let timeouts: u64 = senders.map(|span| span.sender.timeouts).sum();
    assert_eq!(counts["timeout"], timeouts);
    let dropped = |reason: &str| {
        let of = |line: &&Value| line["event"] == "dropped" && line["reason"] == reason;
        lines.iter().filter(of).count() as u64
    };
    let spans = || outcome.links.iter().flat_map(|link| &link.spans);
    assert_eq!(
        dropped("queue_full"),
        spans().map(|l| l.drops.queue_full).sum::<u64>()
    );
    assert_eq!(
        dropped("random"),
        spans().map(|l| l.drops.random).sum::<u64>()
    );
    assert!(dropped("queue_full") > 10 && dropped("random") > 10);
    let delivered: u64 = spans().map(|link| link.packets_delivered).sum();
    let under_way = delivered - counts["arrived"];
    assert!(under_way < 20 && delivered > 1000);
}

#[test]
fn every_recovery_is_entered_before_it_is_left_and_in_the_order_of_time() {
    let lines = lines(&stream(false).0);
    let mut open: BTreeMap<(&str, u64), &Value> = BTreeMap::new();
    let (mut last, mut left) = (0, 0);
    for line in &lines[1..] {
        let at = line["at"].as_u64().unwrap();
        assert!(at >= last);
        last = at;
        let flow = line["flow"].as_str().unwrap();
        let connection = line["connection"].as_u64().unwrap_or_default();
        match line["event"].as_str().unwrap() {
            "recovery-entered" => {
                open.insert((flow, connection), &line["kind"]);
            }
            "recovery-left" => {
                left += 1;
                assert_eq!(
                    open.remove(&(flow, connection)),
                    Some(&line["kind"]),
                    "{line}"
                );
            }
            _ => {}
        }
    }
    assert!(left > 10);
}

#[test]
fn sessions_emit_their_windows_from_the_first_connection_to_the_last() {
    let lines = lines(&stream(false).0);
    let initial =
        |line: &&Value| line["event"] == "window" && line["flow"] == "files" && line["cwnd"] == 2.0;
    assert!(lines.iter().filter(initial).count() > 10);
}

#[test]
fn packets_are_omitted_by_default() {
    let (without, with) = (stream(false).0, stream(true).0);
    let is_packet = |line: &&str| line.contains("\"event\":\"arrived\"");
    assert_eq!(without.lines().filter(is_packet).count(), 0);
    let rest: Vec<&str> = with.lines().filter(|line| !is_packet(line)).collect();
    assert_eq!(rest, without.lines().collect::<Vec<_>>());
}

#[test]
fn datagrams_are_numbered_and_packets_have_send_times() {
    let lines = lines(&stream(true).0);
    let mut last = 0;
    let of_voice = |line: &&Value| line["flow"] == "voice" && line["event"] == "arrived";
    for line in lines.iter().filter(of_voice) {
        let number = line["number"].as_u64().unwrap();
        assert!(number > last, "{line}");
        last = number;
    }
    assert!(last > 10);
    let packets = lines.iter().filter(|line| line["packet"].is_string());
    for line in packets {
        assert!(
            line["sent"].as_u64() <= line["at"].as_u64() && !line["sent"].is_null(),
            "{line}"
        );
    }
}

/// A line for each event, as a reader in another language expects it.
#[test]
fn each_event_has_its_keys() {
    let network = Network::parse(NETWORK, "small.toml", &[]).unwrap();
    let mut bytes = Vec::new();
    let mut events = EventWriter::new(&network, 3, true, &mut bytes).unwrap();
    for event in every_event() {
        events.on_event(Time(1_500), &event);
    }
    events.finish().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            r#"{"at":1500,"event":"window","flow":"files","connection":2,"cwnd":2.5,"ssthresh":20.0}"#,
            r#"{"at":1500,"event":"recovery-entered","flow":"files","connection":2,"kind":"fast","until":9}"#,
            r#"{"at":1500,"event":"recovery-left","flow":"files","connection":2,"kind":"slow-start"}"#,
            r#"{"at":1500,"event":"timeout","flow":"files","connection":2,"next":2000000}"#,
            r#"{"at":1500,"event":"rtt","flow":"files","connection":2,"rtt":1000000,"rto":2000000}"#,
            r#"{"at":1500,"event":"ecn-reduction","flow":"files","connection":2}"#,
            r#"{"at":1500,"event":"file-finished","flow":"files","connection":2,"size":3000,"took":1000000}"#,
            r#"{"at":1500,"event":"receiver-rtt","flow":"files","connection":2,"rtt":2000000,"least":1000000}"#,
            r#"{"at":1500,"event":"receiver-window","flow":"files","connection":2,"window":5}"#,
            r#"{"at":1500,"event":"dropped","link":"narrow","reason":"random","flow":"files","size":1000,"sent":500,"packet":"data","connection":2,"number":7}"#,
            r#"{"at":1500,"event":"arrived","link":"narrow/back","flow":"files","size":40,"sent":500,"packet":"ack","connection":2,"number":8}"#,
            r#"{"at":1500,"event":"arrived","link":"narrow/back","flow":"voice","size":200,"sent":500,"packet":"datagram","number":9}"#,
            r#"{"at":1500,"event":"spacing","flow":"voice","spacing":98000,"adjustment":"reverted","sent":50,"received":49,"sent_by_clock":52,"received_by_clock":48}"#,
            r#"{"at":1500,"event":"arrived","link":"narrow/back","flow":"voice","size":40,"sent":500,"packet":"feedback","number":0}"#,
        ]
    );
}

fn every_event() -> Vec<NetworkEvent> {
    let (flow, connection) = (1, 2);
    let (rtt, rto) = (Duration(1_000_000), Duration(2_000_000));
    let (cwnd, ssthresh) = (2.5, 20.0);
    let (kind, until) = (RecoveryKind::Fast, 9);
    let left = RecoveryKind::SlowStart;
    let tcp = [
        TcpEvent::Window { cwnd, ssthresh },
        TcpEvent::RecoveryEntered { kind, until },
        TcpEvent::RecoveryLeft { kind: left },
        TcpEvent::Timeout { next: rto },
        TcpEvent::RttSample { rtt, rto },
        TcpEvent::EcnReduction,
        TcpEvent::FileFinished {
            size: 3000,
            took: rtt,
        },
        TcpEvent::ReceiverRtt {
            rtt: rto,
            least: rtt,
        },
        TcpEvent::ReceiverWindow { window: 5 },
    ];
    let tcp = tcp.map(|event| NetworkEvent::Tcp {
        flow,
        connection,
        event,
    });
    let packet = |flow, size, segment: Option<Segment>| FlowPacket {
        flow,
        size,
        sent: Time(500),
        number: segment.map_or(9, |segment| segment.number),
        segment,
        back: segment.is_some_and(|segment| segment.kind == SegmentKind::Ack),
    };
    let segment = |kind, number, size| Some(Segment::new(kind, connection, number, size));
    let packets = [
        NetworkEvent::Dropped {
            link: LinkId(0),
            reason: DropReason::Random,
            packet: packet(flow, 1000, segment(SegmentKind::Data, 7, 1000)),
        },
        NetworkEvent::Arrived {
            link: LinkId(1),
            packet: packet(flow, 40, segment(SegmentKind::Ack, 8, 40)),
        },
        NetworkEvent::Arrived {
            link: LinkId(1),
            packet: packet(2, 200, None),
        },
    ];
    let spacing = NetworkEvent::Agent {
        flow: 2,
        event: AgentEvent::Spacing(SpacingEvent {
            adjustment: SpacingChange::Reverted,
            spacing: Duration(98_000),
            readings: FeedbackCounts {
                range: PacketCounts {
                    sent: 50,
                    received: 49,
                },
                clock: PacketCounts {
                    sent: 52,
                    received: 48,
                },
            },
        }),
    };
    let feedback = NetworkEvent::Arrived {
        link: LinkId(1),
        packet: FlowPacket {
            number: 0,
            back: true,
            ..packet(2, 40, None)
        },
    };
    let spaced = [spacing, feedback];
    tcp.into_iter().chain(packets).chain(spaced).collect()
}
