//! The start of connections, and their links.

use polypath_core::time::Time;
use polypath_sim::FlowPacket;
use polypath_sim::tcp::SegmentKind;

use crate::recorder::{Recorder, network};

/// The arrivals of a file of 20 segments: the time in ms and the number of each segment.
fn arrivals(keys: &str) -> Vec<(f64, u32)> {
    let network = network("{ kind = \"file\", size = \"20 kB\" }", keys);
    let (recorder, _) = Recorder::of(&network);
    let number = |(at, packet): (Time, FlowPacket)| {
        let number = packet.segment.unwrap().number;
        (at.as_secs_f64() * 1e3, number)
    };
    recorder.arrived(SegmentKind::Data).map(number).collect()
}

/// The times are those of ns-2 2.35 (`Agent/TCP/Reno`, `syn_` and `delay_growth_ false`,
/// `windowInit_ 4`, `produce 20`).
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
    let outcome = Recorder::of(&network("{ kind = \"ftp\" }", second)).1;
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
