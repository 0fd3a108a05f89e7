//! The book: all papers and own claims on one HTML page without scripts or external resources.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use polypath_report::page::STYLE;
use polypath_report::plot::PlotError;
use serde::Serialize;

use crate::figure::{Figure, FigureTable, Findings, MadeFigure};
use crate::judge::Verdict;
use crate::ledger::OWN;
use crate::output::MEASUREMENTS;
use crate::paper::Paper;
use crate::study::Scale;

/// The title of a book with papers.
const TITLE: &str = "The papers and their reproduction";
/// The title of a book of nothing but this project's own claims.
const OWN_TITLE: &str = "The claims of this project and their answers";

/// The contents of the book.
#[derive(Clone, Debug)]
pub struct Book<'a> {
    /// The scale of the simulations.
    pub scale: Scale,
    /// The root seed.
    pub seed: u64,
    /// The ledger that the claims are from.
    pub ledger: &'a str,
    /// The claims with their answers, in the order of the ledger.
    pub claims: Vec<ClaimRow>,
    /// The chapters, one for each paper, and one for this project's own claims.
    pub chapters: Vec<Chapter<'a>>,
}

/// A paper with its figures.
#[derive(Clone, Debug)]
pub struct Chapter<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// The figures that were made.
    pub figures: Vec<&'a MadeFigure<'a>>,
}

/// A claim and its answer in words.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRow {
    /// The name in the ledger, with the paper before the first dot.
    pub id: String,
    /// The place in the paper.
    pub place: String,
    /// The statement.
    pub statement: String,
    /// The kind of statement.
    pub kind: String,
    /// The paper's values, or the rule.
    pub paper: String,
    /// The measured values, with half of the 95 % interval after `+-`.
    pub ours: String,
    /// The unit of both.
    pub unit: String,
    /// The number of runs.
    pub n: String,
    /// The root seed.
    pub seed: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason of the verdict and its caveats; may be empty.
    pub reason: String,
    /// The answer in the lab; empty if the claim was not measured there.
    pub lab: String,
}

/// An error of rendering the book.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The template rejects its input.
    #[error("cannot render the book: {0}")]
    Template(#[from] minijinja::Error),
    /// A plot cannot be drawn.
    #[error("{figure}: plot {plot}: {source}")]
    Plot {
        /// The figure.
        figure: &'static str,
        /// The name of the plot.
        plot: String,
        /// The cause.
        source: PlotError,
    },
}

/// A chapter for the template.
#[derive(Serialize)]
struct ChapterView<'a> {
    paper: &'a Paper,
    figures: Vec<FigureView<'a>>,
    parameters: Vec<ParameterView<'a>>,
    /// The claims that none of its figures answers.
    others: Vec<&'a ClaimRow>,
}

/// A figure for the template.
#[derive(Serialize)]
struct FigureView<'a> {
    id: &'static str,
    title: &'static str,
    plots: Vec<PlotView>,
    tables: Vec<TableView<'a>>,
    /// The path of the measurements, relative to the book.
    measurements: String,
    notes: &'a [String],
    claims: Vec<&'a ClaimRow>,
}

/// A plot for the template.
#[derive(Serialize)]
struct PlotView {
    title: String,
    svg: String,
    /// The path of its points as CSV, relative to the book.
    csv: String,
}

/// A table for the template.
#[derive(Serialize)]
struct TableView<'a> {
    #[serde(flatten)]
    table: &'a FigureTable,
    /// The path of the table as CSV, relative to the book.
    csv: String,
}

/// A parameter for the template.
#[derive(Serialize)]
struct ParameterView<'a> {
    name: &'a str,
    value: &'a str,
    /// The figures with this value.
    figures: Vec<&'static str>,
}

/// Renders the book as HTML with embedded plots. Links to tables are relative paths
/// ([`Figure::file`]).
///
/// # Errors
/// If a plot's axis has an invalid range.
pub fn render(book: &Book<'_>) -> Result<String, BookError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("interval", interval);
    let chapters = book.chapters.iter();
    let chapters: Result<Vec<_>, _> = chapters.map(|c| chapter(c, &book.claims)).collect();
    let anchors = book.claims.iter().map(|claim| anchor(claim, book));
    let count = |verdict| book.claims.iter().filter(|c| c.verdict == verdict).count();
    let is_own = !book.claims.is_empty() && book.claims.iter().all(|claim| claim.is_of(OWN));
    let page = environment.render_str(
        include_str!("book/template.html"),
        context! {
            title => if is_own { OWN_TITLE } else { TITLE },
            source => if is_own { "stated" } else { "paper" },
            style => STYLE,
            own_style => include_str!("book/style.css"),
            scale => match book.scale {
                Scale::Quick => "quick",
                Scale::Full => "full",
            },
            seed => book.seed.to_string(),
            version => env!("CARGO_PKG_VERSION"),
            ledger => book.ledger,
            holds => count(Verdict::Holds),
            differs => count(Verdict::Differs),
            not_run => count(Verdict::NotRun),
            claims => Serde(&book.claims),
            anchors => Serde(anchors.collect::<Vec<_>>()),
            chapters => Serde(chapters?),
        },
    )?;
    Ok(page)
}

/// Replaces `+-` by a plus-minus sign between non-breaking spaces.
fn interval(text: &str) -> String {
    text.replace(" +- ", "\u{a0}±\u{a0}")
}

/// The anchor of a claim's answer: a figure, or else the chapter; `None` if the paper is not in the
/// book.
fn anchor<'a>(claim: &ClaimRow, book: &Book<'a>) -> Option<&'a str> {
    let all = || book.chapters.iter();
    let mut figures = all().flat_map(|chapter| &chapter.figures);
    let made = figures.find(|made| made.figure.claims.contains(&claim.id.as_str()));
    let chapter = || all().find(|chapter| claim.is_of(chapter.paper.id));
    made.map(|made| made.figure.id)
        .or_else(|| chapter().map(|chapter| chapter.paper.id))
}

fn chapter<'a>(
    chapter: &Chapter<'a>,
    claims: &'a [ClaimRow],
) -> Result<ChapterView<'a>, BookError> {
    let figures = chapter.figures.iter();
    let views = figures.map(|made| view(made.figure, made.findings, claims));
    let is_answered = |id: &str| {
        let mut figures = chapter.figures.iter();
        figures.any(|made| made.figure.claims.contains(&id))
    };
    let others = claims.iter().filter(|claim| claim.is_of(chapter.paper.id));
    Ok(ChapterView {
        paper: chapter.paper,
        figures: views.collect::<Result<_, _>>()?,
        parameters: parameters(&chapter.figures),
        others: others.filter(|claim| !is_answered(&claim.id)).collect(),
    })
}

fn view<'a>(
    figure: &Figure,
    findings: &'a Findings,
    claims: &'a [ClaimRow],
) -> Result<FigureView<'a>, BookError> {
    let plots = findings.plots.iter().map(|plot| {
        let svg = plot.svg().map_err(|source| BookError::Plot {
            figure: figure.id,
            plot: plot.id.clone(),
            source,
        })?;
        Ok(PlotView {
            title: plot.title.clone(),
            svg,
            csv: figure.file(&plot.id, "csv"),
        })
    });
    let tables = findings.tables.iter().map(|table| TableView {
        table,
        csv: figure.file(&table.id, "csv"),
    });
    let answered = figure.claims.iter();
    let answered = answered.filter_map(|id| claims.iter().find(|claim| claim.id == *id));
    Ok(FigureView {
        id: figure.id,
        title: figure.title,
        plots: plots.collect::<Result<_, BookError>>()?,
        tables: tables.collect(),
        measurements: figure.file(MEASUREMENTS, "csv"),
        notes: &findings.notes,
        claims: answered.collect(),
    })
}

/// Lists each parameter once for each of its values.
fn parameters<'a>(figures: &[&'a MadeFigure<'a>]) -> Vec<ParameterView<'a>> {
    let mut views: Vec<ParameterView<'a>> = Vec::new();
    for made in figures {
        for [name, value] in &made.findings.parameters {
            let known = views
                .iter_mut()
                .find(|v| v.name == name && v.value == value);
            match known {
                Some(view) => view.figures.push(made.figure.id),
                None => views.push(ParameterView {
                    name,
                    value,
                    figures: vec![made.figure.id],
                }),
            }
        }
    }
    views
}

impl ClaimRow {
    fn is_of(&self, paper: &str) -> bool {
        self.id.split('.').next() == Some(paper)
    }
}

#[cfg(test)]
mod tests;
