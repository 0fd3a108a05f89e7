//! The files of a reproduction: plots, tables, measurements and the book.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_report::plot::PlotError;
use polypath_report::replace_file;

use crate::answer::Answer;
use crate::book::{Book, BookError, Chapter, render};
use crate::figure::{Figure, FigureTable, Findings, MadeFigure};
use crate::measurement::{Measurement, from_csv, to_csv};
use crate::paper::Paper;
use crate::study::{SEED, Scale};

/// The name of the file with the measurements of a figure.
pub(crate) const MEASUREMENTS: &str = "measurements";
/// The name of the file with those in the lab.
const IN_LAB: &str = "measurements-lab";

/// An error of the files of a reproduction.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file cannot be written or read.
    #[error("cannot read or write {}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// Two plots or tables of a figure have the same file name.
    #[error("{0} names two plots or tables")]
    Twice(String),
    /// A quantity was measured twice at one position. In the file both would be one.
    #[error("{0} was measured twice")]
    Measured(String),
    /// A CSV file cannot be written or read.
    #[error("{name}: {error}")]
    Csv {
        /// The file.
        name: String,
        /// The cause.
        #[source]
        error: csv::Error,
    },
    /// A plot cannot be drawn.
    #[error("{name}: {source}")]
    Drawing {
        /// The file.
        name: String,
        /// The cause.
        source: PlotError,
    },
    /// The book cannot be rendered.
    #[error(transparent)]
    Book(#[from] BookError),
}

/// The contents of the book apart from figures and answers.
#[derive(Clone, Copy, Debug)]
pub struct BookOptions<'a> {
    /// The scale of the simulations.
    pub scale: Scale,
    /// The ledger in words, such as "its own ledger".
    pub ledger: &'a str,
    /// The papers, in the order of their chapters.
    pub papers: &'a [Paper],
}

/// Writes the findings of a figure below `out`. Returns the figure with its measurements as read
/// back from their files, by which claims are judged.
///
/// # Errors
/// If a file cannot be written.
pub fn write<'a>(
    out: &Path,
    figure: &'a Figure,
    findings: &'a Findings,
) -> Result<MadeFigure<'a>, OutputError> {
    check_names(figure, findings)?;
    check_measurements(&findings.measurements)?;
    check_measurements(&findings.in_lab)?;
    for plot in &findings.plots {
        put(out, &figure.file(&plot.id, "csv"), plot.csv().as_bytes())?;
        let name = figure.file(&plot.id, "svg");
        let svg = plot.svg().map_err(|source| OutputError::Drawing {
            name: name.clone(),
            source,
        })?;
        put(out, &name, svg.as_bytes())?;
    }
    for table in &findings.tables {
        let name = figure.file(&table.id, "csv");
        let csv = table.csv().map_err(|error| invalid(&name, error))?;
        put(out, &name, &csv)?;
    }
    let in_lab = match &findings.in_lab[..] {
        [] => Vec::new(),
        measured => written(out, &figure.file(IN_LAB, "csv"), measured)?,
    };
    Ok(MadeFigure {
        figure,
        findings,
        measurements: written(
            out,
            &figure.file(MEASUREMENTS, "csv"),
            &findings.measurements,
        )?,
        in_lab,
    })
}

/// Writes measurements and reads them back.
fn written(
    out: &Path,
    name: &str,
    measurements: &[Measurement],
) -> Result<Vec<Measurement>, OutputError> {
    let csv = to_csv(measurements).map_err(|error| invalid(name, error))?;
    let path = put(out, name, &csv)?;
    let read = fs::read(&path).map_err(|error| OutputError::File { path, error })?;
    from_csv(&read).map_err(|error| invalid(name, error))
}

/// Rejects two files of one name, of which the second would replace the first.
fn check_names(figure: &Figure, findings: &Findings) -> Result<(), OutputError> {
    let plots = findings.plots.iter().map(|plot| &plot.id);
    let tables = findings.tables.iter().map(|table| &table.id);
    let mut names: Vec<&str> = plots.chain(tables).map(String::as_str).collect();
    names.extend([MEASUREMENTS, IN_LAB]);
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| {
        Err(OutputError::Twice(figure.file(pair[0], "csv")))
    })
}

/// Rejects two measurements of one quantity, which would be read back as one.
fn check_measurements(all: &[Measurement]) -> Result<(), OutputError> {
    for (number, measurement) in all.iter().enumerate() {
        if all[..number]
            .iter()
            .any(|before| before.is_same_quantity(measurement))
        {
            let name = format!("{} of {}", measurement.quantity, measurement.claim);
            return Err(OutputError::Measured(name));
        }
    }
    Ok(())
}

/// Writes the book below `out` and returns its path.
///
/// # Errors
/// If it cannot be rendered or written.
pub fn write_book(
    out: &Path,
    options: BookOptions<'_>,
    made: &[MadeFigure<'_>],
    answers: &[Answer],
) -> Result<PathBuf, OutputError> {
    let chapter = |paper| Chapter {
        paper,
        figures: made
            .iter()
            .filter(|made| made.figure.paper() == paper.id)
            .collect(),
    };
    let chapters = options.papers.iter().map(chapter);
    let book = Book {
        scale: options.scale,
        seed: SEED,
        ledger: options.ledger,
        claims: answers.iter().map(Answer::book_claim).collect(),
        chapters: chapters
            .filter(|chapter| !chapter.figures.is_empty())
            .collect(),
    };
    put(out, "book.html", render(&book)?.as_bytes())
}

/// Writes a file below `out` atomically and returns its path.
///
/// # Errors
/// If it cannot be written.
pub fn put(out: &Path, name: &str, content: &[u8]) -> Result<PathBuf, OutputError> {
    let path = out.join(name);
    let write = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap_or(out))?;
        replace_file(path, content)
    };
    match write(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(OutputError::File { path, error }),
    }
}

fn invalid(name: &str, error: csv::Error) -> OutputError {
    let name = name.to_owned();
    OutputError::Csv { name, error }
}

impl FigureTable {
    fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row)?;
        }
        writer
            .into_inner()
            .map_err(|error| error.into_error().into())
    }
}

#[cfg(test)]
mod tests {
    use polypath_report::plot::Plot;

    use super::*;
    use crate::study::{Pending, Study};

    #[expect(clippy::unnecessary_wraps, reason = "the signature of figures")]
    fn nothing(_: &mut Study<'_>) -> Result<Findings, Pending> {
        Ok(Findings::default())
    }

    #[test]
    fn two_files_of_one_name_are_rejected_before_any_is_written() {
        let figure = Figure {
            id: "p.fig1",
            title: "",
            claims: &[],
            make: nothing,
        };
        let dir = tempfile::tempdir().unwrap();
        let write = |plot: &str, table: &str| {
            let mut findings = Findings::default();
            findings.plots.push(Plot {
                id: plot.to_owned(),
                ..Plot::default()
            });
            findings.tables.push(FigureTable {
                id: table.to_owned(),
                ..FigureTable::default()
            });
            let written = super::write(dir.path(), &figure, &findings);
            written
                .map(|made| made.measurements)
                .map_err(|error| error.to_string())
        };
        let error = write("gaps", "gaps").unwrap_err();
        assert!(error.starts_with("p.fig1/gaps.csv names two"), "{error}");
        assert!(write("gaps", "measurements").is_err());
        assert!(!dir.path().join("p.fig1").exists());
        assert_eq!(write("gaps", "settings"), Ok(Vec::new()));
    }
}
