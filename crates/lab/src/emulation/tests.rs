use polypath_sim::Side;

use super::*;
use crate::network::tests::open;

#[test]
fn lateness_is_counted_between_start_and_stop() {
    let Some((network, _endpoints)) = open() else {
        return;
    };
    let mut emulation = Emulation::start(vec![network], Clock::starting_now()).unwrap();
    emulation.start_counting().unwrap();
    emulation.stop_counting().unwrap();
    let [at] = &emulation.snapshot().unwrap()[..] else {
        panic!("expected one network");
    };
    let at = at.at;
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(emulation.snapshot().unwrap()[0].at > at);
    let lateness = emulation.finish().unwrap().lateness;
    // The network is idle: no wake was requested, and no packet left.
    assert_eq!((lateness.wakes.count(), lateness.packets.count()), (0, 0));
}

#[test]
fn a_request_to_a_failed_emulation_returns_the_cause() {
    let Some((network, endpoints)) = open() else {
        return;
    };
    let mut emulation = Emulation::start(vec![network], Clock::starting_now()).unwrap();
    let delete = ["link", "delete", "p1"];
    endpoints.at(Side::Server).ip(&delete).unwrap();
    for _ in 0..100 {
        if let Err(error) = emulation.snapshot() {
            assert_ne!(error.kind(), io::ErrorKind::BrokenPipe, "{error}");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the emulation still runs without its device");
}
