//! A lab run, from the scenario to the record of its transfers.

mod foreground;
mod networks;
mod record;
mod warn;
mod workspace;

use std::path::PathBuf;

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_report::ExperimentRecord;
use polypath_scenario::{Scenario, Scheme};

use crate::LabError;
use crate::emulation::{Emulation, EmulationResult};
use crate::endpoints::Endpoints;
use crate::host_tcp::HostTcp;
use crate::interrupt::Interrupt;
use crate::network::Snapshot;
use crate::node_process::{NodeFiles, OverlayConfig};
use crate::preflight::preflight;
use crate::scheme_programs::{ProgramsConfig, SchemePrograms};
use crate::transfer_file::TransferFile;
use foreground::Round;
use workspace::Workspace;

/// The part of the background's warm-up that runs in real time, while the programs start.
const START_UP: Duration = Duration::from_secs(2);

/// The options of a lab run.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The `polypath` program to run as nodes.
    pub node_binary: PathBuf,
    /// The media file whose first bytes are transferred, all of it if it is shorter than a
    /// transfer; `None` for random bytes.
    pub transfer_file: Option<PathBuf>,
    /// The folder that keeps the nodes' configurations, keys, logs and events; `None` removes them.
    pub keep: Option<PathBuf>,
}

/// The stage of a lab run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Networks are warming up and programs are starting.
    SettingUp,
    /// Transfers are running.
    Transfers {
        /// The number of finished rounds.
        done: u32,
        /// The number of all rounds.
        total: u32,
    },
    /// Programs are being stopped and their events read.
    Collecting,
}

/// Runs `scenario` between real programs: all schemes concurrently, each over a network of its own.
///
/// It blocks until the transfers have ended and leaves nothing behind, even if it fails or is
/// interrupted (`SIGINT`, `SIGTERM`, `SIGHUP`: [`LabError::Interrupted`]). A lab removes temporary
/// files of killed labs that are older than ten seconds when it starts.
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    options: &LabOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExperimentRecord, LabError> {
    progress(Progress::SettingUp);
    let mut lab = Lab::set_up(scenario, seed, options)?;
    lab.transfer(progress)?;
    progress(Progress::Collecting);
    lab.finish()
}

/// A lab that is set up: its networks run, and its programs are ready for transfers.
///
/// The programs die with the thread that set it up.
#[derive(Debug)]
pub struct Lab {
    scenario: Scenario,
    seed: Seed,
    clock: Clock,
    file: TransferFile,
    observations: Observations,
    // Drop order: programs, then the network that connects them, files last.
    programs: Vec<SchemePrograms>,
    emulation: Emulation,
    interrupt: Interrupt,
    _workspace: Workspace,
}

/// The results of transfers and the networks' totals around them.
#[derive(Debug, Default)]
struct Observations {
    rounds: Vec<Round>,
    /// The totals of all networks at the start of each round and at the end of the last.
    snapshots: Vec<Vec<Snapshot>>,
}

/// The results that are available once everything has ended.
#[derive(Debug)]
struct CollectedOutput {
    file: TransferFile,
    emulation: EmulationResult,
    files: Vec<[NodeFiles; 2]>,
}

impl Lab {
    /// Warms up the networks, starts the programs, and returns when every scheme carries
    /// connections with the scenario's congestion control.
    ///
    /// Fails if the file to transfer or the folder for files is unusable, a prerequisite is missing
    /// ([`preflight`]), a program does not start, no connection crosses a scheme's overlay, or on
    /// an interrupt.
    pub fn set_up(scenario: &Scenario, seed: Seed, options: &LabOptions) -> Result<Self, LabError> {
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        // Errors in the user's input come before missing prerequisites of the machine.
        let workspace = Workspace::open(options.keep.as_deref())?;
        let (size, source) = (scenario.transfer.size, options.transfer_file.as_deref());
        let file = TransferFile::prepare(source, size, seed, &workspace.documents())?;
        preflight()?;
        let warm = scenario.transfer.warm_up.as_nanos();
        let head_start = Time(warm.saturating_sub(START_UP.as_nanos()));
        let (networks, endpoints) = networks::open(scenario, seed, head_start, &interrupt)?;
        let now = Clock::starting_now().origin_ns();
        let clock = Clock::starting_at(now.saturating_sub(head_start.0));
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let mut programs = start_programs(scenario, options, clock, &workspace, endpoints)?;
        let tcp = HostTcp::of(scenario);
        for (programs, &scheme) in programs.iter_mut().zip(&scenario.schemes) {
            programs
                .wait_until_ready(&tcp, &interrupt)
                .map_err(|e| LabError::of_scheme(scheme, e))?;
        }
        Ok(Self {
            scenario: scenario.clone(),
            seed,
            clock,
            file,
            observations: Observations::default(),
            programs,
            emulation,
            interrupt,
            _workspace: workspace,
        })
    }

    /// The endpoints of a scheme, in which more programs can run; `None` if the scenario lacks the
    /// scheme.
    #[must_use]
    pub fn endpoints(&self, scheme: Scheme) -> Option<&Endpoints> {
        let position = self.scenario.schemes.iter().position(|s| *s == scheme)?;
        self.programs.get(position).map(SchemePrograms::endpoints)
    }

    /// Runs the scenario's transfers, round by round, after the warm-up.
    ///
    /// A transfer that times out is a result, not an error. Fails if a program or the emulation has
    /// stopped, if the HTTP client cannot be run or fails otherwise, or on an interrupt.
    pub fn transfer(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        let warm = Time::ZERO + self.scenario.transfer.warm_up;
        self.interrupt.sleep_until(self.clock, warm)?;
        self.observations = Observations::default();
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        self.take_snapshot()?;
        let total = self.scenario.transfer.count;
        for done in 0..total {
            progress(Progress::Transfers { done, total });
            self.transfer_round()?;
            self.take_snapshot()?;
        }
        progress(Progress::Transfers { done: total, total });
        self.emulation.stop_counting().map_err(LabError::Emulation)
    }

    /// Stops everything and returns the record of the transfers.
    ///
    /// Fails if a node does not exit by itself, its events cannot be read, the emulation had
    /// stopped before, or on an interrupt.
    pub fn finish(self) -> Result<ExperimentRecord, LabError> {
        warn::about_devices(&self.programs, &self.scenario);
        let mut files = Vec::new();
        // The nodes stop first, so that the network still carries their last packets.
        for (programs, &scheme) in self.programs.into_iter().zip(&self.scenario.schemes) {
            files.push(
                programs
                    .finish()
                    .map_err(|e| LabError::of_scheme(scheme, e))?,
            );
        }
        let emulation = self.emulation.finish().map_err(LabError::Emulation)?;
        warn::about_networks(&emulation.networks, &self.scenario);
        let bound = record::lateness_bound(&self.scenario, emulation.realtime);
        warn::about_nodes(&files, &self.scenario, bound);
        let collected = CollectedOutput {
            file: self.file,
            emulation,
            files,
        };
        let record = record::experiment(&self.scenario, self.seed, &self.observations, &collected)?;
        self.interrupt.check()?;
        Ok(record)
    }

    /// Runs one transfer of every scheme, and the gap after the last of them.
    fn transfer_round(&mut self) -> Result<(), LabError> {
        let transfer = &self.scenario.transfer;
        let round = foreground::round(
            &self.programs,
            self.clock,
            transfer.timeout,
            &self.interrupt,
        );
        // If a program has exited, its error is the cause of a failed transfer.
        self.interrupt.check()?;
        self.check()?;
        self.observations.rounds.push(round?);
        let next = self.clock.now() + self.scenario.transfer.gap;
        Ok(self.interrupt.sleep_until(self.clock, next)?)
    }

    /// Records the totals of all networks.
    fn take_snapshot(&mut self) -> Result<(), LabError> {
        let totals = self.emulation.snapshot().map_err(LabError::Emulation)?;
        self.observations.snapshots.push(totals);
        Ok(())
    }

    /// Fails if the emulation or a program has stopped.
    fn check(&mut self) -> Result<(), LabError> {
        self.emulation.check().map_err(LabError::Emulation)?;
        for (programs, &scheme) in self.programs.iter_mut().zip(&self.scenario.schemes) {
            programs
                .check()
                .map_err(|e| LabError::of_scheme(scheme, e))?;
        }
        Ok(())
    }
}

/// Starts the programs of every scheme.
fn start_programs(
    scenario: &Scenario,
    options: &LabOptions,
    clock: Clock,
    workspace: &Workspace,
    endpoints: Vec<Endpoints>,
) -> Result<Vec<SchemePrograms>, LabError> {
    let paths: Vec<String> = scenario.paths.iter().map(|p| p.name.clone()).collect();
    let start = |(endpoints, &scheme)| {
        let endpoint = scenario.endpoint(scheme);
        let programs = ProgramsConfig {
            binary: &options.node_binary,
            documents: &workspace.documents(),
            overlay: OverlayConfig {
                paths: &paths,
                policy: endpoint.policy,
                probing: endpoint.probing,
                liveness: endpoint.liveness.into(),
                tariffs: &endpoint.tariffs,
                classes: &scenario.classes,
                spacing: endpoint.spacing.as_ref(),
            },
            tcp: &HostTcp::of(scenario),
            origin_ns: clock.origin_ns(),
        };
        let directory = workspace.path().join(scheme.name());
        SchemePrograms::start(endpoints, &directory, &programs)
            .map_err(|e| LabError::of_scheme(scheme, e))
    };
    endpoints
        .into_iter()
        .zip(&scenario.schemes)
        .map(start)
        .collect()
}
