//! With a driver that wakes a world for departures, and otherwise rarely, every packet leaves at
//! the same time as with a wake for every event.

use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Scenario;
use polypath_sim::network::build;
use polypath_sim::{PortId, PortInput, Side, World, WorldOutput};

const SCENARIO: &str = r#"
schema = 1
name = "departures"
schemes = ["tcp"]
[transfer]
size = "1 kB"
count = 1
[background.busy]
hosts = 5
host_link = { rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets" }
tcp = { idle = "100 ms", file = { mu = 9.357, sigma = 1.318 } }
udp = { peak = "800 kbit/s", on = "1 s", off = "500 ms", packet = "1000 B" }
[[path]]
name = "path1"
background = "busy"
[[path.link]]
repeat = 4
rate = "5 Mbit/s"
delay = "3 ms"
queue = "20 packets"
"#;

const END: Time = Time(3_000_000_000);
const SERVER: PortId = PortId {
    path: PathId(0),
    side: Side::Server,
};

fn world() -> World<Vec<u8>> {
    let scenario = Scenario::parse(SCENARIO, "departures.toml", &[]).unwrap();
    build(&scenario, Seed(3)).unwrap()
}

/// Wakes the world at the times that `next` names and inserts a packet every 2 ms. Returns the
/// number and time of each departure, and the number of wakes.
fn drive(next: impl Fn(&World<Vec<u8>>, Time) -> Time) -> (Vec<(Time, usize)>, usize) {
    let mut world = world();
    let (mut left, mut wakes, mut sent, mut now) = (Vec::new(), 0, 0, Time::ZERO);
    while now < END {
        let input_at = Time(2_000_000 * (sent as u64 + 1));
        now = next(&world, now).min(input_at);
        let mut out = |output| {
            if let WorldOutput::Deliver { payload, .. } = output {
                left.push((now, Vec::len(&payload)));
            }
        };
        step(&mut world, now, Wake::Timeout, &mut out);
        if now == input_at {
            sent += 1;
            let payload = vec![0; sent % 1400 + 20];
            let input = PortInput {
                port: SERVER,
                payload,
            };
            step(&mut world, now, Wake::Input(input), &mut out);
        }
        wakes += 1;
    }
    (left, wakes)
}

#[test]
fn waking_for_departures_alone_changes_no_departure() {
    let (every, many) = drive(|world, _| world.deadline().unwrap().at);
    let slice = Duration::from_millis(1);
    let (sparse, few) = drive(|world, now| {
        let slack = now + slice;
        world.next_departure().map_or(slack, |at| at.min(slack))
    });
    assert!(every.len() > 500, "{}", every.len());
    assert!(
        every.len() < 1499,
        "none was dropped: the queues are not shared"
    );
    assert_eq!(every, sparse);
    assert!(few * 2 < many, "{few} of {many} wakes");
}
