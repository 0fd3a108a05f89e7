//! Packets that measure a path under load, without a transfer: pairs, probes and data.

use polypath_claims::JobError;
use polypath_core::estimate::DeltaT;
use polypath_core::frame::{PathId, Payload};
use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::network::build;
use polypath_sim::{PortId, PortInput, RunError, Side, World, WorldOutput};

use super::calibration::WARM_UP;
use super::setting::{Setting, Traffic};

/// A probe (3.3), in bytes.
pub(crate) const PROBE: u32 = 40;

/// A data packet (5.1), in bytes.
pub(crate) const DATA: u32 = 1000;

/// A packet of a pair, or one in a copy of the network.
#[derive(Clone, Copy, Debug)]
struct ProbePacket {
    /// The number of the pair; `None` in a copy.
    pair: Option<u64>,
    size: u32,
}

impl Payload for ProbePacket {
    fn len(&self) -> usize {
        self.size as usize
    }
}

/// The second path from the server to the client, under load.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    world: World<ProbePacket>,
    delta_t: DeltaT,
    now: Time,
    pairs: u64,
}

impl Path {
    /// The path after its warm-up.
    pub(crate) fn new(setting: &Setting, traffic: &Traffic, seed: u64) -> Result<Self, JobError> {
        let scenario: Scenario = setting.scenario(traffic, &Scheme::ALL)?;
        let mut world = build(&scenario, Seed(seed)).map_err(RunError::from)?;
        let now = Time::ZERO + WARM_UP;
        world.run_until(now, &mut |_| {});
        Ok(Self {
            world,
            delta_t: DeltaT::default(),
            now,
            pairs: 0,
        })
    }

    /// Sends a pair, a probe followed immediately by a data packet, and runs for `span`. Returns
    /// what pairs measured in that time.
    pub(crate) fn next_pair(&mut self, span: Duration) -> Vec<Duration> {
        let pair = Some(self.pairs);
        for size in [PROBE, DATA] {
            self.send(ProbePacket { pair, size });
        }
        self.pairs += 1;
        self.run_for(span)
    }

    /// Runs for `span` and returns what pairs measured in that time.
    fn run_for(&mut self, span: Duration) -> Vec<Duration> {
        let end = self.now + span;
        let mut measured = Vec::new();
        let mut left = Vec::new();
        while let Some(at) = self.world.run_until_output(end, &mut |o| left.push(o)) {
            for packet in left.drain(..).filter_map(|output| delivered(&output)) {
                measured.extend(self.take(at, packet));
            }
        }
        self.now = end;
        measured
    }

    fn take(&mut self, at: Time, packet: ProbePacket) -> Option<Duration> {
        let pair = packet.pair?;
        if packet.size == PROBE {
            self.delta_t.on_leading(at, pair, packet.size);
            return None;
        }
        let measured = self.delta_t.on_trailing(at, pair, packet.size);
        measured.map(|measured| measured.span)
    }

    /// The latest delta T, if a pair has come through.
    pub(crate) fn delta_t(&self) -> Option<Duration> {
        self.delta_t.of(DATA - PROBE)
    }

    /// The delay of a packet of this size if it were sent now; `None` if it would be lost. It is
    /// sent in a copy of the network, so this one does not change.
    pub(crate) fn delay_of(&self, size: u32) -> Option<Duration> {
        let mut copy = self.clone();
        copy.send(ProbePacket { pair: None, size });
        let end = self.now + WARM_UP;
        let mut left = Vec::new();
        while let Some(at) = copy.world.run_until_output(end, &mut |o| left.push(o)) {
            for output in left.drain(..) {
                match output {
                    WorldOutput::Deliver { payload, .. } if payload.pair.is_none() => {
                        return Some(at.since(self.now));
                    }
                    WorldOutput::Dropped { payload, .. } if payload.pair.is_none() => return None,
                    _ => {}
                }
            }
        }
        None
    }

    fn send(&mut self, payload: ProbePacket) {
        let port = PortId {
            path: PathId(1),
            side: Side::Server,
        };
        let input = PortInput { port, payload };
        // A packet that the first link drops does not arrive.
        self.world.handle_input(self.now, input, &mut |_| {});
    }
}

fn delivered(output: &WorldOutput<ProbePacket>) -> Option<ProbePacket> {
    match output {
        WorldOutput::Deliver { payload, .. } => Some(*payload),
        WorldOutput::Dropped { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::ppd::idle::Idle;
    use crate::jobs::ppd::setting::Topology;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn delays_on_an_idle_path_are_those_of_its_links() {
        let setting = Setting::new(Topology::Apart);
        let mut path = Path::new(&setting, &None, 1).unwrap();
        // Five times 960 B more, and the 40 B of the probe before it on the first link.
        let pair = Duration::from_nanos(5 * 768_000 + 32_000);
        assert_eq!(path.next_pair(SECOND), [pair]);
        assert_eq!(path.delta_t(), Some(pair));
        let [probe, data] = [PROBE, DATA].map(|size| path.delay_of(size).unwrap());
        assert_eq!(probe, Duration::from_nanos(5 * (20_000_000 + 32_000)));
        assert_eq!(data, Duration::from_nanos(5 * (20_000_000 + 800_000)));
    }

    #[test]
    fn packets_in_a_copy_do_not_change_the_path() {
        let setting = Setting::new(Topology::Apart);
        let traffic = Some([[Idle::at(-1.0); 2]; 2]);
        let measured = |asked: bool| -> Vec<Duration> {
            let mut path = Path::new(&setting, &traffic, 3).unwrap();
            let pair = |_| {
                let spans = path.next_pair(SECOND);
                if asked {
                    path.delay_of(DATA);
                }
                spans
            };
            (0..20).flat_map(pair).collect()
        };
        assert!(measured(false).len() > 10);
        assert_eq!(measured(false), measured(true));
    }
}
