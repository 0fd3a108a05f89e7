//! Feedback of spaced packets in a capture: it is sent from the receiver's address and port to the
//! sender's.

use std::collections::BTreeMap;

use pcap_file::pcapng::{Block, PcapNgReader};
use polypath_capture::Capture;
use polypath_core::rng::Seed;
use polypath_scenario::Network;
use polypath_sim::run_network;

const NETWORK: &str = r#"schema = 1
name = "spaced"
run = { duration = "1 s" }
[[link]]
name = "line"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "10 packets"
[[flow]]
name = "media"
from = "a"
to = "b"
traffic = { kind = "spaced", packet = "1000 B", control = "damped", spacing = "2 ms" }
"#;

#[test]
fn feedback_goes_the_other_way() {
    let network = Network::parse(NETWORK, "net.toml", &[]).unwrap();
    let mut file = Vec::new();
    let mut capture = Capture::new(&network, Seed(1), &[], &mut file).unwrap();
    run_network(&network, Seed(1), &mut capture).unwrap();
    capture.finish().unwrap();
    let mut reader = PcapNgReader::new(&file[..]).unwrap();
    let mut counts = BTreeMap::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let headers = etherparse::PacketHeaders::from_ip_slice(&packet.data).unwrap();
            let udp = headers
                .transport
                .and_then(etherparse::TransportHeader::udp)
                .unwrap();
            let key = (packet.interface_id, udp.source_port, udp.destination_port);
            *counts.entry((key, packet.original_len)).or_insert(0_u32) += 1;
        }
    }
    let [there, back] = [0, 1].map(|interface| {
        let of_interface = counts.iter().filter(move |(key, _)| key.0.0 == interface);
        of_interface
            .map(|(key, count)| (*key, *count))
            .collect::<Vec<_>>()
    });
    // Forward: a ping of the packets' size, then packets. Back: its answer, then one feedback in 41
    // ms.
    let ((_, source, sink), _) = there[0].0;
    assert_eq!(there.len(), 1, "{counts:?}");
    assert_eq!(there[0].0, ((0, source, sink), 1000));
    assert!(there[0].1 > 300, "{counts:?}");
    assert_eq!(back.len(), 1, "{counts:?}");
    assert_eq!(back[0].0, ((1, sink, source), 40));
    assert!((21..=24).contains(&back[0].1), "{counts:?}");
}
