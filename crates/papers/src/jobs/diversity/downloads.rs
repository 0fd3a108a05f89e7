//! Downloads over links that fade, packet by packet.

mod observer;

use std::fmt::Write;
use std::sync::atomic::AtomicU64;

use polypath_batch::replica_seeds;
use polypath_claims::{Job, JobError, Pending, SEED, Study};
use polypath_core::combine::DetectorConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::{ConcurrentDownloads, run_concurrent_downloads};
use serde::{Deserialize, Serialize};

use self::observer::Seen;
use super::setting::{GAMMA, SHARE, SHORT};

/// The time between samples: a round trip without queues.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
const FLOWS: u32 = 5;
/// What is measured begins then, when the windows have settled; the last download begins at the end of it.
const WARM_UP: Duration = Duration::from_secs(20);
const MEASURED: Duration = Duration::from_secs(100);
const LATE: Duration = Duration::from_secs(50);
/// The rate of a link: 100 packets of 1000 bytes for each flow in 0.1 s.
const RATE: f64 = 40e6;
/// Packets of a round trip without queues, which is the room of a queue, too.
const CAPACITY: u32 = SHARE * FLOWS;

/// The parameters with their source.
const PARAMETERS: [[&str; 2]; 6] = [
    [
        "downloads",
        "5, and a sixth that begins 120 s later: chosen",
    ],
    [
        "TCP",
        "SACK, 1000-byte packets, slow start and halving: chosen",
    ],
    [
        "links",
        "40 Mb/s, 50 ms each way: 500 packets a round trip of 0.1 s, as in Fig. 4",
    ],
    [
        "fading",
        "gamma 0.1/s, nu 100/s before the queue: stated (Figs. 3 to 5)",
    ],
    [
        "queues",
        "500 packets; RED from 125 to 375, 0.1 there, 1 at 750: chosen",
    ],
    [
        "cure",
        "the default signature; windows of 100 ms; ECN of RFC 3168",
    ],
];

/// How a queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Queue {
    DropTail,
    /// With thresholds at a quarter and three quarters of the room.
    Red,
    /// With ns-2's automatic thresholds.
    RedOfNs2,
}

/// Downloads by TCP over links of which each fades.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Downloads {
    links: u32,
    queue: Queue,
    /// Whether receivers mark on a sign of congestion.
    cured: bool,
    /// Whether the links have the same rate to the last bit.
    alike: bool,
    seed: u64,
}

/// The result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Downloaded {
    pub(crate) seed: u64,
    /// The mean sum of congestion windows over the capacity of a round trip.
    pub(crate) overflow: f64,
    /// What was sent on a link over its rate, on average.
    pub(crate) offered: f64,
    /// The share of that which queues dropped.
    pub(crate) dropped: f64,
    /// The share of what senders sent that they had sent before.
    pub(crate) repeated: f64,
    /// The share of what they sent that came to a receiver which had it: repeated without need.
    pub(crate) spurious: f64,
    /// How often a flow's window fell, on average.
    pub(crate) falls: f64,
    /// The mean sum of windows before one did, over the capacity of a round trip.
    pub(crate) before: f64,
    /// What arrived in order over the rate of a link.
    pub(crate) goodput: f64,
    /// Jain's index of that, of those that began together.
    pub(crate) jain: f64,
    /// What arrived of the late one in its first time over the mean of the others.
    pub(crate) late: f64,
    /// The sum of windows over the capacity at each sample.
    pub(crate) window_sums: Vec<f64>,
}

impl Downloaded {
    /// The share of what senders sent that they repeated because no copy had come: packets lost on all links.
    pub(crate) fn lost(&self) -> f64 {
        self.repeated - self.spurious
    }
}

impl Downloads {
    pub(crate) const fn new(links: u32, queue: Queue) -> Self {
        Self {
            links,
            queue,
            cured: false,
            alike: false,
            seed: 0,
        }
    }

    /// With receivers that mark on a sign of congestion.
    pub(crate) const fn cured(self) -> Self {
        Self {
            cured: true,
            ..self
        }
    }

    /// With links of the same rate.
    pub(crate) const fn alike(self) -> Self {
        Self {
            alike: true,
            ..self
        }
    }

    /// The runs.
    ///
    /// # Errors
    /// If results are missing.
    pub(crate) fn ask(
        &self,
        study: &mut Study<'_>,
        seeds: u32,
    ) -> Result<Vec<Downloaded>, Pending> {
        let jobs = replica_seeds(SEED, seeds).into_iter().map(|seed| Self {
            seed,
            ..self.clone()
        });
        study.ask_all(jobs)
    }

    pub(crate) fn parameters() -> Vec<[String; 2]> {
        PARAMETERS.map(|both| both.map(ToOwned::to_owned)).to_vec()
    }

    fn queue(&self) -> String {
        let red = |thresholds: &str| {
            format!(
                "{{ kind = \"red\", limit = \"{CAPACITY} packets\", mean_packet = \"1 kB\"{thresholds} }}"
            )
        };
        match self.queue {
            Queue::DropTail => format!("\"{CAPACITY} packets\""),
            Queue::Red => red(&format!(
                ", min_th = {}, max_th = {}",
                CAPACITY / 4,
                3 * CAPACITY / 4
            )),
            Queue::RedOfNs2 => red(""),
        }
    }

    /// The scenario: before the bottleneck of each path a link that fades.
    fn scenario(&self) -> Result<Scenario, JobError> {
        let mut text = format!(
            "schema = 1\nname = \"downloads\"\nschemes = [\"ppd-tcp2\"]\n[transfer]\nsize = \"1 MB\"\ncount = 1\n\
             [tcp]\nvariant = \"sack\"\nreceiver_window = {}\necn = {}\n",
            10 * CAPACITY,
            self.cured
        );
        let (up, down) = (1.0 / GAMMA, 1000.0 / SHORT);
        for link in 0..self.links {
            // In a tenth of a percent of the rate.
            let differs = if self.alike { 0.0 } else { f64::from(link) };
            let rate = RATE * (1.0 + differs / 1000.0) / 1000.0;
            let written = write!(
                text,
                "[[path]]\nname = \"path{link}\"\n\
                 [[path.link]]\nname = \"air\"\nrate = \"1 Gb/s\"\ndelay = \"0 ms\"\nqueue = \"2000 packets\"\n\
                 onoff = {{ up = \"{up} s\", down = \"{down} ms\" }}\n\
                 [[path.link]]\nname = \"core\"\nrate = \"{rate} kb/s\"\ndelay = \"50 ms\"\nqueue = {}\n",
                self.queue()
            );
            written.map_err(|error| JobError::Other(error.to_string()))?;
        }
        Ok(Scenario::parse(&text, "downloads", &[])?)
    }
}

impl Job for Downloads {
    type Output = Downloaded;

    const KIND: &'static str = "downloads";

    fn cost(&self) -> f64 {
        0.6 * f64::from(self.links) + 0.6
    }

    fn run(&self, _: &AtomicU64) -> Result<Downloaded, JobError> {
        let begins = WARM_UP + MEASURED;
        let downloads = ConcurrentDownloads {
            flows: FLOWS + 1,
            scheme: Scheme::PpdTcp2,
            detector: self.cured.then(DetectorConfig::default),
            late: Some(Time::ZERO + begins),
        };
        let mut seen = Seen::default();
        let span = begins + LATE;
        let spans = (Seed(self.seed), span, INTERVAL);
        run_concurrent_downloads(&self.scenario()?, &downloads, spans, &mut |sample| {
            seen.add(&sample);
        })?;
        Ok(seen.downloaded(self))
    }
}
