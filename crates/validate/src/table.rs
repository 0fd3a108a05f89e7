//! The rows for people and for programs.

use polypath_report::table::plain;
use serde::Serialize;

use crate::comparison::Comparison;

/// The version of the form of [`json`].
const VERSION: u32 = 1;

/// The rows as a table, and how many hold.
#[must_use]
pub fn render(rows: &[Comparison]) -> String {
    let header = [
        "name",
        "unit",
        "ours",
        "+- 95 %",
        "reference",
        "bound",
        "runs",
        "holds",
    ];
    let table = plain(&header, rows.iter().map(cells).collect(), 2);
    let failed = rows.iter().filter(|row| !row.holds).count();
    format!(
        "{table}\n{} rows hold, {failed} do not; each case has the root seed 1, from which the seeds of its runs follow\n",
        rows.len() - failed
    )
}

fn cells(row: &Comparison) -> Vec<String> {
    let unit = if row.unit == "1" { "share" } else { row.unit };
    vec![
        row.name.clone(),
        unit.to_owned(),
        number(row.ours),
        row.ci95.map_or("-".to_owned(), number),
        number(row.reference),
        number(row.bound),
        row.runs.to_string(),
        if row.holds { "yes" } else { "NO" }.to_owned(),
    ]
}

/// With five digits, as far as they are behind the point.
fn number(value: f64) -> String {
    let before = if value == 0.0 {
        0.0
    } else {
        value.abs().log10().floor()
    };
    let decimals = (4.0 - before).clamp(0.0, 7.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and 7"
    )]
    let decimals = decimals as usize;
    format!("{value:.decimals$}")
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    holds: bool,
    rows: &'a [Comparison],
}

/// The rows as JSON; `bound` is the distance from the reference that is allowed.
///
/// # Errors
/// If a figure cannot be written.
pub fn json(rows: &[Comparison]) -> serde_json::Result<String> {
    let report = Report {
        version: VERSION,
        holds: rows.iter().all(|row| row.holds),
        rows,
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
