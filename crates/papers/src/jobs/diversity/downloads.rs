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
use polypath_sim::{ConcurrentDownloads, DownloadsRun, run_concurrent_downloads};
use serde::{Deserialize, Serialize};

use self::observer::DownloadsObserver;
use super::setting::{GAMMA, SHARE, SHORT};

/// The time between samples: a round trip without queues.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
const FLOWS: u32 = 5;
/// The warm-up, in which the windows settle; the last download begins after the measurement.
const WARM_UP: Duration = Duration::from_secs(20);
const MEASURED: Duration = Duration::from_secs(100);
const LATE: Duration = Duration::from_secs(50);
/// The rate of a link: 100 packets of 1000 bytes for each flow in 0.1 s.
const RATE: f64 = 40e6;
/// The packets of a round trip without queues, which is also the limit of a queue.
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

/// The kind of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Queue {
    DropTail,
    /// RED with thresholds at a quarter and three quarters of the limit.
    Red,
    /// RED with ns-2's automatic thresholds.
    RedOfNs2,
}

/// TCP downloads over fading links.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Downloads {
    links: u32,
    queue: Queue,
    /// Whether receivers send ECN marks on a signature of congestion.
    cured: bool,
    /// Whether all links have exactly the same rate.
    alike: bool,
    seed: u64,
}

/// The result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Downloaded {
    pub(crate) seed: u64,
    /// The mean sum of congestion windows over the capacity of a round trip.
    pub(crate) overflow: f64,
    /// The mean offered load of a link.
    pub(crate) offered: f64,
    /// The share of offered packets that queues dropped.
    pub(crate) dropped: f64,
    /// The share of retransmissions.
    pub(crate) repeated: f64,
    /// The share of spurious retransmissions.
    pub(crate) spurious: f64,
    /// The mean number of window reductions of a flow.
    pub(crate) falls: f64,
    /// The mean sum of windows before a reduction, over the capacity of a round trip.
    pub(crate) before: f64,
    /// The goodput over the rate of a link.
    pub(crate) goodput: f64,
    /// Jain's index of the goodput of the downloads that began together.
    pub(crate) jain: f64,
    /// The goodput of the late download over the mean of the others.
    pub(crate) late: f64,
    /// The sum of windows over the capacity at each sample.
    pub(crate) window_sums: Vec<f64>,
}

impl Downloaded {
    /// The share of retransmissions of packets that were lost on all links.
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

    /// With receivers that send ECN marks on a signature of congestion.
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
    pub(crate) fn request(
        &self,
        study: &mut Study<'_>,
        seeds: u32,
    ) -> Result<Vec<Downloaded>, Pending> {
        let jobs = replica_seeds(SEED, seeds).into_iter().map(|seed| Self {
            seed,
            ..self.clone()
        });
        study.request_all(jobs)
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

    /// The scenario, with a fading link before the bottleneck of each path.
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
            share_endpoints: false,
            detector: self.cured.then(DetectorConfig::default),
            late: Some(Time::ZERO + begins),
        };
        let mut seen = DownloadsObserver::default();
        let span = begins + LATE;
        let run = DownloadsRun {
            seed: Seed(self.seed),
            span,
            interval: INTERVAL,
        };
        run_concurrent_downloads(&self.scenario()?, &downloads, run, &mut |sample| {
            seen.add(&sample);
        })?;
        Ok(seen.downloaded(self))
    }
}
