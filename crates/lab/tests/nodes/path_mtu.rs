//! Path MTU discovery through a router whose second link has a smaller MTU and which sends no ICMP
//! errors.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use polypath_core::pmtu::{MtuState, STEP};
use polypath_lab::namespace::Namespace;

use crate::testbed::{Overlay, Testbed};
use crate::transfer;

/// The MTU of the link behind the router in bytes.
const NARROW_MTU: u32 = 1300;
/// The MTU of the overlay: minus the outer IPv4 and UDP headers, the seal and the frame header.
const OVERLAY_MTU: u32 = NARROW_MTU - 28 - 32;
/// The maximum number of pings, of at least 0.2 s each: longer than a search.
const MAX_PINGS: u32 = 30;

/// Reduces the MTU of the link behind the router.
fn narrow(router: &Namespace) {
    let mtu = NARROW_MTU.to_string();
    router.ip(&["link", "set", "p2", "mtu", &mtu]).unwrap();
}

/// Pings the second node three times with packets of `len` bytes; returns the number of replies.
///
/// `fragmentation` is ping's `-M`: `do` sets Don't Fragment, `dont` does not.
fn ping(testbed: &Testbed, len: u32, fragmentation: &str) -> usize {
    let payload = (len - 28).to_string();
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "3", "-i", "0.1", "-W", "1"]);
    command.args(["-M", fragmentation, "-s", &payload, "10.77.0.2"]);
    // ping exits with an error without replies.
    let mut shell = Command::new("sh");
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_str().unwrap())
        .collect();
    shell.args(["-c", &format!("ping {} 2>&1 || true", words.join(" "))]);
    let output = testbed.a.output(&mut shell).unwrap();
    output.matches("bytes from").count()
}

/// The MTU in the first kernel's route cache for the second node, in bytes, once it has received an
/// ICMP error.
fn cached_mtu(testbed: &Testbed) -> Option<u32> {
    let route = testbed.a.ip(&["route", "get", "10.77.0.2"]).unwrap();
    let mtu = route.split(" mtu ").nth(1)?;
    mtu.split_whitespace().next()?.parse().ok()
}

/// Checks that IPv6 packets of the minimum MTU (1280 B) cross the overlay in fragmented datagrams.
fn check_minimum_ipv6_mtu(testbed: &Testbed) {
    let bind = |address| move || UdpSocket::bind(address);
    let receiver = testbed.b.run(bind("[fd77::2]:6000")).unwrap();
    let wait = Some(Duration::from_secs(2));
    receiver.set_read_timeout(wait).unwrap();
    let sender = testbed.a.run(bind("[fd77::1]:6000")).unwrap();
    let payload = [7; 1280 - 40 - 8];
    for _ in 0..3 {
        sender.send_to(&payload, "[fd77::2]:6000").unwrap();
    }
    let mut buffer = [0; 2000];
    for _ in 0..3 {
        assert_eq!(receiver.recv(&mut buffer).unwrap(), payload.len());
    }
}

fn is_found(mtu: u32, real: u32) -> bool {
    (real - u32::from(STEP) + 1..=real).contains(&mtu)
}

#[test]
fn applications_learn_the_path_mtu_without_icmp_from_the_path() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    narrow(&router);
    let overlay = Overlay::over_router(&testbed);
    // Only the node can report it: the router sends no ICMP errors.
    transfer::run(&testbed, "10.77.0.1:5000", 2_000_000, |_| {});
    let is_cached = (0..MAX_PINGS).any(|_| {
        ping(&testbed, 1400, "do");
        cached_mtu(&testbed).is_some_and(|mtu| is_found(mtu, OVERLAY_MTU))
    });
    assert!(is_cached, "{:?}", cached_mtu(&testbed));
    let limit = cached_mtu(&testbed).unwrap();
    assert_eq!(ping(&testbed, 1400, "do"), 0, "longer than the cached MTU");
    assert_eq!(ping(&testbed, limit, "do"), 3);
    // Under load the replies of one ping can miss its time.
    let in_fragments = (0..MAX_PINGS).any(|_| ping(&testbed, 1400, "dont") == 3);
    assert!(in_fragments, "longer packets pass in fragments");
    check_minimum_ipv6_mtu(&testbed);
    let [a, b] = overlay.finish();
    let path = &a.paths[0];
    assert!(is_found(path.mtu_bytes.unwrap(), NARROW_MTU), "{path:?}");
    assert_eq!(path.mtu_state, Some(MtuState::Complete));
    assert_eq!(path.mtu_bytes, Some(limit + 28 + 32));
    let silences = |stats: &polypath_live::stats::Stats| stats.paths[0].liveness.unwrap().silences;
    assert_eq!((silences(&a), silences(&b)), (0, 0));
}

#[test]
fn the_path_mtu_is_found_over_ipv6() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    narrow(&router);
    let overlay = Overlay::over_router_by_ipv6(&testbed, &router);
    transfer::run(&testbed, "10.77.0.1:5000", 2_000_000, |_| {});
    let is_cached = (0..MAX_PINGS).any(|_| {
        ping(&testbed, 1350, "do");
        cached_mtu(&testbed).is_some_and(|mtu| is_found(mtu, OVERLAY_MTU - 20))
    });
    assert!(is_cached, "{:?}", cached_mtu(&testbed));
    let [a, _] = overlay.finish();
    let path = &a.paths[0];
    assert!(is_found(path.mtu_bytes.unwrap(), NARROW_MTU), "{path:?}");
    assert_eq!(path.mtu_state, Some(MtuState::Complete));
}

#[test]
fn a_transfer_survives_a_shrinking_path_mtu() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router(&testbed);
    // The node finds the large MTU first.
    assert!((0..MAX_PINGS).any(|_| ping(&testbed, 1400, "do") == 3));
    sleep(Duration::from_secs(2));
    let is_narrow = AtomicBool::new(false);
    transfer::run(&testbed, "10.77.0.1:5000", 4_000_000, |received| {
        if received > 1_000_000 && !is_narrow.swap(true, Ordering::Relaxed) {
            narrow(&router);
        }
    });
    assert!(is_narrow.into_inner());
    let limit = cached_mtu(&testbed);
    assert!(
        limit.is_some_and(|mtu| is_found(mtu, OVERLAY_MTU)),
        "{limit:?}"
    );
    let [a, _] = overlay.finish();
    assert!(is_found(a.paths[0].mtu_bytes.unwrap(), NARROW_MTU), "{a:?}");
}
