//! `polypath reproduce`: answers the claims of the papers and of this project.

mod lab;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use polypath_claims::ledger::{Ledger, OWN};
use polypath_claims::{
    Answer, Attempt, BookOptions, FailedFigure, Figure, JOBS, Lab, MadeFigure, MakeError,
    MakeOptions, Outcome, OutputError, Scale, answer, json, make_figures, put, render, select,
    summary, write, write_book,
};
use polypath_document::{FileKind, file, nearest};
use polypath_papers::{LAB_SOURCES, SOURCES, chapters};

use crate::failure::{Failure, print_message};
use crate::number::whole;
use crate::output::print;
use crate::progress::Indicator;
use crate::scenario::Format;
use crate::watch::Interrupts;
use lab::MachineLab;

/// The message on an interrupt.
const INTERRUPTED: &str = "interrupted; run the same command to continue after the finished runs";

/// Arguments of `polypath reproduce`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Claims, figures or papers, such as ppd.fig3.order, ppd.fig3 or ppd; own stands for the
    /// claims of this project [default: all].
    #[arg(value_name = "CLAIM|FIGURE|PAPER")]
    names: Vec<String>,
    /// Few runs per figure, minutes in all; this is the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' sample sizes where a claim states them, otherwise enough for 5 % precision: up
    /// to an hour per paper.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    lab: LabArgs,
    /// The ledger of claims, instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// The number of concurrent simulations, which does not affect the results [default: the number
    /// of cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1024_u16))]
    jobs: Option<u16>,
    /// The folder for the book, its figures and the finished runs, from which an interrupted
    /// reproduction continues [default: out/reproduce-quick or out/reproduce-full, followed by the
    /// names, if any].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Repeat all runs of these figures, instead of reusing finished ones from the folder.
    #[arg(long)]
    fresh: bool,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Whether figures measure in the lab.
#[derive(Debug, clap::Args)]
struct LabArgs {
    /// Measure in the lab, too, where a claim can be: on real sockets, in real time; with `--full`
    /// this is the default where the machine permits it.
    #[arg(long)]
    lab: bool,
    /// Measure nothing in the lab.
    #[arg(long, conflicts_with = "lab")]
    no_lab: bool,
}

/// Makes the figures, judges the claims, and writes the book.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let ledger = read_ledger(args.ledger.as_deref())?;
    let all = all_figures();
    check_claims(&ledger, &all)?;
    let figures = select_figures(&all, &ledger, &args.names)?;
    let scale = if args.full { Scale::Full } else { Scale::Quick };
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| folder(scale, &args.names));
    // Without `--out` the finished runs of a scale share one store, whatever the names.
    let store = args.out.clone().unwrap_or_else(|| folder(scale, &[]));
    if let Some(file) = [&out, &store].into_iter().find(|folder| folder.is_file()) {
        let file = file.display();
        return Err(Failure::input(format!(
            "{file} is a file, but --out needs a folder"
        )));
    }
    let options = MakeOptions {
        ledger: &ledger,
        scale,
        folder: store.join(JOBS),
        fresh: args.fresh,
        threads: args.jobs,
        sources: SOURCES,
        lab_sources: LAB_SOURCES,
    };
    let mut lab = args.lab.open(args.full)?;
    let attempts = make_all(&figures, &options, lab.as_mut())?;
    let made = write_figures(&out, &figures, &attempts)?;
    let failed = failed(&figures, &attempts);
    let outcome = Outcome {
        made: &made,
        failed: &failed,
    };
    let answers = answer(&ledger, &all, outcome, &args.names);
    let text = json(&answers).context("writing the answers")?;
    put(&out, "claims.json", text.as_bytes())?;
    let ledger_name = match &args.ledger {
        Some(file) => format!("the ledger {}", file.display()),
        None => "its built-in ledger".to_owned(),
    };
    let book = BookOptions {
        scale,
        ledger: &ledger_name,
        papers: &chapters(),
    };
    let book = write_book(&out, book, &made, &answers)?;
    print(&match args.format {
        Format::Json => text,
        Format::Table => summary_text(&answers, &book),
    })?;
    let made = Failure::combine(all_made(&failed), args.lab.check(&made));
    Failure::combine(made, all_answerable(&answers))
}

impl LabArgs {
    /// Reports figures that failed in the lab, which fails if the lab was asked for, and whether it
    /// was in vain.
    fn check(&self, made: &[MadeFigure<'_>]) -> Result<(), Failure> {
        let failed = made.iter().filter_map(|made| {
            let why = made.findings.lab_failure.as_ref()?;
            Some(format!(
                "{} was not measured in the lab: {why}",
                made.figure.id
            ))
        });
        let lines: Vec<String> = failed.collect();
        let message = lines.join("\n");
        let is_measured = made.iter().any(|made| {
            let mut tables = made.findings.tables.iter();
            !made.in_lab.is_empty() || tables.any(|table| table.id == "lab")
        });
        match &lines[..] {
            [] => {
                if self.lab && !is_measured {
                    print_message("none of these figures is measured in the lab");
                }
                Ok(())
            }
            _ if self.lab => Err(Failure::run(message)),
            _ => {
                print_message(&message);
                Ok(())
            }
        }
    }

    /// The lab, if figures measure there; fails if it was asked for and this machine has none.
    fn open(&self, is_default: bool) -> Result<Option<MachineLab>, Failure> {
        if self.no_lab || !(self.lab || is_default) {
            return Ok(None);
        }
        match MachineLab::open() {
            Ok(lab) => Ok(Some(lab)),
            Err(failure) if self.lab => Err(failure),
            Err(failure) => {
                let why = failure.message();
                print_message(&format!("nothing is measured in the lab: {why}"));
                Ok(None)
            }
        }
    }
}

/// Fails if figures could not be made.
fn all_made(failed: &[FailedFigure<'_>]) -> Result<(), Failure> {
    if failed.is_empty() {
        return Ok(());
    }
    let lines = failed.iter().map(|failed| {
        let FailedFigure { figure, error } = failed;
        format!("{} could not be made: {error}", figure.id)
    });
    Err(Failure::run(lines.collect::<Vec<_>>().join("\n")))
}

/// Fails if the ledger uses quantities that a figure does not measure.
fn all_answerable(answers: &[Answer]) -> Result<(), Failure> {
    let unanswerable = answers.iter().filter(|answer| answer.is_unanswerable);
    let unanswerable: Vec<&str> = unanswerable
        .map(|answer| answer.claim.id.as_str())
        .collect();
    if unanswerable.is_empty() {
        return Ok(());
    }
    let claims = unanswerable.join(", ");
    Err(Failure::input(format!(
        "the ledger uses quantities that are not measured, in {claims}: the reasons above name them"
    )))
}

/// Parses a ledger and checks that figures answer its claims.
pub(crate) fn check_ledger(text: &str, name: &str) -> Result<(), Failure> {
    let ledger = Ledger::parse(text, name).map_err(Failure::input)?;
    check_claims(&ledger, &all_figures())
}

fn all_figures() -> Vec<&'static Figure> {
    let chapters = chapters().into_iter();
    chapters.flat_map(|paper| paper.figures).collect()
}

fn read_ledger(file: Option<&Path>) -> Result<Ledger, Failure> {
    let Some(path) = file else {
        return Ledger::built_in().map_err(Failure::input);
    };
    let text = file::read_text(path, &[FileKind::Claims]).map_err(Failure::input)?;
    Ledger::parse(&text, &path.display().to_string()).map_err(Failure::input)
}

/// Selects the figures of `names`; unknown names fail with a suggestion.
fn select_figures<'a>(
    all: &[&'a Figure],
    ledger: &Ledger,
    names: &[String],
) -> Result<Vec<&'a Figure>, Failure> {
    let claims: BTreeSet<&str> = ledger
        .claims
        .iter()
        .map(|claim| claim.id.as_str())
        .collect();
    let wanted = select(all, &claims, names).map_err(|unknown| {
        let papers = ledger
            .claims
            .iter()
            .map(polypath_claims::ledger::Claim::paper);
        let papers: BTreeSet<&str> = papers.collect();
        let figures = all.iter().map(|figure| figure.id);
        let others = claims.iter().chain(&papers).copied();
        let known: Vec<&str> = figures.chain(others).collect();
        let remedy = |name: &String| remedy(name, &known, &papers, all);
        let one = |name: &String| {
            let remedy = remedy(name);
            format!("there is no claim, figure or paper `{name}`: {remedy}")
        };
        Failure::input(unknown.iter().map(one).collect::<Vec<_>>().join("\n"))
    })?;
    let is_asked = |figure: &&Figure| {
        if !figure.claims.is_empty() {
            return figure.claims.iter().any(|claim| claims.contains(claim));
        }
        // A figure without claims belongs to the whole paper.
        let of_paper = all.iter().filter(|other| other.paper() == figure.paper());
        let mut of_paper = of_paper.flat_map(|other| other.claims);
        names.iter().any(|name| name == figure.id) || of_paper.all(|claim| claims.contains(claim))
    };
    let asked: Vec<&Figure> = wanted.iter().copied().filter(is_asked).collect();
    if asked.is_empty() && !wanted.is_empty() {
        let figures: Vec<&str> = wanted.iter().map(|figure| figure.id).collect();
        return Err(Failure::input(format!(
            "the ledger has no claim of {}: add one, or leave --ledger out",
            figures.join(", ")
        )));
    }
    Ok(asked)
}

/// Refuses claims that no figure answers: they would be ignored silently.
fn check_claims(ledger: &Ledger, all: &[&Figure]) -> Result<(), Failure> {
    let answered: Vec<&str> = all
        .iter()
        .flat_map(|figure| figure.claims)
        .copied()
        .collect();
    let built_in = Ledger::built_in().map_err(Failure::input)?;
    let ids = ledger.claims.iter().map(|claim| claim.id.as_str());
    let unknown = ids.filter(|id| !answered.contains(id) && built_in.find(id).is_none());
    let one = |id: &str| {
        let similar = nearest(id, answered.iter().copied());
        let remedy = similar.map_or_else(
            || "`polypath reproduce` can only answer claims of its built-in ledger".to_owned(),
            |similar| format!("did you mean `{similar}`?"),
        );
        format!("the ledger has a claim `{id}`, which no figure answers: {remedy}")
    };
    let lines: Vec<String> = unknown.map(one).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::input(lines.join("\n")))
}

/// A suggestion for an unknown name: a known name with this prefix or a similar one, or else the
/// known names.
fn remedy(name: &str, known: &[&str], papers: &BTreeSet<&str>, all: &[&Figure]) -> String {
    let with_prefix = || known.iter().copied().find(|known| known.starts_with(name));
    if let Some(similar) = with_prefix().or_else(|| nearest(name, known.iter().copied())) {
        return format!("did you mean `{similar}`?");
    }
    let listed = |words: Vec<&str>| words.join(", ");
    let paper = name.split('.').next().unwrap_or_default();
    let figures = all.iter().filter(|figure| figure.paper() == paper);
    let figures: Vec<&str> = figures.map(|figure| figure.id).collect();
    if figures.is_empty() {
        let papers = papers.iter().filter(|paper| **paper != OWN);
        return format!(
            "the papers are {}; `{OWN}` has the claims of this project",
            listed(papers.copied().collect())
        );
    }
    format!("the figures of {paper} are {}", listed(figures))
}

fn folder(scale: Scale, names: &[String]) -> PathBuf {
    let base = match scale {
        Scale::Quick => "out/reproduce-quick",
        Scale::Full => "out/reproduce-full",
    };
    // Names of claims, figures and papers need no escaping.
    let words = names.iter().map(|name| format!("-{name}"));
    PathBuf::from(words.fold(base.to_owned(), |folder, word| folder + &word))
}

fn make_all(
    figures: &[&Figure],
    options: &MakeOptions<'_>,
    lab: Option<&mut MachineLab>,
) -> Result<Vec<Attempt>, Failure> {
    let mut bar = Indicator::of_jobs();
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let lab = lab.map(|lab| lab as &mut dyn Lab);
    let attempts = make_figures(figures, options, lab, &mut |progress| {
        interrupts.exit_with_message(&bar, INTERRUPTED);
        bar.advance_jobs(progress);
    });
    bar.finish_jobs();
    Ok(attempts?)
}

/// Writes the figures that were made and reads their measurements back.
fn write_figures<'a>(
    out: &Path,
    figures: &[&'a Figure],
    attempts: &'a [Attempt],
) -> Result<Vec<MadeFigure<'a>>, Failure> {
    let all = figures.iter().zip(attempts);
    let made = all.filter_map(|(figure, attempt)| Some((*figure, attempt.as_ref().ok()?)));
    let made = made.map(|(figure, findings)| write(out, figure, findings));
    made.collect::<Result<Vec<_>, OutputError>>()
        .map_err(Failure::from)
}

/// The figures that could not be made, with their errors.
fn failed<'a>(figures: &[&'a Figure], attempts: &'a [Attempt]) -> Vec<FailedFigure<'a>> {
    let all = figures.iter().zip(attempts);
    let failed = all.filter_map(|(figure, attempt)| {
        let error = attempt.as_ref().err()?;
        Some(FailedFigure { figure, error })
    });
    failed.collect()
}

/// The table and summary of the answers.
fn summary_text(answers: &[Answer], book: &Path) -> String {
    format!(
        "{}\n{}book: {}\n",
        render(answers),
        summary(answers),
        book.display()
    )
}

impl From<MakeError> for Failure {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::File(_) => Self::input(error),
            MakeError::Unreadable(_) => Self::run(error),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::File { .. } => Self::input(error),
            _ => Self::run(error),
        }
    }
}
