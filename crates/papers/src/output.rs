//! Files of a reproduction: figures, tables and measurements, each beside what it was made of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_report::replace_file;

use crate::figure::{Figure, Findings, Sheet};
use crate::measurement::{Measurement, from_csv, to_csv};

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
    #[error("{name}: {error}")]
    Drawing {
        /// Which.
        name: String,
        /// Why not.
        error: String,
    },
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
    let id = figure.id;
    for plot in &findings.plots {
        let name = format!("figures/{id}.{}", plot.id);
        put(out, &format!("{name}.csv"), plot.csv().as_bytes())?;
        let svg = plot.svg().map_err(|error| OutputError::Drawing {
            name: name.clone(),
            error: error.to_string(),
        })?;
        put(out, &format!("{name}.svg"), svg.as_bytes())?;
    }
    for sheet in &findings.sheets {
        let name = format!("tables/{id}.{}.csv", sheet.id);
        let csv = sheet.csv().map_err(|error| invalid(&name, error))?;
        put(out, &name, &csv)?;
    }
    let name = format!("measurements/{id}.csv");
    let csv = to_csv(&findings.measurements).map_err(|error| invalid(&name, error))?;
    let path = put(out, &name, &csv)?;
    let read = fs::read(&path).map_err(|error| OutputError::File { path, error })?;
    from_csv(&read).map_err(|error| invalid(&name, error))
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
