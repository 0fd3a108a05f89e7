//! Downloads over links that fade and that the downloads fill, by TCP in the simulator and by the
//! kernel's in the lab: over one link, and with copies on several, with and without marks.

use std::sync::atomic::AtomicU64;

use polypath_claims::{Job, JobError, LabJob, LabOutcome, LabRun};
use polypath_core::policy::{DiversityConfig, PolicyConfig};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_document::Override;
use polypath_link::Counters;
use polypath_report::downloads::{
    DownloadCarrier, DownloadOutcome, DownloadSchedule, DownloadShares, KernelRecovery,
};
use polypath_scenario::Scenario;
use polypath_sim::tcp::SenderStats;
use polypath_sim::{DownloadsRun, DownloadsSample, Side, run_concurrent_downloads};
use serde::{Deserialize, Serialize};

/// The times of a run: 300 round trips are measured.
const SCHEDULE: DownloadSchedule = DownloadSchedule {
    flows: 1,
    warm_up: Duration::from_secs(10),
    measured: Duration::from_secs(30),
    last: Duration::from_secs(15),
};
/// The bytes of a simulated segment that are headers: IPv4, TCP, and its timestamps (RFC 7323).
const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// The links that carry the downloads, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// One link that does not fade, without nodes.
    Unfaded,
    /// One link that fades, without nodes.
    Single,
    /// The same in the lab by a TCP without loss probes and F-RTO.
    NoProbes,
    /// Copies on this number of links that fade.
    Copies(u8),
    /// The same, and marks on congestion.
    Marks(u8),
}

impl Carrier {
    pub(crate) const SIMULATED: [Self; 6] = [
        Self::Unfaded,
        Self::Single,
        Self::Copies(2),
        Self::Marks(2),
        Self::Copies(4),
        Self::Marks(4),
    ];
    pub(crate) const IN_LAB: [Self; 7] = [
        Self::Unfaded,
        Self::Single,
        Self::NoProbes,
        Self::Copies(2),
        Self::Marks(2),
        Self::Copies(4),
        Self::Marks(4),
    ];

    pub(crate) fn title(self) -> String {
        match self {
            Self::Unfaded => "1 link, no fades".to_owned(),
            Self::Single => "1 link".to_owned(),
            Self::NoProbes => "1 link, no probes".to_owned(),
            Self::Copies(links) => format!("{links} links, copies"),
            Self::Marks(links) => format!("{links} links, marks"),
        }
    }

    fn links(self) -> usize {
        match self {
            Self::Unfaded | Self::Single | Self::NoProbes => 1,
            Self::Copies(links) | Self::Marks(links) => links.into(),
        }
    }

    fn policy(self) -> Option<PolicyConfig> {
        match self {
            Self::Unfaded | Self::Single | Self::NoProbes => None,
            Self::Copies(_) => Some(PolicyConfig::DuplicateAll {}),
            Self::Marks(_) => Some(PolicyConfig::Diversity(DiversityConfig::default())),
        }
    }

    fn over(self, mut scenario: Scenario) -> DownloadCarrier {
        scenario.paths.truncate(self.links());
        if self == Self::Unfaded {
            let links = scenario.paths.iter_mut().flat_map(|path| &mut path.links);
            links.for_each(|link| link.fades = None);
        }
        DownloadCarrier {
            name: self.title(),
            scenario,
            policy: self.policy(),
            recovery: match self {
                Self::NoProbes => KernelRecovery::NoProbes,
                _ => KernelRecovery::Full,
            },
        }
    }
}

/// The congestion control of the downloads, by the kernel's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Control {
    Reno,
    Cubic,
    Bbr,
}

impl Control {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// The variant of the simulator's TCP; `None` if it does not have it. The kernel's recovery uses
    /// selective acknowledgments.
    pub(crate) const fn simulated(self) -> Option<&'static str> {
        match self {
            Self::Reno => Some("sack"),
            Self::Cubic => Some("cubic"),
            Self::Bbr => None,
        }
    }
}

/// Downloads by all carriers with one seed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FadingDownloads {
    /// The number of downloads that begin together; one more begins after the measurement.
    pub(crate) flows: u32,
    pub(crate) control: Control,
    pub(crate) seed: u64,
}

/// The same downloads by the kernel's TCP.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FadingDownloadsInLab(pub(crate) FadingDownloads);

/// The result of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// The goodput in bits per second.
    pub(crate) goodput: f64,
    /// Jain's index of the downloads that began together.
    pub(crate) jain: f64,
    /// The goodput of the download that begins last over the mean of the others.
    pub(crate) late: f64,
    /// The mean wait of a packet at a link in seconds.
    pub(crate) queue_delay: f64,
    /// The share of packets that the links dropped at their queues.
    pub(crate) dropped: f64,
    /// The packets that arrived with a mark, in the whole run.
    pub(crate) marked: u64,
    /// The share of packets that no link delivered.
    pub(crate) lost: f64,
}

impl Carried {
    fn of(outcome: &DownloadOutcome) -> Self {
        let offered = outcome.links.packets_in.max(1) as f64;
        Self {
            goodput: outcome.goodput(),
            jain: outcome.shares.jain,
            late: outcome.shares.late,
            queue_delay: outcome.queue_delay(),
            dropped: outcome.links.drops.queue() as f64 / offered,
            marked: outcome.marked,
            lost: outcome.lost,
        }
    }
}

impl FadingDownloads {
    const fn schedule(&self) -> DownloadSchedule {
        DownloadSchedule {
            flows: self.flows,
            ..SCHEDULE
        }
    }

    fn carriers(&self, carriers: &[Carrier]) -> Result<Vec<DownloadCarrier>, JobError> {
        let variant = self.control.simulated().unwrap_or("sack");
        let sets = [&format!("tcp.variant={variant}"), "tcp.initial_window=10"];
        let overrides = sets.map(str::parse::<Override>);
        let overrides: Result<Vec<_>, _> = overrides.into_iter().collect();
        let overrides = overrides.map_err(|error| JobError::Other(error.to_string()))?;
        let text = include_str!("../../../../../scenarios/fading-links.toml");
        let scenario = Scenario::parse(text, "fading-links.toml", &overrides)?;
        let carriers = carriers.iter();
        Ok(carriers
            .map(|carrier| carrier.over(scenario.clone()))
            .collect())
    }

    fn simulate(&self, carrier: &DownloadCarrier) -> Result<DownloadOutcome, JobError> {
        let schedule = self.schedule();
        let times = schedule.totals_at().map(|after| Time::ZERO + after);
        let [.., span] = schedule.totals_at();
        let segment = carrier.scenario.tcp.segment.0;
        let payload = segment.saturating_sub(SEGMENT_HEADERS) as f64;
        let mut totals = Vec::new();
        let mut take = |sample: DownloadsSample<'_>| {
            if times.contains(&sample.at) {
                totals.push(Totals::of(&sample, payload));
            }
        };
        let run = DownloadsRun {
            seed: Seed(self.seed),
            span,
            interval: Duration::from_secs(1),
        };
        let downloads = schedule.simulated(carrier);
        run_concurrent_downloads(&carrier.scenario, &downloads, run, &mut take)?;
        let [start, end, last] = &totals[..] else {
            let why = "the times of the totals are no whole seconds";
            return Err(JobError::Other(why.to_owned()));
        };
        Ok(DownloadOutcome {
            shares: DownloadShares::of([&start.bytes, &end.bytes, &last.bytes]),
            measured: schedule.measured,
            links: end.links - start.links,
            marked: last.marked,
            lost: last.lost,
        })
    }
}

/// The totals of a run at some time.
struct Totals {
    /// The bytes that each download has received.
    bytes: Vec<f64>,
    /// The segments that have arrived with a mark.
    marked: u64,
    /// The share of the segments sent that all links lost.
    lost: f64,
    /// The counters of all links towards the clients.
    links: Counters,
}

impl Totals {
    fn of(sample: &DownloadsSample<'_>, payload: f64) -> Self {
        let arrived = sample.arrived.iter();
        let links = sample.links.iter();
        let links = links.filter(|link| link.name.towards == Some(Side::Client));
        let total = |of: fn(&SenderStats) -> u64| sample.senders.iter().map(of).sum::<u64>();
        let (sent, repeated) = (total(|of| of.sent), total(|of| of.retransmitted));
        let spurious: u64 = sample.spurious.iter().sum();
        Self {
            bytes: arrived
                .map(|&segments| f64::from(segments) * payload)
                .collect(),
            marked: sample.marks.iter().sum(),
            // The others among those sent again had arrived.
            lost: repeated.saturating_sub(spurious) as f64 / sent.max(1) as f64,
            links: links.map(|link| link.counters).sum(),
        }
    }
}

impl Job for FadingDownloads {
    type Output = Vec<Carried>;

    const KIND: &'static str = "diversity.fading_links";

    fn cost(&self) -> f64 {
        12.0
    }

    fn run(&self, _: &AtomicU64) -> Result<Vec<Carried>, JobError> {
        let carriers = self.carriers(&Carrier::SIMULATED)?;
        let outcomes = carriers.iter().map(|carrier| self.simulate(carrier));
        outcomes.map(|outcome| Ok(Carried::of(&outcome?))).collect()
    }
}

impl LabJob for FadingDownloadsInLab {
    type Output = Vec<Carried>;

    const KIND: &'static str = "diversity.fading_links.lab";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        Ok(vec![LabRun::Downloads {
            carriers: self.0.carriers(&Carrier::IN_LAB)?,
            congestion_control: self.0.control.name().to_owned(),
            schedule: self.0.schedule(),
            seed: self.0.seed,
        }])
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<Vec<Carried>, JobError> {
        match outcomes {
            [LabOutcome::Downloads(outcomes)] => Ok(outcomes.iter().map(Carried::of).collect()),
            _ => Err(JobError::Other(
                "the outcome is not that of downloads".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_carrier_has_its_links_and_only_the_first_none_that_fade() {
        let downloads = FadingDownloads {
            flows: 1,
            control: Control::Cubic,
            seed: 1,
        };
        let carriers = downloads.carriers(&Carrier::IN_LAB).unwrap();
        let links: Vec<usize> = carriers.iter().map(|of| of.scenario.paths.len()).collect();
        assert_eq!(links, [1, 1, 1, 2, 2, 4, 4]);
        let fades = carriers.iter().map(|carrier| {
            let mut links = carrier.scenario.paths.iter().flat_map(|path| &path.links);
            links.all(|link| link.fades.is_some())
        });
        assert_eq!(
            fades.collect::<Vec<_>>(),
            [false, true, true, true, true, true, true]
        );
        let policies = carriers.iter().map(|of| of.policy.map(PolicyConfig::name));
        let (copies, marks) = (Some("duplicate-all"), Some("diversity"));
        assert_eq!(
            policies.collect::<Vec<_>>(),
            [None, None, None, copies, marks, copies, marks]
        );
        let no_probes = carriers
            .iter()
            .map(|carrier| carrier.recovery == KernelRecovery::NoProbes);
        assert_eq!(
            no_probes.collect::<Vec<_>>(),
            [false, false, true, false, false, false, false]
        );
    }

    #[test]
    fn a_simulated_download_gains_by_copies() {
        let downloads = FadingDownloads {
            flows: 1,
            control: Control::Reno,
            seed: 1,
        };
        let carriers = downloads.carriers(&Carrier::SIMULATED).unwrap();
        let [single, marks] = [1, 3].map(|at| downloads.simulate(&carriers[at]).unwrap());
        assert!(
            marks.goodput() > 1.6 * single.goodput(),
            "{marks:?} {single:?}"
        );
        assert!(marks.goodput() < 20e6);
    }
}
