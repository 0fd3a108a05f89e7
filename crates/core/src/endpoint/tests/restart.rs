//! Restarts of the peer, which numbers its packets from the first again.

use super::*;

/// The data frames of `count` packets that an end sends from its start, the first of which is
/// number `first`.
fn from_its_start(first: u32, count: u32) -> Vec<Frame<Packet>> {
    let mut end = endpoint(PolicyConfig::single_path(0));
    let numbers = first..first + count;
    let sent = numbers.map(|number| send(&mut end, at(1), number, Kind::Data));
    sent.flat_map(|outputs| of_kind(&outputs, FrameKind::Data))
        .collect()
}

fn got(end: &mut Endpoint<Packet>, now: Time, frames: &[Frame<Packet>]) -> Vec<u32> {
    let outputs = frames.iter().map(|frame| receive(end, now, frame.clone()));
    outputs.flat_map(|outputs| delivered(&outputs)).collect()
}

#[test]
fn packets_of_a_restarted_peer_are_not_duplicates_of_earlier_ones() {
    let (before, after) = (from_its_start(0, 5), from_its_start(100, 5));
    let mut end = endpoint(PolicyConfig::single_path(0));
    assert_eq!(got(&mut end, at(10), &before), [0, 1, 2, 3, 4]);
    let nothing: [u32; 0] = [];
    assert_eq!(
        got(&mut end, at(20), &after),
        nothing,
        "it does not know of the restart"
    );
    assert_eq!(
        wake(&mut end, at(30), Wake::Input(Input::PeerRestarted)),
        []
    );
    let all = [100, 101, 102, 103, 104];
    assert_eq!(got(&mut end, at(40), &after), all);
    assert_eq!(got(&mut end, at(50), &after), nothing, "once");
}

/// Timers of probes and a requested switch concern packets before the restart; the settings of a
/// reload are kept.
#[test]
fn a_restart_of_the_peer_discards_its_state_and_keeps_settings() {
    let (mut a, mut b) = measured_pair();
    let lazy = ProbingConfig {
        threshold: 1000.0,
        ..ProbingConfig::default()
    };
    let to = EndpointConfig {
        probing: lazy,
        ..config(PolicyConfig::probe_and_switch(0))
    };
    let adjust = Input::Adjust(Adjustment::new(&to).unwrap());
    wake(&mut b, at(5), Wake::Input(adjust));
    let outputs = send(&mut a, at(10), 1, Kind::Data);
    receive(
        &mut b,
        at(20),
        of_kind(&outputs, FrameKind::Probe).remove(0),
    );
    let lasts = |b: &Endpoint<Packet>| b.deadline().map(|due| due.at);
    let first = lasts(&b).unwrap();
    assert!(first > at(1000), "{first:?}");
    wake(&mut b, at(30), Wake::Input(Input::PeerRestarted));
    assert_eq!(lasts(&b), None);
    assert_eq!(b.buffered(), 0);
    let mut a = endpoint(PolicyConfig::probe_and_switch(0));
    for pair in of_kind(&send(&mut a, at(5000), 0, Kind::Data), FrameKind::Pair) {
        let is_trailing = matches!(pair.body, Body::Pair { trailing: true, .. });
        receive(&mut b, at(if is_trailing { 5018 } else { 5010 }), pair);
    }
    let outputs = send(&mut a, at(5030), 2, Kind::Data);
    receive(
        &mut b,
        at(5040),
        of_kind(&outputs, FrameKind::Probe).remove(0),
    );
    assert!(lasts(&b).unwrap() > at(6000));
}
