//! The testbed (III, Fig. 1): six sources on one host, two links of 1 Mb/s from it to the other.

use polypath_claims::JobError;
use polypath_scenario::Network;
use serde::Serialize;

use super::mechanism::{Mechanism, Rule};

/// The number of sources (III).
pub(crate) const SOURCES: u32 = 6;
/// The size of every datagram and heartbeat in bytes (III).
pub(crate) const PACKET: u32 = 250;
/// The rate of a link in b/s (III).
const RATE: u64 = 1_000_000;
/// The number of links.
const PATHS: u64 = 2;
/// The time in seconds after the last datagram, in which the longest queue drains.
const DRAIN: f64 = 5.0;

/// The parameters of a run on the testbed, without the seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Testbed {
    /// The path selection of the sources.
    pub(crate) mechanism: Mechanism,
    /// The utilisation of eq. 2 in percent: data over the rate of both links.
    pub(crate) utilisation: u32,
    /// The share of it that is background, in percent (IV.B).
    pub(crate) background: u32,
    /// Datagrams of each source.
    pub(crate) packets: u32,
    /// The choices that the paper leaves open.
    pub(crate) choices: Choices,
}

/// Parameters that the paper does not state, or that are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Choices {
    /// The queue of each link in packets.
    pub(crate) queue: u32,
    /// The path on which each source begins.
    pub(crate) first: FirstPaths,
    /// The time without a reply after which a path is silent, in ms.
    pub(crate) timeout: u32,
    /// The hysteresis of the reactive rule in ms (III).
    pub(crate) hysteresis: u32,
    /// The threshold of the predictive rule in ms (III).
    pub(crate) threshold: u32,
    /// The interval of heartbeats in guard time in ms (III).
    pub(crate) fast: u32,
    /// The size of a heartbeat in bytes (III).
    pub(crate) heartbeat: u32,
    /// The shortest and the longest guard time in ms (III).
    pub(crate) guard: [u32; 2],
    /// Whether a guard time follows each switch instead of preceding it (II.B).
    pub(crate) holds: bool,
    /// The random variation of the intervals between datagrams, in percent.
    pub(crate) jitter: u32,
    /// Whether heartbeats wait for the answer to the one before.
    pub(crate) waits: bool,
}

/// The path on which sources begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FirstPaths {
    /// A random path for each.
    Random,
    /// The same path for all.
    Listed,
    /// Each path for half of them.
    Even,
}

impl Choices {
    /// The choices of the figures.
    pub(crate) const OURS: Self = Self {
        queue: 1000,
        first: FirstPaths::Random,
        timeout: 3000,
        hysteresis: 10,
        threshold: 70,
        fast: 20,
        heartbeat: PACKET,
        guard: [1000, 4000],
        holds: false,
        jitter: 0,
        waits: false,
    };
}

impl Testbed {
    /// The rate of one source in b/s.
    fn source_rate(&self) -> f64 {
        self.offered() * f64::from(100 - self.background) / 100.0 / f64::from(SOURCES)
    }

    /// The rate of all data and background in b/s.
    fn offered(&self) -> f64 {
        f64::from(self.utilisation) / 100.0 * (RATE * PATHS) as f64
    }

    /// The interval between the datagrams of a source, in seconds.
    pub(crate) fn interval(&self) -> f64 {
        f64::from(PACKET * 8) / self.source_rate()
    }

    /// The sending time of a source in seconds.
    pub(crate) fn sending(&self) -> f64 {
        self.interval() * f64::from(self.packets)
    }

    /// The network.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub(crate) fn network(&self) -> Result<Network, JobError> {
        Ok(Network::parse(&self.text(), "delay-centric.toml", &[])?)
    }

    fn text(&self) -> String {
        let end = 1.0 + self.sending() * (1.0 + f64::from(self.choices.jitter) / 100.0) + DRAIN;
        format!(
            "schema = 1\nname = \"delay-centric\"\n[run]\nduration = \"{end:.3} s\"\nbatches = 2\n{}{}{}{}",
            self.path("left"),
            self.path("right"),
            self.sources(),
            self.background_text()
        )
    }

    /// A path: `tc` limits what leaves the sender, and Ethernet lies behind it.
    fn path(&self, name: &str) -> String {
        let queue = self.choices.queue;
        let ethernet = "rate = \"100 Mbit/s\"\ndelay = \"50 us\"\nqueue = \"1000 packets\"\n";
        format!(
            "[[link]]\nname = \"{name}-out\"\nfrom = \"sender\"\nto = \"{name}\"\nsimplex = true\n\
             rate = \"{RATE} bit/s\"\ndelay = \"0 s\"\nqueue = \"{queue} packets\"\n\
             [[link]]\nname = \"{name}-in\"\nfrom = \"{name}\"\nto = \"sender\"\nsimplex = true\n{ethernet}\
             [[link]]\nname = \"{name}-wire\"\nfrom = \"{name}\"\nto = \"receiver\"\n{ethernet}"
        )
    }

    fn sources(&self) -> String {
        let half = SOURCES / 2;
        match self.choices.first {
            FirstPaths::Random => self.some_sources("media", SOURCES, "random", ["left", "right"]),
            FirstPaths::Listed => self.some_sources("media", SOURCES, "listed", ["left", "right"]),
            FirstPaths::Even => {
                self.some_sources("media-left", half, "listed", ["left", "right"])
                    + &self.some_sources("media-right", half, "listed", ["right", "left"])
            }
        }
    }

    fn some_sources(&self, name: &str, count: u32, first: &str, [a, b]: [&str; 2]) -> String {
        let interval = self.interval() * 1e9;
        let jitter = f64::from(self.choices.jitter) / 100.0;
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"sender\"\nto = \"receiver\"\nstart_spread = \"1 s\"\n\
             [flow.traffic]\nkind = \"multihomed\"\npacket = \"{PACKET} B\"\ninterval = \"{interval:.0} ns\"\n\
             jitter = {jitter:?}\npackets = {}\nheartbeat = \"{} B\"\nack = \"52 B\"\nfirst = \"{first}\"\n\
             ways = [[\"{a}\"], [\"{b}\"]]\npolicy = {}\n",
            self.packets,
            self.choices.heartbeat,
            self.policy()
        )
    }

    fn policy(&self) -> String {
        let Choices {
            timeout,
            hysteresis,
            threshold,
            fast,
            guard: [least, most],
            holds,
            waits,
            ..
        } = self.choices;
        let rule = match self.mechanism.rule {
            Rule::Reactive => format!("kind = \"delay-centric\", hysteresis = \"{hysteresis} ms\""),
            Rule::Modified => predictive(threshold, "modified"),
            Rule::Original => predictive(threshold, "original"),
        };
        let guard = if self.mechanism.guard {
            let kind = if holds { "hold" } else { "confirm" };
            format!(
                "guard = {{ least = \"{least} ms\", most = \"{most} ms\", kind = \"{kind}\" }}, "
            )
        } else {
            String::new()
        };
        format!(
            "{{ {rule}, {guard}heartbeats = {{ least = \"500 ms\", most = \"1500 ms\", in_guard = \"{fast} ms\", \
             timeout = \"{timeout} ms\", wait = {waits} }} }}"
        )
    }

    fn background_text(&self) -> String {
        if self.background == 0 {
            return String::new();
        }
        let rate = self.offered() * f64::from(self.background) / 100.0 / PATHS as f64;
        let flow = |name: &str| {
            format!(
                "[[flow]]\nname = \"background-{name}\"\nfrom = \"sender\"\nto = \"receiver\"\nvia = [\"{name}\"]\n\
                 stop = \"{:.3} s\"\ntraffic = {{ kind = \"poisson\", packet = \"{PACKET} B\", rate = \"{rate:.0} bit/s\" }}\n",
                1.0 + self.sending()
            )
        };
        flow("left") + &flow("right")
    }
}

fn predictive(threshold: u32, trend: &str) -> String {
    format!(
        "kind = \"predictive-delay-centric\", threshold = \"{threshold} ms\", trend = \"{trend}\""
    )
}

#[cfg(test)]
mod tests {
    use polypath_core::policy::DelayCentricConfig;
    use polypath_core::time::Duration;
    use polypath_scenario::network::Traffic;

    use super::super::mechanism::{
        GUARD, ORIGINAL, ORIGINAL_GUARD, PREDICTIVE, PREDICTIVE_GUARD, PURE,
    };
    use super::*;

    fn bed(mechanism: Mechanism, background: u32) -> Testbed {
        Testbed {
            mechanism,
            utilisation: 99,
            background,
            packets: 3000,
            choices: Choices::OURS,
        }
    }

    #[test]
    fn data_and_background_come_to_the_utilisation() {
        for background in [0, 40] {
            let bed = bed(PURE, background);
            let media = f64::from(SOURCES) * bed.source_rate();
            let network = bed.network().unwrap();
            let others = network.flows.iter().filter_map(|flow| match flow.traffic {
                Traffic::Poisson(poisson) => Some(poisson.rate.0 as f64),
                _ => None,
            });
            let total = media + others.sum::<f64>();
            assert!((total / 1.98e6 - 1.0).abs() < 1e-6, "{total}");
        }
        assert!((bed(PURE, 0).sending() - 18.18).abs() < 0.01);
    }

    #[test]
    fn each_mechanism_is_the_policy_of_its_name() {
        for mechanism in [
            PURE,
            GUARD,
            PREDICTIVE,
            PREDICTIVE_GUARD,
            ORIGINAL,
            ORIGINAL_GUARD,
        ] {
            let network = bed(mechanism, 0).network().unwrap();
            let Traffic::Multihomed(multihomed) = &network.flows[0].traffic else {
                panic!("{:?}", network.flows[0])
            };
            assert_eq!(multihomed.policy.guard().is_some(), mechanism.guard);
            let is_reactive = matches!(multihomed.policy, DelayCentricConfig::DelayCentric(_));
            assert_eq!(is_reactive, mechanism.rule == Rule::Reactive);
            assert_eq!(
                multihomed.policy.heartbeats().in_guard,
                Duration::from_millis(20)
            );
            // Those of `polypath stability` have the same parameters.
            assert_eq!(mechanism.policy(multihomed.policy), Some(multihomed.policy));
        }
    }
}
