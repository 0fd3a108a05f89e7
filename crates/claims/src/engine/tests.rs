use std::sync::atomic::AtomicU32;

use serde::Serialize;

use super::*;
use crate::lab::{LabJob, LabOutcome, SendersLabOutcome};
use crate::ledger::CLAIMS;
use crate::measurement::Measurement;
use crate::study::{Job, Pending};

static RUNS: AtomicU32 = AtomicU32::new(0);

const SOURCES: &str = "0123";

fn options(ledger: &Ledger, folder: PathBuf) -> MakeOptions<'_> {
    MakeOptions {
        ledger,
        scale: Scale::Quick,
        folder,
        fresh: false,
        threads: Some(1),
        sources: SOURCES,
        lab_sources: SOURCES,
    }
}

/// Doubles a number.
#[derive(Clone, Debug, Serialize)]
struct Double(f64);

impl Job for Double {
    type Output = f64;

    const KIND: &'static str = "double";

    fn cost(&self) -> f64 {
        self.0
    }

    fn run(&self, _: &AtomicU64) -> Result<f64, JobError> {
        if self.0 < 0.0 {
            return Err(JobError::Other("it is negative".to_owned()));
        }
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(2.0 * self.0)
    }
}

fn of(value: f64) -> Findings {
    let measurement = Measurement::exact("p.c", "x", "1", value);
    Findings {
        measurements: vec![measurement],
        ..Findings::default()
    }
}

/// Requests a third job that depends on the results of two.
fn twice(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let halves = study.request_all([Double(1.0), Double(2.0)])?;
    study.request(&Double(halves[0] + halves[1])).map(of)
}

fn negative(study: &mut Study<'_>) -> Result<Findings, Pending> {
    study
        .request_all([Double(3.0), Double(-1.0)])
        .map(|_| of(0.0))
}

/// Fails before its second job.
fn stopped(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let none = study.request(&Double(-2.0))?;
    study.request(&Double(none)).map(of)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of figures")]
fn ready(_: &mut Study<'_>) -> Result<Findings, Pending> {
    Ok(of(12.0))
}

fn infinite(study: &mut Study<'_>) -> Result<Findings, Pending> {
    study.request(&Double(f64::MAX)).map(of)
}

const fn figure(make: fn(&mut Study<'_>) -> Result<Findings, Pending>) -> Figure {
    Figure {
        id: "p.fig1",
        title: "",
        claims: &["p.c"],
        make,
    }
}

/// A single test, because it counts runs in a static.
#[test]
fn jobs_run_once_and_their_results_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let folder = || dir.path().join(JOBS);
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let mut rounds = Vec::new();
    let fresh = std::cell::Cell::new(false);
    let mut run = |figure: &Figure, threads| {
        make_figures(
            &[figure, figure],
            &MakeOptions {
                fresh: fresh.get(),
                threads: Some(threads),
                ..options(&ledger, folder())
            },
            None,
            &mut |progress| {
                rounds.push((progress.round, progress.jobs));
            },
        )
    };
    let count = || RUNS.swap(0, Ordering::Relaxed);
    let figure_of_three = figure(twice);
    assert_eq!(
        run(&figure_of_three, 2).unwrap(),
        [Ok(of(12.0)), Ok(of(12.0))]
    );
    assert_eq!(count(), 3, "both figures share the jobs");
    assert_eq!(
        run(&figure_of_three, 1).unwrap(),
        [Ok(of(12.0)), Ok(of(12.0))]
    );
    assert_eq!(count(), 0, "all results are stored");
    let key = r"double 6.0";
    let file = folder().join(format!("{}.json", digest(key)));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("12.0", "13.0")).unwrap();
    assert_eq!(run(&figure_of_three, 1).unwrap()[0], Ok(of(12.0)));
    assert_eq!(count(), 1, "the job of a changed result runs again");
    let stale = ResultCache::open(folder()).unwrap();
    stale
        .store(&digest(key), &label(key, SOURCES), &"text".into())
        .unwrap();
    assert_eq!(run(&figure_of_three, 1).unwrap()[0], Ok(of(12.0)));
    assert_eq!(count(), 1, "the job of an unreadable result runs again");
    let mine = folder().join("mine.json");
    std::fs::write(&mine, "{}").unwrap();
    fresh.set(true);
    assert_eq!(run(&figure_of_three, 1).unwrap()[0], Ok(of(12.0)));
    assert_eq!(count(), 3, "all jobs run again");
    fresh.set(false);
    assert_eq!(run(&figure_of_three, 1).unwrap()[0], Ok(of(12.0)));
    assert_eq!(count(), 0, "and the results are stored");
    assert!(mine.exists(), "other files stay");
    let made = run(&figure(negative), 1).unwrap();
    let why = made[0].as_ref().unwrap_err();
    assert_eq!(why, "double: it is negative (its parameters: -1.0)");
    assert_eq!(
        count(),
        1,
        "the others of the figure are done and the results are stored"
    );
    let error = run(&figure(infinite), 1).unwrap_err();
    assert!(matches!(error, MakeError::Unreadable(_)), "{error}");
    assert!(
        rounds.contains(&(1, 2)) && rounds.contains(&(2, 1)),
        "{rounds:?}"
    );
}

#[test]
fn a_failed_job_fails_only_the_figures_that_need_it() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let made = make_figures(
        &[&figure(stopped), &figure(ready)],
        &options(&ledger, dir.path().join(JOBS)),
        None,
        &mut |_| {},
    );
    let made = made.unwrap();
    let why = made[0].as_ref().unwrap_err();
    assert!(why.contains("it is negative"), "{why}");
    assert_eq!(made[1], Ok(of(12.0)));
}

#[test]
fn figures_are_selected_by_paper_figure_and_claim() {
    let one = figure(twice);
    let other = Figure {
        id: "q.fig1",
        claims: &["q.c"],
        ..one
    };
    let all = [&one, &other];
    let claims = BTreeSet::from(["p.c", "q.c", "r.c"]);
    let ids = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let selected = select(&all, &claims, &names);
        selected.map(|figures| figures.iter().map(|f| f.id).collect::<Vec<_>>())
    };
    assert_eq!(ids(&[]), Ok(vec!["p.fig1", "q.fig1"]));
    assert_eq!(ids(&["q"]), Ok(vec!["q.fig1"]));
    assert_eq!(ids(&["q.c", "p.fig1"]), Ok(vec!["p.fig1", "q.fig1"]));
    assert_eq!(ids(&["r.c"]), Ok(vec![]), "a claim without a figure");
    assert_eq!(ids(&["p", "s"]), Err(vec!["s".to_owned()]));
}

/// The sum of the switches of runs with some seeds.
#[derive(Clone, Debug, Serialize)]
struct SwitchesInLab(Vec<u64>);

impl LabJob for SwitchesInLab {
    type Output = u64;

    const KIND: &'static str = "switches";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        let text = include_str!("../../../../scenarios/delay-centric.toml");
        let network = polypath_scenario::Network::parse(text, "delay-centric.toml", &[])?;
        let run = |&seed| LabRun::Senders {
            network: Box::new(network.clone()),
            seed,
        };
        Ok(self.0.iter().map(run).collect())
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<u64, JobError> {
        assert_eq!(outcomes.len(), self.0.len());
        let switches = outcomes.iter().map(|outcome| match outcome {
            LabOutcome::Senders(outcome) => outcome.senders.switches,
            LabOutcome::Downloads(_) | LabOutcome::Streams(_) | LabOutcome::Spaced(_) => {
                panic!("no senders")
            }
        });
        Ok(switches.sum())
    }
}

const fn seed(run: &LabRun) -> u64 {
    match run {
        LabRun::Senders { seed, .. } | LabRun::Downloads { seed, .. } => *seed,
        LabRun::Streams(run) => run.seed,
        LabRun::Spaced(run) => run.seed,
    }
}

/// A lab for three runs at a time, in which the number of switches is the seed.
#[derive(Default)]
struct FakeLab {
    calls: Vec<usize>,
    error: Option<String>,
}

impl Lab for FakeLab {
    fn capacity(&self) -> usize {
        3
    }

    fn run(&mut self, runs: &[LabRun]) -> Result<Vec<LabOutcome>, String> {
        self.calls.push(runs.len());
        let outcome = |run: &LabRun| SendersLabOutcome {
            senders: polypath_sim::SendersOutcome {
                measured: polypath_core::time::Duration::ZERO,
                switches: seed(run),
                sent: 0,
                arrived: 0,
                heartbeats: 0,
                due: polypath_sim::DueDatagrams::default(),
                wire_bytes: None,
                mean_delay: None,
                delay: None,
                paths: Vec::new(),
            },
            begun: Vec::new(),
            ended: Vec::new(),
        };
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(runs.iter().map(outcome).map(LabOutcome::Senders).collect()),
        }
    }
}

/// Measures three numbers in the lab.
fn beside(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let in_lab = [vec![1, 2], vec![3], vec![4, 5, 6, 7]].map(|seeds| {
        let job = SwitchesInLab(seeds);
        study.request_in_lab(&job)
    });
    let mut findings = of(12.0);
    for (number, switches) in in_lab.into_iter().enumerate() {
        if let Some(switches) = switches? {
            let name = format!("x{number}");
            let measured = Measurement::exact("p.c", &name, "1", switches as f64);
            findings.in_lab.push(measured);
        }
    }
    Ok(findings)
}

#[test]
fn a_lab_runs_the_jobs_that_fit_together_and_their_results_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let make = |lab: Option<&mut dyn Lab>| {
        let options = options(&ledger, dir.path().join(JOBS));
        let made = make_figures(&[&figure(beside)], &options, lab, &mut |_| {});
        made.unwrap().remove(0)
    };
    assert!(make(None).unwrap().in_lab.is_empty());
    let mut failing = FakeLab {
        error: Some("it was late".to_owned()),
        ..FakeLab::default()
    };
    let failed = make(Some(&mut failing)).unwrap();
    let why = failed.lab_failure.unwrap();
    assert!(why.contains("it was late"), "{why}");
    assert!(failed.in_lab.is_empty() && !failed.measurements.is_empty());
    let mut lab = FakeLab::default();
    let measured = |findings: Findings| -> Vec<f64> {
        let all = findings.in_lab.iter();
        all.map(|measured| measured.samples[0].value).collect()
    };
    assert_eq!(measured(make(Some(&mut lab)).unwrap()), [3.0, 3.0, 22.0]);
    // By key: [1,2] and [3] fit together, and four runs are more than fit, so they run alone.
    assert_eq!(lab.calls, [3, 4]);
    assert_eq!(measured(make(Some(&mut lab)).unwrap()), [3.0, 3.0, 22.0]);
    assert_eq!(lab.calls.len(), 2, "all results are stored");
}

/// Downloads with a seed, which need the machine for themselves.
#[derive(Clone, Debug, Serialize)]
struct DownloadsInLab(u64);

impl LabJob for DownloadsInLab {
    type Output = u64;

    const KIND: &'static str = "downloads";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        let second = polypath_core::time::Duration::from_secs(1);
        Ok(vec![LabRun::Downloads {
            carriers: Vec::new(),
            congestion_control: "reno".to_owned(),
            schedule: polypath_report::downloads::DownloadSchedule {
                flows: 1,
                warm_up: second,
                measured: second,
                last: second,
            },
            seed: self.0,
        }])
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<u64, JobError> {
        assert_eq!(outcomes.len(), 1);
        Ok(self.0)
    }
}

fn downloads_beside_senders(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let downloads = [1, 2].map(|seed| study.request_in_lab(&DownloadsInLab(seed)));
    let senders = study.request_in_lab(&SwitchesInLab(vec![1, 2]));
    for result in downloads.into_iter().chain([senders]) {
        result?;
    }
    Ok(of(12.0))
}

#[test]
fn downloads_run_one_after_another_and_apart_from_senders() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let options = options(&ledger, dir.path().join(JOBS));
    let mut lab = FakeLab::default();
    let figures = [&figure(downloads_beside_senders)];
    make_figures(&figures, &options, Some(&mut lab), &mut |_| {}).unwrap();
    lab.calls.sort_unstable();
    assert_eq!(lab.calls, [1, 1, 2]);
}
