use super::*;
use polypath_core::time::Duration;
use std::io::Write;

#[test]
fn datagrams_arrive_with_their_source_and_time() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let mut socket = match PathSocket::open(&PathConfig::at(local, None)) {
            Ok(socket) => socket,
            Err(error) if local.starts_with('[') => {
                // The runner captures what the print macros write.
                let _ = writeln!(io::stderr(), "skipped without IPv6: {error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let clock = Clock::starting_now();
        let mut buffer = [0; 100];
        assert_eq!(socket.receive(&mut buffer, clock).unwrap(), None);
        let peer = UdpSocket::bind(local).unwrap();
        let to = socket.local().unwrap();
        // The kernel starts to take timestamps shortly after the first socket asks for them.
        let pause = std::time::Duration::from_millis(20);
        let mut attempts = (0..50).map(|_| {
            peer.send_to(&[7; 40], to).unwrap();
            std::thread::sleep(pause);
            let received = socket.receive(&mut buffer, clock).unwrap().unwrap();
            assert_eq!(
                (received.len, received.from),
                (40, peer.local_addr().unwrap())
            );
            clock.now().since(received.at)
        });
        assert!(attempts.any(|waited| waited >= Duration::from_millis(19)));
        peer.send_to(&[7; 400], to).unwrap();
        let received = socket.receive(&mut buffer, clock).unwrap().unwrap();
        assert_eq!(received.len, buffer.len(), "cut to the buffer");
    }
}

#[test]
fn errors_name_the_remedy() {
    let error = |local: &str, interface| {
        PathSocket::open(&PathConfig::at(local, interface))
            .unwrap_err()
            .to_string()
    };
    let taken = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let held = UdpSocket::bind(taken).unwrap();
    assert!(error(&taken.to_string(), None).contains("ss -ulpn"));
    drop(held);
    assert!(error("192.0.2.1:7001", None).contains("ip address"));
    let missing = error("127.0.0.1:0", Some("no-such-if"));
    assert!(
        missing.contains("`no-such-if`") && missing.contains("lo"),
        "{missing}"
    );
}

#[test]
fn a_path_without_its_address_is_opened_early() {
    let socket = PathSocket::open_early(&PathConfig::at("192.0.2.1:0", None)).unwrap();
    let anywhere = "127.0.0.1:9".parse().unwrap();
    assert!(
        socket.send(&[1], TrafficClass::DEFAULT, anywhere).is_err(),
        "from an address that is not there"
    );
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Over IPv6 it would leave by any uplink.
    if let Ok(socket) = PathSocket::open_early(&PathConfig::at("[2001:db8::1]:0", None)) {
        assert_eq!(socket.device(), Some(NO_INTERFACE));
        let error = socket
            .send(&[1], TrafficClass::DEFAULT, "[::1]:9".parse().unwrap())
            .unwrap_err();
        assert_ne!(error.raw_os_error(), None, "{error}");
    }
    let taken = held.local_addr().unwrap().to_string();
    let error = PathSocket::open_early(&PathConfig::at(&taken, None)).unwrap_err();
    assert!(matches!(error, UdpError::InUse { .. }), "{error}");
}

#[test]
fn a_path_without_its_interface_carries_nothing() {
    let path = PathConfig::at("127.0.0.1:0", Some("no-such-if"));
    let mut socket = PathSocket::nowhere(&path).unwrap();
    assert_eq!(
        (socket.device(), socket.bound()),
        (Some(NO_INTERFACE), None)
    );
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = socket
        .send(&[1], TrafficClass::DEFAULT, held.local_addr().unwrap())
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(nix::libc::ENODEV), "{error}");
    let clock = Clock::starting_now();
    assert_eq!(socket.receive(&mut [0; 8], clock).unwrap(), None);
}

#[test]
fn the_mtu_is_that_of_the_interface() {
    let by_address = PathSocket::open(&PathConfig::at("127.0.0.1:0", None)).unwrap();
    let by_name = PathSocket::open(&PathConfig::at("0.0.0.0:0", Some("lo"))).unwrap();
    assert_eq!(by_address.mtu(), by_name.mtu());
    assert!(by_name.mtu() >= 16_384);
    let unknown = PathSocket::open(&PathConfig::at("0.0.0.0:0", None)).unwrap();
    assert_eq!((unknown.mtu(), unknown.headers()), (1500, 28));
}
