//! The book: all papers on one page that needs no network and no script.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use polypath_report::page::STYLE;
use polypath_report::plot::PlotError;
use serde::Serialize;

use crate::figure::{Figure, Findings, Sheet};
use crate::judge::Verdict;
use crate::output::MEASUREMENTS;
use crate::paper::Paper;
use crate::study::Scale;

/// What the book holds.
#[derive(Clone, Debug)]
pub struct Book<'a> {
    /// How much was run.
    pub scale: Scale,
    /// The root seed.
    pub seed: u64,
    /// By which ledger the claims were answered.
    pub ledger: &'a str,
    /// What was held against the papers, in the order of the ledger.
    pub claims: Vec<ClaimRow>,
    /// The papers.
    pub chapters: Vec<Chapter<'a>>,
}

/// A paper with its figures.
#[derive(Clone, Debug)]
pub struct Chapter<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// Its figures, with what came of them.
    pub figures: Vec<(&'a Figure, &'a Findings)>,
}

/// A claim and what came of it, in words.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRow {
    /// Its name in the ledger; what stands before the first dot is the paper.
    pub id: String,
    /// Where the paper says it.
    pub place: String,
    /// What it says.
    pub says: String,
    /// What kind of statement it is.
    pub kind: String,
    /// The paper's values, or the rule.
    pub paper: String,
    /// Ours, with half of the 95 % interval after `+-`.
    pub ours: String,
    /// The unit of both.
    pub unit: String,
    /// From how many runs ours comes.
    pub n: String,
    /// The seed of the first of them.
    pub seed: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it differs or was not run; empty where it holds.
    pub reason: String,
}

/// Why the book could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The template refuses what it is given.
    #[error("the book could not be filled in: {0}")]
    Template(#[from] minijinja::Error),
    /// A picture could not be drawn.
    #[error("{figure}: picture {plot}: {source}")]
    Picture {
        /// The figure.
        figure: &'static str,
        /// The name of its picture.
        plot: String,
        /// What was wrong.
        source: PlotError,
    },
}

/// A chapter as the template takes it.
#[derive(Serialize)]
struct ChapterView<'a> {
    paper: &'a Paper,
    figures: Vec<FigureView<'a>>,
    parameters: Vec<ParameterView<'a>>,
    /// Claims that none of its figures answers.
    others: Vec<&'a ClaimRow>,
}

/// A figure as the template takes it.
#[derive(Serialize)]
struct FigureView<'a> {
    id: &'static str,
    title: &'static str,
    pictures: Vec<PictureView>,
    sheets: Vec<SheetView<'a>>,
    /// Where what the claims are judged by lies, beside the book.
    measurements: String,
    notes: &'a [String],
    claims: Vec<&'a ClaimRow>,
}

/// A picture as the template takes it.
#[derive(Serialize)]
struct PictureView {
    title: String,
    svg: String,
    /// Where the sheet of its points lies, beside the book.
    csv: String,
}

/// A table as the template takes it.
#[derive(Serialize)]
struct SheetView<'a> {
    #[serde(flatten)]
    sheet: &'a Sheet,
    /// Where it lies as a file, beside the book.
    csv: String,
}

/// A parameter as the template takes it.
#[derive(Serialize)]
struct ParameterView<'a> {
    name: &'a str,
    value: &'a str,
    /// The figures that have it.
    figures: Vec<&'static str>,
}

/// The book as HTML, with its pictures inside; links to sheets lead to [`Figure::file`] beside it.
///
/// # Errors
/// Where a picture's axis has a range that is none.
pub fn render(book: &Book<'_>) -> Result<String, BookError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("interval", interval);
    let chapters = book.chapters.iter();
    let chapters: Result<Vec<_>, _> = chapters.map(|c| chapter(c, &book.claims)).collect();
    let places = book.claims.iter().map(|claim| place_of(claim, book));
    let count = |verdict| book.claims.iter().filter(|c| c.verdict == verdict).count();
    let page = environment.render_str(
        include_str!("book/template.html"),
        context! {
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
            places => Serde(places.collect::<Vec<_>>()),
            chapters => Serde(chapters?),
        },
    )?;
    Ok(page)
}

/// Text with its intervals as they are set, which no line breaks.
fn interval(text: &str) -> String {
    text.replace(" +- ", "\u{a0}±\u{a0}")
}

/// The part of the page that answers a claim: a figure, else the chapter; nothing if the paper is not in the book.
fn place_of<'a>(claim: &ClaimRow, book: &Book<'a>) -> Option<&'a str> {
    let answers = |figure: &Figure| figure.claims.contains(&claim.id.as_str());
    let all = || book.chapters.iter();
    let mut figures = all().flat_map(|chapter| &chapter.figures);
    let figure = figures.find(|(figure, _)| answers(figure));
    let chapter = || all().find(|chapter| claim.is_of(chapter.paper.id));
    figure
        .map(|(figure, _)| figure.id)
        .or_else(|| chapter().map(|chapter| chapter.paper.id))
}

fn chapter<'a>(
    chapter: &Chapter<'a>,
    claims: &'a [ClaimRow],
) -> Result<ChapterView<'a>, BookError> {
    let figures = chapter.figures.iter();
    let views = figures.map(|(figure, findings)| view(figure, findings, claims));
    let is_answered = |id: &str| {
        let mut figures = chapter.figures.iter();
        figures.any(|(figure, _)| figure.claims.contains(&id))
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
    let pictures = findings.plots.iter().map(|plot| {
        let svg = plot.svg().map_err(|source| BookError::Picture {
            figure: figure.id,
            plot: plot.id.clone(),
            source,
        })?;
        Ok(PictureView {
            title: plot.title.clone(),
            svg,
            csv: figure.file(&plot.id, "csv"),
        })
    });
    let sheets = findings.sheets.iter().map(|sheet| SheetView {
        sheet,
        csv: figure.file(&sheet.id, "csv"),
    });
    let answered = figure.claims.iter();
    let answered = answered.filter_map(|id| claims.iter().find(|claim| claim.id == *id));
    Ok(FigureView {
        id: figure.id,
        title: figure.title,
        pictures: pictures.collect::<Result<_, BookError>>()?,
        sheets: sheets.collect(),
        measurements: figure.file(MEASUREMENTS, "csv"),
        notes: &findings.notes,
        claims: answered.collect(),
    })
}

/// Each parameter once for each of its values.
fn parameters<'a>(figures: &[(&'a Figure, &'a Findings)]) -> Vec<ParameterView<'a>> {
    let mut views: Vec<ParameterView<'a>> = Vec::new();
    for (figure, findings) in figures {
        for [name, value] in &findings.parameters {
            let known = views
                .iter_mut()
                .find(|v| v.name == name && v.value == value);
            match known {
                Some(view) => view.figures.push(figure.id),
                None => views.push(ParameterView {
                    name,
                    value,
                    figures: vec![figure.id],
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
