//! The race of one file: runs in the lab, the same runs in the simulator, and the report.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use polypath_batch::{FileError, replica_seeds, run_media_runs};
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::{RepairConfig, Share};
use polypath_lab::LabError;
use polypath_lab::media::{MediaCarrier, MediaLab, MediaLabRuns, Transport, with_start_up};
use polypath_report::media::{
    CarrierName, LabConditions, LabRecord, MediaFigures, MediaRecord, json, predictions, render,
    render_predictions, write,
};
use polypath_scenario::{Media, MediaPolicy, MediaScenario, NamedPolicy};
use polypath_sim::{MediaOutcome, RunError};

use crate::Args;
use crate::bounds::{self, Bound, RELAXED, TIGHT};
use crate::runs::RunFiles;

/// An error of a race.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RaceError {
    /// A file or an option of the command line is wrong.
    #[error("{0}")]
    Input(String),
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The simulator failed.
    #[error("simulating the same runs")]
    Simulate(#[source] RunError),
    /// The files of finished runs could not be used.
    #[error("keeping the finished runs")]
    Runs(#[source] FileError),
    /// The report could not be written.
    #[error("writing the report")]
    Write(#[source] io::Error),
}

/// The race of one file.
pub(crate) struct Race {
    scenario: MediaScenario,
    carriers: Vec<MediaCarrier>,
    seeds: Vec<u64>,
}

/// The result of a race, for a person and for a program.
pub(crate) struct RaceResult {
    pub(crate) text: String,
    pub(crate) json: serde_json::Value,
    bounds: Vec<Bound>,
    conditions: Vec<LabConditions>,
}

impl RaceResult {
    /// Whether all runs count and all bounds hold.
    pub(crate) fn is_good(&self) -> bool {
        self.conditions.iter().all(LabConditions::is_valid) && self.bounds.iter().all(Bound::holds)
    }
}

impl Race {
    /// Reads a file, and selects its carriers.
    pub(crate) fn read(file: &Path, args: &Args) -> Result<Self, RaceError> {
        let name = file.display().to_string();
        let input =
            |problem: &dyn std::fmt::Display| RaceError::Input(format!("{name}: {problem}"));
        let text = fs::read_to_string(file).map_err(|error| input(&error))?;
        let mut sets = vec![format!("media.runs={}", args.seeds)];
        sets.extend(args.duration.map(|span| format!("media.duration={span}")));
        let sets = sets.iter().map(|set| set.parse());
        let sets = sets.collect::<Result<Vec<_>, _>>().map_err(|e| input(&e))?;
        let mut named =
            |other: &str| fs::read(file.with_file_name(other)).map_err(|e| e.to_string());
        let parsed = MediaScenario::parse_with(&text, &name, &sets, &mut named);
        let scenario = parsed.map_err(|errors| RaceError::Input(errors.to_string()))?;
        let mut scenario = with_start_up(&scenario);
        if !add_settings(&mut scenario.media) {
            return Err(input(
                &"media.deadlines: the race needs two, for its settings of in-time",
            ));
        }
        let is_chosen = |name: &str| {
            args.only.is_empty() || args.only.iter().any(|part| name.contains(part.as_str()))
        };
        scenario
            .media
            .policies
            .retain(|policy| is_chosen(policy.name()));
        let policies = scenario.media.policies.iter().cloned();
        let transports = Transport::ALL.into_iter().map(MediaCarrier::Transport);
        let carriers = policies.map(MediaCarrier::Policy).chain(transports);
        let carriers: Vec<_> = carriers.filter(|of| is_chosen(&of.name())).collect();
        if carriers.is_empty() {
            return Err(RaceError::Input(format!(
                "--only {}: nothing has such a name",
                args.only.join(",")
            )));
        }
        Ok(Self {
            seeds: replica_seeds(scenario.seed, scenario.media.runs),
            scenario,
            carriers,
        })
    }

    /// Runs it, and writes its report.
    pub(crate) fn run(
        &self,
        args: &Args,
        files: &RunFiles,
        log: impl Fn(&str),
    ) -> Result<RaceResult, RaceError> {
        let name = &self.scenario.name;
        let lab = self.run_lab(files, log)?;
        let simulated =
            run_media_runs(&self.scenario, None, &mut |_| {}).map_err(RaceError::Simulate)?;
        let names: Vec<CarrierName> = self.carriers.iter().map(carrier_name).collect();
        let record = self.record(&names, &lab.outcomes, Some(lab.record()));
        let policies: Vec<CarrierName> = self
            .scenario
            .media
            .policies
            .iter()
            .map(Into::into)
            .collect();
        let simulated = self.record(&policies, &simulated.policies, None);
        let figures = MediaFigures::of(record);
        let out = args.out.join(name);
        write(&out, record, &figures).map_err(RaceError::Write)?;
        let predicted = predictions(record, simulated);
        let bounds = bounds::check(name, &self.scenario.media.deadlines, &figures);
        let mut text = render(record, &figures);
        let _ = write!(
            text,
            "\nIn the lab and in the simulator, with the same seeds\n\n{}\n",
            render_predictions(&predicted)
        );
        for line in bounds.iter().map(Bound::sentence) {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "report: {}\n", out.join("report.html").display());
        let report = json(record, &figures).and_then(|text| serde_json::from_str(&text));
        let report: serde_json::Value = report.map_err(|e| RaceError::Write(e.into()))?;
        let json = serde_json::json!({
            "report": report,
            "predictions": predicted,
            "bounds": bounds,
        });
        Ok(RaceResult {
            text,
            json,
            bounds,
            conditions: lab.conditions,
        })
    }

    /// The runs in the lab; those that are finished already are read from their files.
    fn run_lab(&self, files: &RunFiles, log: impl Fn(&str)) -> Result<MediaLabRuns, RaceError> {
        let (name, total) = (&self.scenario.name, self.seeds.len());
        let mut lab = None;
        let mut runs = MediaLabRuns::default();
        for (number, seed) in (1..).zip(&self.seeds) {
            let label = files.label(&self.scenario, &self.carriers, *seed);
            if let Some(run) = files.find(&label).map_err(RaceError::Runs)? {
                log(&format!(
                    "{name}: run {number} of {total} is finished already"
                ));
                runs.push(run);
                continue;
            }
            log(&format!("{name}: run {number} of {total}"));
            let lab = match &mut lab {
                Some(lab) => lab,
                none => none.insert(MediaLab::open(&self.scenario, &self.carriers)?),
            };
            let run = lab.run(*seed)?;
            files.store(&label, &run).map_err(RaceError::Runs)?;
            runs.push(run);
        }
        Ok(runs)
    }

    fn record<'a>(
        &'a self,
        carriers: &'a [CarrierName],
        outcomes: &'a [Vec<MediaOutcome>],
        lab: Option<LabRecord<'a>>,
    ) -> MediaRecord<'a> {
        MediaRecord {
            scenario: &self.scenario,
            seeds: &self.seeds,
            carriers,
            outcomes,
            lab,
        }
    }
}

/// Adds the settings of the race, in place of the file's policies of the same name; returns whether
/// the file has the deadlines for them.
fn add_settings(media: &mut Media) -> bool {
    let &[tight, relaxed, ..] = &media.deadlines[..] else {
        return false;
    };
    for (name, deadline, redundancy) in [(RELAXED, relaxed, 100_000), (TIGHT, tight, 200_000)] {
        let policy = PolicyConfig::InTime(RepairConfig {
            deadline,
            redundancy: Share::from_millionths(redundancy),
            ..RepairConfig::default()
        });
        media.policies.retain(|policy| policy.name() != name);
        media.policies.push(MediaPolicy::Named(NamedPolicy {
            name: name.to_owned(),
            policy,
            spacing: None,
        }));
    }
    true
}

fn carrier_name(carrier: &MediaCarrier) -> CarrierName {
    CarrierName {
        name: carrier.name(),
        kind: carrier.kind(),
    }
}
