//! The topologies of the paper with the parameters of a run.

use polypath_claims::JobError;
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_document::{Override, ParseOverrideError};
use polypath_scenario::{Background, Scenario, Scheme};
use serde::Serialize;

use super::idle::Idle;

/// A topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Topology {
    /// Two independent paths (Fig. 2).
    Apart,
    /// Two paths over common first links (Fig. 7).
    Shared,
}

/// The sources of datagrams; the paper states only that they are switched on and off at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Bursts {
    /// 800 kbit/s for 1 s.
    Strong,
    /// 500 kbit/s for 0.5 s, with pauses half as long.
    Mild,
    /// Sources for links of a tenth of the rate: 80 kbit/s for 1 s, and ten times as long from one
    /// file to the next.
    Slow,
}

/// A topology and the values that override its file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Setting {
    pub(crate) topology: Topology,
    pub(crate) bursts: Bursts,
    /// The overridden values, as `KEY=VALUE`.
    pub(crate) changes: Vec<String>,
}

/// The idle times of a path's sources that send to the client, and to the server.
pub(crate) type PathIdle = [Idle; 2];

/// The background of both paths; `None` if both are idle.
pub(crate) type Traffic = Option<[PathIdle; 2]>;

impl Setting {
    /// The topology of the file.
    pub(crate) const fn new(topology: Topology) -> Self {
        Self {
            topology,
            bursts: Bursts::Strong,
            changes: Vec::new(),
        }
    }

    /// The same with a value changed.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.changes.push(format!("{key}={value}"));
        self
    }

    /// The same with a value of the links of both paths changed.
    pub(crate) fn with_links(self, leaf: &str, value: &str) -> Self {
        let first = format!("path.path1.link.core.{leaf}");
        self.with(&first, value)
            .with(&format!("path.path2.link.core.{leaf}"), value)
    }

    /// The same with another limit of every queue, in packets.
    pub(crate) fn with_queues(self, packets: u32) -> Self {
        let limit = format!("{packets} packets");
        self.with_links("queue", &limit)
            .with("background.path1.host_link.queue", &limit)
            .with("background.path2.host_link.queue", &limit)
    }

    /// The topology of Fig. 2 with `links` links per path and the sources for their rate, 10 or 1
    /// Mbit/s (5.2).
    pub(crate) fn of_links(links: u32, mbits: u64) -> Self {
        let bursts = if mbits < 10 {
            Bursts::Slow
        } else {
            Bursts::Strong
        };
        Self::new(Topology::Apart)
            .with_bursts(bursts)
            .with_links("repeat", &links.to_string())
            .with_links("rate", &format!("{mbits} Mbit/s"))
    }

    /// The same with other bursts.
    pub(crate) const fn with_bursts(mut self, bursts: Bursts) -> Self {
        self.bursts = bursts;
        self
    }

    /// The scenario with this background, for transfers by `schemes`.
    pub(crate) fn scenario(
        &self,
        traffic: &Traffic,
        schemes: &[Scheme],
    ) -> Result<Scenario, JobError> {
        let text = match self.topology {
            Topology::Apart => include_str!("fig2.toml"),
            Topology::Shared => include_str!("fig7.toml"),
        };
        let changes: Result<Vec<Override>, ParseOverrideError> =
            self.changes.iter().map(|change| change.parse()).collect();
        let changes = changes.map_err(|error| JobError::Other(error.to_string()))?;
        let mut scenario = Scenario::parse(text, "the topology of the paper", &changes)?;
        scenario.schemes = schemes.to_vec();
        if schemes == [Scheme::Tcp] && self.topology == Topology::Apart {
            // Plain TCP uses only the first path, whose background is the same without the other.
            scenario.paths.truncate(1);
        }
        self.load(&mut scenario, traffic);
        Ok(scenario)
    }

    /// Gives each path and direction its idle times.
    fn load(&self, scenario: &mut Scenario, traffic: &Traffic) {
        let Some(paths) = traffic else {
            scenario.background = Background::Off;
            return;
        };
        let Background::Profiles(profiles) = &mut scenario.background else {
            return;
        };
        for (path, idle) in scenario.paths.iter_mut().zip(paths) {
            let Some(mut profile) = profiles.get(&path.name).cloned() else {
                continue;
            };
            let back_name = format!("{}-back", path.name);
            for (name, idle) in [(path.name.clone(), idle[0]), (back_name.clone(), idle[1])] {
                self.bursts.pause(&mut profile, idle);
                profiles.insert(name, profile.clone());
            }
            path.background_back = Some(back_name);
        }
    }
}

impl Bursts {
    /// Sets the pauses of the sources of a profile, and its other differences.
    fn pause(self, profile: &mut polypath_scenario::Profile, idle: Idle) {
        let (files, kbits, on, off) = match self {
            Bursts::Strong => (1.0, 800, 1.0, 1.0),
            Bursts::Mild => (1.0, 500, 0.5, 0.5),
            Bursts::Slow => (10.0, 80, 1.0, 1.0),
        };
        if let Some(tcp) = &mut profile.tcp {
            tcp.idle = Duration::from_secs_f64(idle.tcp * files);
        }
        if let Some(udp) = &mut profile.udp {
            udp.peak = Rate(kbits * 1000);
            udp.on = Duration::from_secs_f64(on);
            udp.off = Duration::from_secs_f64(idle.udp * off);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_changes_its_parameter_and_loads_each_direction() {
        let idle = [0.1, 0.2, 0.3, 0.4].map(|tcp: f64| Idle::at(tcp.ln()));
        let traffic = Some([[idle[0], idle[1]], [idle[2], idle[3]]]);
        let setting = Setting::new(Topology::Apart)
            .with_queues(20)
            .with_bursts(Bursts::Mild);
        let scenario = setting.scenario(&traffic, &[Scheme::PpdTcp2]).unwrap();
        assert_eq!(scenario.schemes, [Scheme::PpdTcp2]);
        let limit = polypath_link::QueueLimit::Packets(20);
        for (n, path) in scenario.paths.iter().enumerate() {
            assert_eq!(path.links[0].queue, limit.into());
            let there = scenario.profile(path).unwrap();
            let back = scenario.profile_back(path).unwrap();
            for (profile, idle) in [(there, idle[2 * n]), (back, idle[2 * n + 1])] {
                assert_eq!(profile.host_link.queue, limit);
                assert_eq!(profile.tcp.unwrap().idle, Duration::from_secs_f64(idle.tcp));
                assert_eq!(
                    profile.udp.unwrap().off,
                    Duration::from_secs_f64(idle.udp / 2.0)
                );
            }
        }
    }

    #[test]
    fn both_topologies_are_scenarios_and_may_be_idle() {
        for topology in [Topology::Apart, Topology::Shared] {
            let scenario = Setting::new(topology)
                .scenario(&None, &Scheme::ALL)
                .unwrap();
            assert_eq!(scenario.background, Background::Off);
            assert!(scenario.paths.iter().all(|path| path.hops() == 5));
        }
        let wrong = Setting::new(Topology::Apart).with("path.path3.background", "x");
        assert!(wrong.scenario(&None, &Scheme::ALL).is_err());
    }
}
