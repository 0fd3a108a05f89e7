//! Receiver windows that change while segments and ACKs are lost.

use std::collections::BTreeMap;

use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::tcp::{SegmentKind, TcpEvent};
use polypath_sim::{FlowCounters, NetworkEvent, NetworkOutcome};

use super::recorder::Recorder;

/// The last right edge of each connection's receiver, and the connections of each flow whose file
/// is finished.
#[derive(Default)]
struct Watched {
    edges: BTreeMap<(u32, u32), u32>,
    finished: BTreeMap<u32, Vec<u32>>,
    acks: u64,
}

impl Watched {
    fn note(&mut self, at: Time, event: &NetworkEvent) {
        match event {
            NetworkEvent::Arrived { packet, .. } => {
                let acks = packet.segment.filter(|s| SegmentKind::is_ack(s.kind));
                let Some(ack) = acks else { return };
                let edge = ack.number + ack.window;
                let of_connection = self.edges.entry((packet.flow, ack.connection));
                let last = of_connection.or_default();
                assert!(edge >= *last, "{at:?}: {edge} takes back {last}");
                *last = edge;
                self.acks += 1;
            }
            NetworkEvent::Tcp {
                flow,
                connection,
                event: TcpEvent::FileFinished { .. },
            } => self.finished.entry(*flow).or_default().push(*connection),
            _ => {}
        }
    }
}

fn run(tcp: &str) -> (Watched, NetworkOutcome) {
    let changes: Vec<String> = (1..3000)
        .map(|n| format!("{{ at = \"{} ms\", window = {} }}", 20 * n, 1 + 7 * n % 13))
        .collect();
    let text = format!(
        r#"schema = 1
name = "small"
run = {{ duration = "60 s" }}
[[link]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
loss = 0.05
queue = "50 packets"
[[flow]]
name = "f"
count = 4
from = "a"
to = "b"
traffic = {{ kind = "sessions", idle = "20 ms", file = {{ mu = 9.0, sigma = 1.0 }} }}
tcp = {tcp}
receiver_window = [{}]
"#,
        changes.join(", ")
    );
    let network = Network::parse(&text, "net.toml", &[]).unwrap();
    let mut watched = Watched::default();
    let (recorder, outcome) = Recorder::of(&network);
    for (at, event) in &recorder.0 {
        watched.note(*at, event);
    }
    (watched, outcome)
}

#[test]
fn files_are_finished_and_no_edge_moves_back_with_any_losses() {
    for variant in ["reno", "sack"] {
        for set_up in [true, false] {
            let tcp = format!(
                "{{ variant = \"{variant}\", set_up = {set_up}, initial_window = 9, delayed_ack = \"100 ms\" }}"
            );
            let (watched, outcome) = run(&tcp);
            let spans = outcome.flows.iter().flat_map(|flow| &flow.spans);
            let all: FlowCounters = spans.copied().sum();
            assert!(all.sender.retransmitted > 50, "{tcp}: {all:?}");
            assert!(
                watched.acks < all.sender.sent * 9 / 10,
                "{} ACKs",
                watched.acks
            );
            assert_eq!(watched.finished.len(), 4);
            for connections in watched.finished.values() {
                let count = u32::try_from(connections.len()).unwrap();
                assert!(count > 10, "{tcp}: {connections:?}");
                let each: Vec<u32> = (1..=count).collect();
                assert_eq!(*connections, each, "a connection without its file");
            }
        }
    }
}
