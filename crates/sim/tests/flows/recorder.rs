//! A network of one link, and an observer that records all events.

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::tcp::{SegmentKind, TcpEvent};
use polypath_sim::{
    Detail, FlowPacket, NetworkEvent, NetworkObserver, NetworkOutcome, run_network,
};

pub(crate) fn network(traffic: &str, keys: &str) -> Network {
    network_set(traffic, keys, &[])
}

/// A link of 10 Mbit/s and 50 ms, and a flow over it with further keys; `sets` are overrides.
pub(crate) fn network_set(traffic: &str, keys: &str, sets: &[&str]) -> Network {
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

/// Records all events.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Vec<(Time, NetworkEvent)>);

impl NetworkObserver for Recorder {
    fn on_progress(&mut self, _now: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: true,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        self.0.push((at, *event));
    }
}

impl Recorder {
    pub(crate) fn of(network: &Network) -> (Self, NetworkOutcome) {
        let mut recorder = Self::default();
        let outcome = run_network(network, Seed(1), &mut recorder).unwrap();
        (recorder, outcome)
    }

    /// The packets of a kind that arrived, in the order of time.
    pub(crate) fn arrived(&self, kind: SegmentKind) -> impl Iterator<Item = (Time, FlowPacket)> {
        self.0.iter().filter_map(move |(at, event)| match event {
            NetworkEvent::Arrived { packet, .. }
                if packet.segment.is_some_and(|segment| segment.kind == kind) =>
            {
                Some((*at, *packet))
            }
            _ => None,
        })
    }

    /// The finished files: time of completion, connection, size and duration of each.
    pub(crate) fn finished(&self) -> Vec<(u64, u32, u64, u64)> {
        let finished = self.0.iter().filter_map(|(at, event)| match event {
            NetworkEvent::Tcp {
                connection,
                event: TcpEvent::FileFinished { size, took },
                ..
            } => Some((at.0, *connection, *size, took.as_nanos())),
            _ => None,
        });
        finished.collect()
    }
}
