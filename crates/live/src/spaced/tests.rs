//! Both ends over loopback.

use polypath_core::spacing::{AdaptiveConfig, ControlConfig, SenderConfig};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use super::*;
use crate::clock::Clock;

const MS: Duration = Duration::from_millis(1);

#[test]
fn senders_send_at_their_spacing_and_the_receiver_counts_what_arrives() {
    let clock = Clock::starting_now();
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let mut receivers = SpacedReceivers::open(local, 0, Time::ZERO, clock).unwrap();
    let remote = receivers.address().unwrap();
    let stop = receivers.stop_handle();
    let receiving = std::thread::spawn(move || receivers.run().unwrap());
    let sender = |control| SenderConfig {
        line_rate: Some(Rate::from_mbits(100)),
        ..SenderConfig::new(control, Bytes(1250))
    };
    let fixed = sender(ControlConfig::Fixed { spacing: MS * 5 });
    // Its round-trip time is measured by a ping before the first packet.
    let adaptive = sender(ControlConfig::Damped(AdaptiveConfig {
        initial: MS * 5,
        ..AdaptiveConfig::default()
    }));
    let config = SpacedSendersConfig {
        senders: [fixed, adaptive]
            .map(|config| StartedSender {
                config,
                start: Time::ZERO + MS * 50,
            })
            .to_vec(),
        local: local.ip(),
        remote,
        measured_from: Time::ZERO,
        bin: MS * 100,
    };
    let mut senders = SpacedSenders::open(&config, clock).unwrap();
    let sent = senders.run_until(Time::ZERO + MS * 1050).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    stop.stop();
    let arrived = receiving.join().unwrap();
    assert_eq!((sent.len(), arrived.len()), (2, 2));
    // A second at an interval of 5.1 ms; the adaptive one lowers its spacing.
    assert!((150..=197).contains(&sent[0].packets), "{sent:?}");
    assert!(sent[1].packets > 150, "{sent:?}");
    assert_eq!(sent[0].bins.iter().sum::<u64>(), sent[0].packets);
    let total = |packets: &mut dyn Iterator<Item = u64>| packets.sum::<u64>();
    assert_eq!(
        total(&mut sent.iter().map(|sent| sent.packets)),
        total(&mut arrived.iter().map(|arrived| arrived.packets)),
        "nothing is lost on loopback"
    );
    for arrived in arrived {
        let (mean, _) = arrived.gaps.mean_and_deviation().unwrap();
        assert!(mean < 0.0075, "{mean}");
    }
}
