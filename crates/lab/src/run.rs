//! A whole lab, from the scenario to the record of what happened.

mod foreground;
mod networks;
mod record;
mod warn;
mod workspace;

use std::path::PathBuf;

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_report::Experiment;
use polypath_scenario::{Scenario, Scheme};

use crate::LabError;
use crate::emulation::{Emulation, EmulationResult, Snapshot};
use crate::endpoints::Endpoints;
use crate::host_tcp::HostTcp;
use crate::interrupt::Interrupt;
use crate::node_process::{NodeFiles, OverlayConfig};
use crate::preflight::preflight;
use crate::scheme_programs::{ProgramsConfig, SchemePrograms};
use crate::transfer_file::TransferFile;
use foreground::Round;
use workspace::Workspace;

/// How much of the background's warm-up happens in real time, while the programs start.
const START_UP: Duration = Duration::from_secs(2);

/// How a lab is to be run.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The `polypath` program, whose nodes are run.
    pub node_binary: PathBuf,
    /// The media file to transfer, cut to the size of a transfer, or whole where it is shorter; random bytes
    /// where there is none.
    pub clip: Option<PathBuf>,
    /// Where the nodes' configurations, keys, logs and events stay; they are removed where this is none.
    pub keep: Option<PathBuf>,
}

/// What a lab is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Networks are warmed up and programs started.
    SettingUp,
    /// Transfers are under way.
    Transfers {
        /// Rounds that are over.
        done: u32,
        /// All rounds.
        of: u32,
    },
    /// ProgramsConfig are ended and their events read.
    Collecting,
}

/// Runs `scenario` between real programs: every scheme over a network of its own, side by side.
///
/// It takes as long as the transfers take, and leaves nothing behind, also where it fails or is told to
/// stop (`SIGINT`, `SIGTERM`, `SIGHUP`: [`LabError::Interrupted`]). Temporary files of a lab that was killed
/// are removed by the first that begins ten seconds later or more.
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    options: &LabOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Experiment, LabError> {
    progress(Progress::SettingUp);
    let mut lab = Lab::set_up(scenario, seed, options)?;
    lab.transfer(progress)?;
    progress(Progress::Collecting);
    lab.finish()
}

/// A lab that stands: its networks run, and its programs wait for transfers.
///
/// The programs die with the thread that set it up.
#[derive(Debug)]
pub struct Lab {
    scenario: Scenario,
    seed: Seed,
    clock: Clock,
    clip: TransferFile,
    observations: Observations,
    // ProgramsConfig end before the network that joins them, and files go last.
    programs: Vec<SchemePrograms>,
    emulation: Emulation,
    interrupt: Interrupt,
    _workspace: Workspace,
}

/// What was seen while transfers were made.
#[derive(Debug, Default)]
struct Observations {
    rounds: Vec<Round>,
    /// The totals of all networks at the start of each round and at the end of the last.
    snapshots: Vec<Vec<Snapshot>>,
}

/// What was left when everything had ended.
#[derive(Debug)]
struct CollectedOutput {
    clip: TransferFile,
    emulated: EmulationResult,
    files: Vec<[NodeFiles; 2]>,
}

impl Lab {
    /// Warms the networks up, starts the programs, and returns when every scheme carries connections with
    /// the congestion control that the scenario asks for.
    ///
    /// Fails where the clip or the folder for files is unusable, where no lab can run here ([`preflight`]),
    /// where a program does not start or no connection crosses a scheme's overlay, and when it is told to stop.
    pub fn set_up(scenario: &Scenario, seed: Seed, options: &LabOptions) -> Result<Self, LabError> {
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        // What the user can mend at once before what the machine lacks.
        let workspace = Workspace::open(options.keep.as_deref())?;
        let (size, source) = (scenario.transfer.size, options.clip.as_deref());
        let clip = TransferFile::prepare(source, size, seed, &workspace.documents())?;
        preflight()?;
        let warm = scenario.transfer.warm_up.as_nanos();
        let head_start = Time(warm.saturating_sub(START_UP.as_nanos()));
        let (networks, endpoints) = networks::open(scenario, seed, head_start, &interrupt)?;
        let now = Clock::starting_now().origin_ns();
        let clock = Clock::starting_at(now.saturating_sub(head_start.0));
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let mut programs = start(scenario, options, clock, &workspace, endpoints)?;
        let tcp = HostTcp::of(scenario);
        for (programs, &scheme) in programs.iter_mut().zip(&scenario.schemes) {
            programs
                .wait(&tcp, &interrupt)
                .map_err(|e| LabError::of(scheme, e))?;
        }
        Ok(Self {
            scenario: scenario.clone(),
            seed,
            clock,
            clip,
            observations: Observations::default(),
            programs,
            emulation,
            interrupt,
            _workspace: workspace,
        })
    }

    /// The namespaces of a scheme, where more programs can be run; none if the scenario has no such scheme.
    #[must_use]
    pub fn endpoints(&self, scheme: Scheme) -> Option<&Endpoints> {
        let position = self.scenario.schemes.iter().position(|s| *s == scheme)?;
        self.programs.get(position).map(SchemePrograms::endpoints)
    }

    /// Makes the scenario's transfers, round by round, from the end of the warm-up on.
    ///
    /// A transfer that times out is a result. This fails where a program or the emulated network has ended,
    /// where the HTTP client cannot be run or fails otherwise, and when the lab is told to stop.
    pub fn transfer(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        let warm = Time::ZERO + self.scenario.transfer.warm_up;
        self.interrupt.sleep_until(self.clock, warm)?;
        self.observations = Observations::default();
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        self.mark()?;
        let of = self.scenario.transfer.count;
        for done in 0..of {
            progress(Progress::Transfers { done, of });
            self.transfer_once()?;
            self.mark()?;
        }
        progress(Progress::Transfers { done: of, of });
        self.emulation.stop_counting().map_err(LabError::Emulation)
    }

    /// Endpoints everything and gives the record of the transfers.
    ///
    /// Fails where a node does not end by itself, where its events cannot be read, where the emulated network
    /// had ended before, and when the lab is told to stop.
    pub fn finish(self) -> Result<Experiment, LabError> {
        warn::about_devices(&self.programs, &self.scenario);
        let mut files = Vec::new();
        // The nodes first, so that their last packets still cross.
        for (programs, &scheme) in self.programs.into_iter().zip(&self.scenario.schemes) {
            files.push(programs.finish().map_err(|e| LabError::of(scheme, e))?);
        }
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        warn::about_networks(&emulated.networks, &self.scenario);
        let bound = record::lateness_bound(&self.scenario, emulated.realtime);
        warn::about_nodes(&files, &self.scenario, bound);
        let collected = CollectedOutput {
            clip: self.clip,
            emulated,
            files,
        };
        let record = record::experiment(&self.scenario, self.seed, &self.observations, &collected)?;
        self.interrupt.check()?;
        Ok(record)
    }

    /// A transfer of every scheme, and the gap that follows the last of them.
    fn transfer_once(&mut self) -> Result<(), LabError> {
        let transfer = &self.scenario.transfer;
        let round = foreground::round(
            &self.programs,
            self.clock,
            transfer.timeout,
            &self.interrupt,
        );
        // A transfer fails where a program has ended, which is then the cause to be told.
        self.interrupt.check()?;
        self.check()?;
        self.observations.rounds.push(round?);
        let next = self.clock.now() + self.scenario.transfer.gap;
        Ok(self.interrupt.sleep_until(self.clock, next)?)
    }

    /// Notes the totals of all networks.
    fn mark(&mut self) -> Result<(), LabError> {
        let totals = self.emulation.snapshot().map_err(LabError::Emulation)?;
        self.observations.snapshots.push(totals);
        Ok(())
    }

    /// Fails where something that should run has ended.
    fn check(&mut self) -> Result<(), LabError> {
        self.emulation.check().map_err(LabError::Emulation)?;
        for (programs, &scheme) in self.programs.iter_mut().zip(&self.scenario.schemes) {
            programs.check().map_err(|e| LabError::of(scheme, e))?;
        }
        Ok(())
    }
}

/// Starts the programs of every scheme.
fn start(
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
            },
            tcp: &HostTcp::of(scenario),
            origin_ns: clock.origin_ns(),
        };
        let directory = workspace.path().join(scheme.name());
        SchemePrograms::start(endpoints, &directory, programs).map_err(|e| LabError::of(scheme, e))
    };
    endpoints
        .into_iter()
        .zip(&scenario.schemes)
        .map(start)
        .collect()
}
