use super::*;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::udp::batch::Outgoing;
use bytes::Bytes;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::recvmsg;
use nix::sys::socket::sockopt::{Ipv4Tos, Ipv6TClass};
use std::io::{IoSliceMut, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The class of voice, of an ECN-capable transport.
const EF_ECT0: TrafficClass = TrafficClass {
    dscp: Dscp::EF,
    ecn: Ecn::Ect0,
};
/// Loopback over both versions of IP.
const LOOPBACK: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

/// A socket at `local` that receives the traffic class of each datagram.
pub(crate) fn class_receiver(local: &str) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(local)?;
    receive_class(&socket);
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(socket)
}

/// Has `socket` receive the traffic class of each datagram.
pub(crate) fn receive_class(socket: &UdpSocket) {
    if socket.local_addr().unwrap().is_ipv4() {
        setsockopt(socket, IpRecvTos, &true).unwrap();
    } else {
        setsockopt(socket, Ipv6RecvTClass, &true).unwrap();
    }
}

/// Sets the traffic class or TOS byte of all datagrams of `socket`.
pub(crate) fn set_class(socket: &UdpSocket, class: u8) {
    if socket.local_addr().unwrap().is_ipv4() {
        setsockopt(socket, Ipv4Tos, &class.into()).unwrap();
    } else {
        setsockopt(socket, Ipv6TClass, &class.into()).unwrap();
    }
}

/// The traffic class or TOS byte of the next datagram of `socket`.
pub(crate) fn received_class(socket: &UdpSocket) -> u8 {
    received(socket).class
}

/// A datagram that a test has received.
pub(crate) struct Datagram {
    /// Its length in bytes.
    pub(crate) len: usize,
    /// Its traffic class or TOS byte.
    pub(crate) class: u8,
}

/// The next datagram of `socket`.
pub(crate) fn received(socket: &UdpSocket) -> Datagram {
    let (mut buffer, mut control) = (vec![0; 65_535], nix::cmsg_space!(i32));
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let fd = socket.as_fd().as_raw_fd();
    let message = recvmsg::<()>(fd, &mut slices, Some(&mut control), MsgFlags::empty()).unwrap();
    let class = message.cmsgs().unwrap().find_map(|control| match control {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
        _ => None,
    });
    Datagram {
        len: message.bytes,
        class: class.unwrap(),
    }
}

/// A sender and a receiver at `local`; none without IPv6, if that is asked for.
pub(crate) fn pair(local: &str) -> Option<(PathSocket, UdpSocket)> {
    match class_receiver(local) {
        Ok(peer) => Some((
            PathSocket::open(&PathConfig::at(local, None)).unwrap(),
            peer,
        )),
        Err(error) if local.starts_with('[') => {
            // The runner captures what the print macros write.
            let _ = writeln!(io::stderr(), "skipped without IPv6: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn all() -> impl Iterator<Item = TrafficClass> {
    (0..=u8::MAX).map(TrafficClass::of_byte)
}

#[test]
fn a_datagram_has_its_traffic_class() {
    for (socket, peer) in LOOPBACK.into_iter().filter_map(pair) {
        let to = peer.local_addr().unwrap();
        for class in all() {
            socket.send(&[1], class, to).unwrap();
            assert_eq!(received_class(&peer), class.byte(), "{to}");
            // The next one does not have that of the one before.
            socket.send(&[1], TrafficClass::DEFAULT, to).unwrap();
            assert_eq!(received_class(&peer), 0, "{to}");
        }
        socket.set_dont_fragment(true).unwrap();
        socket.send_in_fragments(&[1; 3000], EF_ECT0, to).unwrap();
        assert_eq!(received_class(&peer), EF_ECT0.byte(), "{to}");
    }
}

#[test]
fn batches_do_not_mix_traffic_classes() {
    // Runs of one class, as applications send them, and single datagrams between them.
    let classes = [186, 186, 186, 0, 0, 2, 0, 186, 187, 187, 187, 187, 3, 0, 0];
    for (socket, peer) in LOOPBACK.into_iter().filter_map(pair) {
        let to = peer.local_addr().unwrap();
        let mut outgoing = Outgoing::default();
        let (mut calls, mut sent) = (0, 0);
        let mut flush = |outgoing: &mut Outgoing| {
            calls += 1;
            sent += outgoing.flush(&socket, to).datagrams;
            assert!(!outgoing.gso_refused, "{to}");
        };
        for class in classes.map(TrafficClass::of_byte) {
            let datagram = Bytes::from_static(&[7; 900]);
            if !outgoing.accepts(&datagram, class) {
                flush(&mut outgoing);
            }
            outgoing.push(datagram, class);
        }
        flush(&mut outgoing);
        assert_eq!((calls, sent), (8, classes.len()), "{to}");
        let received = classes.map(|_| received_class(&peer));
        assert_eq!(received, classes, "{to}");
    }
}

#[test]
fn a_socket_receives_the_traffic_class() {
    for (from, peer) in LOOPBACK.into_iter().filter_map(pair) {
        let local = SocketAddr::new(peer.local_addr().unwrap().ip(), 0);
        let mut socket = PathSocket::open(&PathConfig::at(&local.to_string(), None)).unwrap();
        let to = socket.local().unwrap();
        let clock = Clock::starting_now();
        for class in all() {
            from.send(&[1], class, to).unwrap();
            let received = socket.receive(&mut [0; 10], clock).unwrap().unwrap();
            assert_eq!(received.traffic_class, class, "{to}");
        }
        // Also beside the segment size of a merged batch and its time.
        assert!(socket.set_gro(true));
        let slices = [io::IoSlice::new(&[7; 900]); 3];
        from.send_gso(&slices, 900, EF_ECT0, to).unwrap();
        let merged = socket.receive(&mut [0; 3000], clock).unwrap().unwrap();
        assert_eq!(
            (merged.len, merged.segment, merged.traffic_class),
            (2700, 900, EF_ECT0)
        );
    }
}

/// A queue of the sending host marks a call as a whole, before it is divided.
#[test]
fn datagrams_that_may_be_marked_leave_one_by_one() {
    for (from, peer) in LOOPBACK.into_iter().filter_map(pair) {
        let local = SocketAddr::new(peer.local_addr().unwrap().ip(), 0);
        let mut socket = PathSocket::open(&PathConfig::at(&local.to_string(), None)).unwrap();
        let (to, clock) = (socket.local().unwrap(), Clock::starting_now());
        assert!(socket.set_gro(true));
        let mut lengths = |class| {
            let mut outgoing = Outgoing::default();
            for _ in 0..3 {
                outgoing.push(Bytes::from_static(&[7; 900]), class);
            }
            assert_eq!(outgoing.flush(&from, to).datagrams, 3);
            let received = std::iter::from_fn(|| socket.receive(&mut [0; 3000], clock).unwrap());
            received.map(|received| received.len).collect::<Vec<_>>()
        };
        let [capable, other] = [Ecn::Ect1, Ecn::NotEct].map(|ecn| TrafficClass { ecn, ..EF_ECT0 });
        assert_eq!(
            (lengths(capable), lengths(other)),
            (vec![900; 3], vec![2700])
        );
    }
}

/// Sends one datagram, and then a batch of three, of `class`; returns the classes that arrive.
fn classes(socket: &PathSocket, peer: &UdpSocket, class: TrafficClass) -> [u8; 4] {
    let to = peer.local_addr().unwrap();
    socket.send(&[1], class, to).unwrap();
    let mut outgoing = Outgoing::default();
    for _ in 0..3 {
        outgoing.push(Bytes::from_static(&[7; 900]), class);
    }
    assert_eq!(outgoing.flush(socket, to).datagrams, 3);
    assert!(!outgoing.gso_refused);
    [(); 4].map(|()| received_class(peer))
}

/// The rules of the system may prohibit a class; in a namespace of its own, which ends with the
/// thread.
#[test]
fn a_datagram_whose_dscp_is_refused_keeps_its_ecn_field() {
    let prohibited = TrafficClass::of_byte(0x12);
    let of_namespace = thread::spawn(move || {
        let ip = |arguments: &str| {
            let _starting = crate::test_lock::new_process();
            let run = Command::new("ip").args(arguments.split(' ')).output();
            run.is_ok_and(|output| output.status.success())
        };
        // The rule comes before that of local addresses, whose number cannot be lower.
        let is_ready = unshare(CloneFlags::CLONE_NEWNET).is_ok()
            && ip("link set lo up")
            && ip("rule add pref 1 tos 0x10 prohibit")
            && ip("rule add pref 2 lookup local")
            && ip("rule del pref 0");
        if !is_ready {
            // The runner captures what the print macros write.
            let message = "skipped: no network namespace with rules (needs root and iproute2)";
            let _ = writeln!(io::stderr(), "{message}");
            return;
        }
        let (socket, peer) = pair("127.0.0.1:0").unwrap();
        assert_eq!(classes(&socket, &peer, EF_ECT0), [EF_ECT0.byte(); 4]);
        assert_eq!(classes(&socket, &peer, prohibited), [2; 4]);
    });
    of_namespace.join().unwrap();
}
