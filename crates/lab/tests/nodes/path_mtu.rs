//! Nodes between which a router sends on over a link that carries less than their interfaces, and tells nobody.

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
const NARROW: u32 = 1300;
/// What an outer header over IPv4, the seal and the frame's header leave of it for a packet.
const PACKET: u32 = NARROW - 28 - 51;
/// So many pings, of at least 0.2 s each, take longer than a search.
const TRIES: u32 = 30;

fn narrow(router: &Namespace) {
    let mtu = NARROW.to_string();
    router.ip(&["link", "set", "p2", "mtu", &mtu]).unwrap();
}

/// Pings the second end with packets of `len` bytes, which may be fragmented or not; how many came back.
fn ping(testbed: &Testbed, len: u32, fragments: &str) -> usize {
    let payload = (len - 28).to_string();
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "3", "-i", "0.1", "-W", "1"]);
    command.args(["-M", fragments, "-s", &payload, "10.77.0.2"]);
    // What did not come back is told by the exit code, too.
    let mut shell = Command::new("sh");
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_str().unwrap())
        .collect();
    shell.args(["-c", &format!("ping {} 2>&1 || true", words.join(" "))]);
    let said = testbed.a.output(&mut shell).unwrap();
    said.matches("bytes from").count()
}

/// What the first end's kernel believes of the way to the second, once it was told; in bytes.
fn told(testbed: &Testbed) -> Option<u32> {
    let said = testbed.a.ip(&["route", "get", "10.77.0.2"]).unwrap();
    let mtu = said.split(" mtu ").nth(1)?;
    mtu.split_whitespace().next()?.parse().ok()
}

/// IPv6 packets as long as any link must carry, and none shorter can be asked for, cross in fragments of datagrams.
fn cross_over_ipv6(testbed: &Testbed) {
    let bind = |address| move || UdpSocket::bind(address);
    let receiver = testbed.b.run(bind("[fd77::2]:6000")).unwrap();
    let wait = Some(Duration::from_secs(2));
    receiver.set_read_timeout(wait).unwrap();
    let sender = testbed.a.run(bind("[fd77::1]:6000")).unwrap();
    let payload = [7; 1280 - 40 - 8];
    for _ in 0..3 {
        sender.send_to(&payload, "[fd77::2]:6000").unwrap();
    }
    let mut space = [0; 2000];
    for _ in 0..3 {
        assert_eq!(receiver.recv(&mut space).unwrap(), payload.len());
    }
}

fn is_found(mtu: u32, real: u32) -> bool {
    (real - u32::from(STEP) + 1..=real).contains(&mtu)
}

#[test]
fn applications_adapt_to_a_path_that_loses_long_datagrams_silently() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    narrow(&router);
    let overlay = Overlay::over_router(&testbed);
    // Nobody but the node can tell: the router says nothing.
    transfer::run(&testbed, "10.77.0.1:5000", 2_000_000, |_| {});
    let is_told = (0..TRIES).any(|_| {
        ping(&testbed, 1400, "do");
        told(&testbed).is_some_and(|mtu| is_found(mtu, PACKET))
    });
    assert!(is_told, "{:?}", told(&testbed));
    let limit = told(&testbed).unwrap();
    assert_eq!(
        ping(&testbed, 1400, "do"),
        0,
        "too long, as the kernel knows"
    );
    assert_eq!(ping(&testbed, limit, "do"), 3);
    assert_eq!(ping(&testbed, 1400, "dont"), 3, "in fragments");
    cross_over_ipv6(&testbed);
    let [a, b] = overlay.finish();
    let path = &a.paths[0];
    assert!(is_found(path.mtu_bytes.unwrap(), NARROW), "{path:?}");
    assert_eq!(path.mtu_state, Some(MtuState::Complete));
    assert_eq!(path.mtu_bytes, Some(limit + 28 + 51));
    let silences = |stats: &polypath_live::stats::Stats| stats.paths[0].liveness.unwrap().silences;
    assert_eq!((silences(&a), silences(&b)), (0, 0));
}

#[test]
fn the_size_of_a_path_is_found_over_ipv6() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    narrow(&router);
    let overlay = Overlay::over_router_by_ipv6(&testbed, &router);
    transfer::run(&testbed, "10.77.0.1:5000", 2_000_000, |_| {});
    let is_told = (0..TRIES).any(|_| {
        ping(&testbed, 1350, "do");
        told(&testbed).is_some_and(|mtu| is_found(mtu, PACKET - 20))
    });
    assert!(is_told, "{:?}", told(&testbed));
    let [a, _] = overlay.finish();
    let path = &a.paths[0];
    assert!(is_found(path.mtu_bytes.unwrap(), NARROW), "{path:?}");
    assert_eq!(path.mtu_state, Some(MtuState::Complete));
}

#[test]
fn a_transfer_goes_on_where_the_path_grows_narrower_under_way() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router(&testbed);
    // The path is known as wide before it is not.
    assert!((0..TRIES).any(|_| ping(&testbed, 1400, "do") == 3));
    sleep(Duration::from_secs(2));
    let is_narrow = AtomicBool::new(false);
    transfer::run(&testbed, "10.77.0.1:5000", 4_000_000, |received| {
        if received > 1_000_000 && !is_narrow.swap(true, Ordering::Relaxed) {
            narrow(&router);
        }
    });
    assert!(is_narrow.into_inner());
    let limit = told(&testbed);
    assert!(limit.is_some_and(|mtu| is_found(mtu, PACKET)), "{limit:?}");
    let [a, _] = overlay.finish();
    assert!(is_found(a.paths[0].mtu_bytes.unwrap(), NARROW), "{a:?}");
}
