//! The lab of this machine, for figures that measure on real sockets.

use polypath_claims::{Lab, LabOutcome, LabRun, SendersLabOutcome};
use polypath_lab::LabError;
use polypath_lab::downloads::DownloadLab;
use polypath_lab::sources::{SOURCE_RUNS, SourceLab, SourceOutcome, SourceRun};
use polypath_lab::spaced::SpacedLab;
use polypath_lab::streams::StreamLab;
use polypath_report::downloads::{DownloadCarrier, DownloadSchedule};
use polypath_report::media::LabConditions;
use polypath_report::spaced::SpacedRun;
use polypath_report::streams::StreamsRun;

use crate::failure::Failure;
use crate::lab::failure_of;

/// The number of repetitions of runs that were too late to count.
const REPEATS: u32 = 2;

/// The lab of this machine.
pub(super) struct MachineLab {
    sources: SourceLab,
    /// From the first downloads on.
    downloads: Option<DownloadLab>,
    /// From the first streams on.
    streams: Option<StreamLab>,
}

impl MachineLab {
    /// Opens the lab; fails if this machine has none.
    pub(super) fn open() -> Result<Self, Failure> {
        polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
        let sources = SourceLab::open().map_err(failure_of)?;
        Ok(Self {
            sources,
            downloads: None,
            streams: None,
        })
    }

    /// Runs senders together.
    fn run_senders(&mut self, runs: &[SourceRun<'_>]) -> Result<Vec<LabOutcome>, String> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let outcomes = until_valid(|| self.sources.run(runs, |_| ()))?;
        let outcome = |of: SourceOutcome| {
            LabOutcome::Senders(SendersLabOutcome {
                senders: of.senders,
                begun: of.begun,
                ended: of.ended,
            })
        };
        Ok(outcomes.into_iter().map(outcome).collect())
    }

    /// Runs downloads.
    fn run_downloads(
        &mut self,
        carriers: &[DownloadCarrier],
        congestion_control: &str,
        schedule: DownloadSchedule,
        seed: u64,
    ) -> Result<LabOutcome, String> {
        let controls = [congestion_control.to_owned()];
        let opened = DownloadLab::open(&controls).map_err(|error| failure_of(error).message())?;
        // The one before knows how many carriers run together without being late.
        let lab = self.downloads.get_or_insert(opened);
        let outcomes = until_valid(|| lab.run(carriers, congestion_control, schedule, seed))?;
        Ok(LabOutcome::Downloads(outcomes))
    }

    /// Runs streams.
    fn run_streams(&mut self, run: &StreamsRun) -> Result<LabOutcome, String> {
        let opened = StreamLab::open(&run.congestion_control);
        let opened = opened.map_err(|error| failure_of(error).message())?;
        let lab = self.streams.get_or_insert(opened);
        let outcomes = until_valid(|| lab.run(run))?;
        Ok(LabOutcome::Streams(outcomes))
    }
}

impl Lab for MachineLab {
    fn capacity(&self) -> usize {
        SOURCE_RUNS
    }

    fn run(&mut self, runs: &[LabRun]) -> Result<Vec<LabOutcome>, String> {
        let mut outcomes = Vec::with_capacity(runs.len());
        let mut senders = Vec::new();
        for run in runs {
            match run {
                LabRun::Senders { network, seed } => senders.push(SourceRun {
                    network,
                    seed: *seed,
                }),
                LabRun::Downloads {
                    carriers,
                    congestion_control,
                    schedule,
                    seed,
                } => {
                    outcomes.extend(self.run_senders(&std::mem::take(&mut senders))?);
                    let control = congestion_control.as_str();
                    outcomes.push(self.run_downloads(carriers, control, *schedule, *seed)?);
                }
                LabRun::Spaced(run) => {
                    outcomes.extend(self.run_senders(&std::mem::take(&mut senders))?);
                    outcomes.push(run_spaced(run)?);
                }
                LabRun::Streams(run) => {
                    outcomes.extend(self.run_senders(&std::mem::take(&mut senders))?);
                    outcomes.push(self.run_streams(run)?);
                }
            }
        }
        outcomes.extend(self.run_senders(&senders)?);
        Ok(outcomes)
    }
}

/// Runs senders of spaced packets.
fn run_spaced(run: &SpacedRun) -> Result<LabOutcome, String> {
    let opened = SpacedLab::open(&run.congestion_control);
    let mut lab = opened.map_err(|error| failure_of(error).message())?;
    let outcome = until_valid(|| lab.run(run))?;
    Ok(LabOutcome::Spaced(outcome))
}

/// Repeats runs that were too late to count.
fn until_valid<T>(
    mut run: impl FnMut() -> Result<(T, LabConditions), LabError>,
) -> Result<T, String> {
    let mut late = String::new();
    for _ in 0..=REPEATS {
        let (outcomes, conditions) = run().map_err(|error| failure_of(error).message())?;
        let Some(why) = conditions.invalid_reason() else {
            return Ok(outcomes);
        };
        late = why;
    }
    Err(format!("{late}; end other programs, or use --no-lab"))
}
