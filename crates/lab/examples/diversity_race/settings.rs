//! The links of each carrier, and the simulation of the same downloads.

use polypath_batch::replica_seeds;
use polypath_core::policy::{DiversityConfig, PolicyConfig};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_lab::downloads::{DownloadCarrier, DownloadOutcome, DownloadSchedule};
use polypath_link::Counters;
use polypath_report::downloads::DownloadShares;
use polypath_scenario::Scenario;
use polypath_sim::{DownloadsRun, DownloadsSample, Side, run_concurrent_downloads};

use super::scenario::parse;
use super::{Args, RaceError};

/// The times of a run: 300 round trips are measured.
pub(crate) const SCHEDULE: DownloadSchedule = DownloadSchedule {
    flows: 1,
    warm_up: Duration::from_secs(10),
    measured: Duration::from_secs(30),
    last: Duration::from_secs(15),
};
/// The bytes of a simulated segment that are headers: IPv4, TCP, and its timestamps (RFC 7323).
const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// A carrier, by its links.
pub(crate) struct Setting {
    /// Its name in tables.
    pub(crate) name: &'static str,
    links: usize,
    fades: bool,
    /// Whether packets are copied to all links, and marked on congestion.
    copies: Option<bool>,
}

/// The carriers; the first two are one link without nodes, which the others are compared with.
pub(crate) const SETTINGS: [Setting; 6] = [
    Setting::single("1 link, no fades", false),
    Setting::single("1 link", true),
    Setting::copied("2 links, copies", 2, false),
    Setting::copied("2 links, marks", 2, true),
    Setting::copied("4 links, copies", 4, false),
    Setting::copied("4 links, marks", 4, true),
];

impl Setting {
    const fn single(name: &'static str, fades: bool) -> Self {
        Self {
            name,
            links: 1,
            fades,
            copies: None,
        }
    }

    const fn copied(name: &'static str, links: usize, marks: bool) -> Self {
        Self {
            name,
            links,
            fades: true,
            copies: Some(marks),
        }
    }

    /// Whether the nodes mark on congestion.
    pub(crate) fn marks(&self) -> bool {
        self.copies == Some(true)
    }

    /// The carrier of the lab.
    pub(crate) fn carrier(&self) -> Result<DownloadCarrier, RaceError> {
        let mut scenario = scenario(&[])?;
        scenario.paths.truncate(self.links);
        if !self.fades {
            let links = scenario.paths.iter_mut().flat_map(|path| &mut path.links);
            links.for_each(|link| link.fades = None);
        }
        let policy = |marks| {
            if marks {
                PolicyConfig::Diversity(DiversityConfig::default())
            } else {
                PolicyConfig::DuplicateAll {}
            }
        };
        Ok(DownloadCarrier {
            name: self.name.to_owned(),
            scenario,
            policy: self.copies.map(policy),
        })
    }
}

fn scenario(sets: &[&str]) -> Result<Scenario, RaceError> {
    let text = include_str!("../../../../scenarios/fading-links.toml");
    parse(text, "fading-links.toml", sets).map_err(RaceError::Scenario)
}

/// The outcomes of each carrier in the simulator, by run; `None` for a congestion control that it
/// does not have.
pub(crate) fn simulate(
    carriers: &[DownloadCarrier],
    control: &str,
    schedule: DownloadSchedule,
    args: &Args,
) -> Result<Option<Vec<Vec<DownloadOutcome>>>, RaceError> {
    let variant = match control {
        // The kernel's recovery uses selective acknowledgments.
        "reno" => "sack",
        "cubic" => "cubic",
        _ => return Ok(None),
    };
    let tcp = scenario(&[&format!("tcp.variant={variant}"), "tcp.initial_window=10"])?.tcp;
    let of = |carrier: &DownloadCarrier| {
        let mut carrier = carrier.clone();
        carrier.scenario.tcp = tcp.clone();
        let seeds = replica_seeds(args.seed, args.runs);
        seeds
            .into_iter()
            .map(|seed| simulated(&carrier, schedule, Seed(seed)))
            .collect()
    };
    carriers.iter().map(of).collect::<Result<_, _>>().map(Some)
}

fn simulated(
    carrier: &DownloadCarrier,
    schedule: DownloadSchedule,
    seed: Seed,
) -> Result<DownloadOutcome, RaceError> {
    let times = schedule.totals_at().map(|after| Time::ZERO + after);
    let [.., end] = schedule.totals_at();
    let payload = carrier
        .scenario
        .tcp
        .segment
        .0
        .saturating_sub(SEGMENT_HEADERS) as f64;
    let mut totals = Vec::new();
    let mut take = |sample: DownloadsSample<'_>| {
        if times.contains(&sample.at) {
            let bytes = sample
                .arrived
                .iter()
                .map(|&segments| f64::from(segments) * payload);
            let links = sample
                .links
                .iter()
                .filter(|link| link.name.towards == Some(Side::Client));
            let links: Counters = links.map(|link| link.counters).sum();
            totals.push((bytes.collect::<Vec<f64>>(), links));
        }
    };
    let run = DownloadsRun {
        seed,
        span: end,
        interval: Duration::from_secs(1),
    };
    let downloads = schedule.simulated(carrier);
    run_concurrent_downloads(&carrier.scenario, &downloads, run, &mut take)?;
    let [(start, before), (end, after), (last, _)] = &totals[..] else {
        return Err(RaceError::Scenario(
            "the times of the totals are no whole seconds".to_owned(),
        ));
    };
    Ok(DownloadOutcome {
        shares: DownloadShares::of([start, end, last]),
        measured: schedule.measured,
        links: *after - *before,
        marked: 0,
    })
}
