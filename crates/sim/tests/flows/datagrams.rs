//! Datagrams: their delays, and recordings of them.

use polypath_scenario::Network;
use polypath_sim::NetworkEvent;

use crate::recorder::{Recorder, network_set};

/// A voice flow that shares the queue with a flow that fills it, except in the last second.
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
        Recorder::of(&network_set(voice, noise, sets))
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
    // The queue is full for a fifth of the time. Of the 49 packets ahead of a voice packet two or
    // three belong to its own flow and take 0.16 ms, the others take 0.8 ms each, and the packet in
    // transmission is partly sent.
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

/// The datagrams that ns-2 2.35 sends for this recording, with their times after the start, if it
/// begins with the first record. (ns-2 draws the first record.)
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
    let (recorder, _) = Recorder::of(&network);
    let sent = recorder.0.iter().filter_map(|(at, event)| match event {
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
