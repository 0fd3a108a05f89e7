//! Files of a reproduction: figures, tables and measurements, each beside what it was made of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_report::plot::PlotError;
use polypath_report::replace_file;

use crate::answer::Answer;
use crate::book::{Book, BookError, Chapter, render};
use crate::figure::{Figure, Findings, Sheet};
use crate::measurement::{Measurement, from_csv, to_csv};
use crate::paper::{PAPERS, Paper};
use crate::study::{SEED, Scale};

/// The file of a figure that holds what its claims are judged by.
pub(crate) const MEASUREMENTS: &str = "measurements";

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file cannot be written or read.
    #[error("cannot write {}: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A figure has two files of one name.
    #[error("{0} stands for two of its pictures and tables")]
    Twice(String),
    /// A quantity was measured twice at one position: as a file both would be one.
    #[error("{0} was measured twice")]
    Measured(String),
    /// A sheet cannot be made.
    #[error("{name}: {error}")]
    Csv {
        /// Which.
        name: String,
        /// Why not.
        #[source]
        error: csv::Error,
    },
    /// A picture cannot be drawn.
    #[error("{name}: {source}")]
    Drawing {
        /// Which.
        name: String,
        /// Why not.
        source: PlotError,
    },
    /// The book cannot be made.
    #[error(transparent)]
    Book(#[from] BookError),
}

/// Writes what a figure found below `out`, and gives its measurements as they stand in their file: by these the claims
/// are judged.
///
/// # Errors
/// Where something cannot be written.
pub fn write(
    out: &Path,
    figure: &Figure,
    findings: &Findings,
) -> Result<Vec<Measurement>, OutputError> {
    check_names(figure, findings)?;
    check_measurements(&findings.measurements)?;
    for plot in &findings.plots {
        put(out, &figure.file(&plot.id, "csv"), plot.csv().as_bytes())?;
        let name = figure.file(&plot.id, "svg");
        let svg = plot.svg().map_err(|source| OutputError::Drawing {
            name: name.clone(),
            source,
        })?;
        put(out, &name, svg.as_bytes())?;
    }
    for sheet in &findings.sheets {
        let name = figure.file(&sheet.id, "csv");
        let csv = sheet.csv().map_err(|error| invalid(&name, error))?;
        put(out, &name, &csv)?;
    }
    let name = figure.file(MEASUREMENTS, "csv");
    let csv = to_csv(&findings.measurements).map_err(|error| invalid(&name, error))?;
    let path = put(out, &name, &csv)?;
    let read = fs::read(&path).map_err(|error| OutputError::File { path, error })?;
    from_csv(&read).map_err(|error| invalid(&name, error))
}

/// Refuses two files of one name, of which the second would replace the first.
fn check_names(figure: &Figure, findings: &Findings) -> Result<(), OutputError> {
    let plots = findings.plots.iter().map(|plot| &plot.id);
    let sheets = findings.sheets.iter().map(|sheet| &sheet.id);
    let mut names: Vec<&str> = plots.chain(sheets).map(String::as_str).collect();
    names.push(MEASUREMENTS);
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| {
        Err(OutputError::Twice(figure.file(pair[0], "csv")))
    })
}

/// Refuses two measurements of one quantity, which would be read as one with the runs of both.
fn check_measurements(all: &[Measurement]) -> Result<(), OutputError> {
    for (number, measurement) in all.iter().enumerate() {
        if all[..number].iter().any(|before| before.is_of(measurement)) {
            let name = format!("{} of {}", measurement.quantity, measurement.claim);
            return Err(OutputError::Measured(name));
        }
    }
    Ok(())
}

/// Writes the book below `out`, with the figures that were made and the answers to the claims; gives its place.
///
/// # Errors
/// Where it cannot be made or written.
pub fn write_book(
    out: &Path,
    (scale, ledger): (Scale, &str),
    made: &[(&Figure, &Findings, Vec<Measurement>)],
    answers: &[Answer],
) -> Result<PathBuf, OutputError> {
    let chapter = |paper: &'static Paper| {
        let of_paper = made.iter().filter(|made| made.0.paper() == paper.id);
        Chapter {
            paper,
            figures: of_paper.map(|made| (made.0, made.1)).collect(),
        }
    };
    let chapters = PAPERS.iter().map(chapter);
    let book = Book {
        scale,
        seed: SEED,
        ledger,
        claims: answers.iter().map(Answer::row_of_book).collect(),
        chapters: chapters
            .filter(|chapter| !chapter.figures.is_empty())
            .collect(),
    };
    put(out, "book.html", render(&book)?.as_bytes())
}

/// Writes a file below `out`, whole or not at all.
///
/// # Errors
/// Where it cannot be written.
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

impl Sheet {
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

    #[expect(clippy::unnecessary_wraps, reason = "it is one of many that may wait")]
    fn nothing(_: &mut Study<'_>) -> Result<Findings, Pending> {
        Ok(Findings::default())
    }

    #[test]
    fn two_files_of_one_name_are_refused_before_any_is_written() {
        let figure = Figure {
            id: "p.fig1",
            title: "",
            claims: &[],
            make: nothing,
        };
        let dir = tempfile::tempdir().unwrap();
        let write = |plot: &str, sheet: &str| {
            let mut findings = Findings::default();
            findings.plots.push(Plot {
                id: plot.to_owned(),
                ..Plot::default()
            });
            findings.sheets.push(Sheet {
                id: sheet.to_owned(),
                ..Sheet::default()
            });
            super::write(dir.path(), &figure, &findings).map_err(|error| error.to_string())
        };
        let refused = write("gaps", "gaps").unwrap_err();
        assert!(
            refused.starts_with("p.fig1/gaps.csv stands for two"),
            "{refused}"
        );
        assert!(write("gaps", "measurements").is_err());
        assert!(!dir.path().join("p.fig1").exists());
        assert_eq!(write("gaps", "settings"), Ok(Vec::new()));
    }
}
