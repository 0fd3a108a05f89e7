//! The report as text for a terminal.

use std::fmt::Write as _;
use std::ops::Range;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use polypath_core::time::Duration;

use crate::conclusion;
use crate::difference::{Bound, Difference, NO_DIFFERENCE, NO_DIFFERENCE_MEANING};
use crate::figures::{Figures, SchemeFigures};
use crate::record::{DirectionRecord, ExperimentRecord, Lateness, SchemeRecord};
use crate::statistics::Estimate;

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

/// A line above, below and under the header.
pub const RULED: TableStyle = TableStyle::new()
    .top_border(RULE)
    .header_separator(RULE)
    .bottom_border(RULE);

/// The figures of an experiment as tables, each mean with half of its 95 % confidence interval.
#[must_use]
pub fn render(experiment: &ExperimentRecord, figures: &Figures) -> String {
    let rounds = experiment
        .schemes
        .iter()
        .map(|s| s.transfers.len())
        .max()
        .unwrap_or(0);
    let mut text = format!("{}\n", heading(experiment));
    let _ = writeln!(
        text,
        "{}, seed {}, n = {rounds} transfers a scheme of {};\n+- is half of the 95 % interval\n",
        experiment.mode, experiment.seed, experiment.content
    );
    let (left, right) = (1..FIRST_COLUMNS, FIRST_COLUMNS..SCHEME_COLUMNS.len());
    for columns in [left, right] {
        let _ = writeln!(text, "{}\n", schemes(experiment, figures, &columns));
    }
    let _ = writeln!(text, "{}", paths(experiment));
    if figures.schemes.iter().any(SchemeFigures::has_marked) {
        let _ = writeln!(text, "\n{NO_DIFFERENCE_MEANING}\n(that of a harm: one)");
    }
    if figures.schemes.iter().any(|scheme| scheme.timed_out > 0) {
        let timeout = experiment.timeout;
        let _ = writeln!(
            text,
            "\ntransfers that timed out count as {timeout}: the truth is more where >= stands,\n\
             less where <= stands, either where ~ stands"
        );
    }
    if let Some(lateness) = &experiment.lateness {
        let _ = writeln!(text, "\n{}", lateness_line(lateness));
    }
    let sentences = conclusion::transfers::conclusion(experiment, figures);
    let _ = write!(text, "\n{}", conclusion::lines(&sentences));
    // A title or file name must not control the terminal.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

/// The name of an experiment, and its title if it has one.
#[must_use]
pub fn heading(experiment: &ExperimentRecord) -> String {
    titled(&experiment.name, &experiment.title)
}

/// A name, and the title that belongs to it if there is one.
pub(crate) fn titled(name: &str, title: &str) -> String {
    match title.trim() {
        "" => name.to_owned(),
        title => format!("{name}: {title}"),
    }
}

/// The lateness of the emulator, and whether the run is valid, in one line.
#[must_use]
pub fn lateness_line(lateness: &Lateness) -> String {
    let us = |span: Duration| span.as_nanos() / 1000;
    let verdict = if lateness.valid() { "valid" } else { "INVALID" };
    format!(
        "lateness of the emulator: p50 {} us, p99 {} us, max {} us (bound on p99: {} us): {verdict}",
        us(lateness.p50),
        us(lateness.p99),
        us(lateness.max),
        us(lateness.bound),
    )
}

/// These columns, after the names of the schemes.
fn schemes(experiment: &ExperimentRecord, figures: &Figures, columns: &Range<usize>) -> Table {
    let first = |cells: &[String]| [&cells[..1], &cells[columns.clone()]].concat();
    let mut table = table(&first(&SCHEME_COLUMNS.map(str::to_owned)));
    for (record, figures) in experiment.schemes.iter().zip(&figures.schemes) {
        table.add_row(first(&scheme_row(record, figures)));
    }
    align(&mut table, 1);
    table
}

/// The number of columns of the table of schemes that fit into 80 characters.
const FIRST_COLUMNS: usize = 5;

/// The columns of the table of schemes.
pub const SCHEME_COLUMNS: [&str; 10] = [
    "scheme",
    "transfer\ns",
    "minus tcp\ns",
    "timed\nout",
    "pre-buffer\ns",
    "overhead\nkB (ratio)",
    "duplicates\ndiscarded",
    "path\nswitches",
    "harm\nratio",
    "intact",
];

/// A scheme's row under [`SCHEME_COLUMNS`].
#[must_use]
pub fn scheme_row(record: &SchemeRecord, figures: &SchemeFigures) -> Vec<String> {
    let totals = &record.overlay.totals;
    let time = Bound::of_time(figures.timed_out);
    let prebuffer = Bound::of_prebuffer(figures.timed_out);
    let overhead = totals.overhead().0 as f64 / 1e3;
    vec![
        record.name.clone(),
        bounded(figures.transfer, time),
        difference(figures.difference),
        figures.timed_out.to_string(),
        bounded(figures.prebuffer, prebuffer),
        match figures.overhead_ratio {
            Some(ratio) => format!("{overhead:.1} ({ratio:.3})"),
            None => format!("{overhead:.1}"),
        },
        totals.duplicates_discarded().to_string(),
        record.overlay.server_switches().count().to_string(),
        marked(spread(figures.harm), figures.harm_difference()),
        intact(record, figures).to_owned(),
    ]
}

/// A corrupt file must not be mistaken for one that did not arrive.
fn intact(record: &SchemeRecord, figures: &SchemeFigures) -> &'static str {
    match figures.intact {
        Some(true) => "yes",
        Some(false) => "NO",
        None if record.transfers.is_empty() => "-",
        None => "timed out",
    }
}

fn paths(experiment: &ExperimentRecord) -> Table {
    let mut table = table(&PATH_COLUMNS.map(str::to_owned));
    for mut row in path_rows(experiment) {
        row[1] = shortened(&row[1], PATH_NAME);
        table.add_row(row);
    }
    align(&mut table, 3);
    table
}

/// The columns of the table of paths.
pub const PATH_COLUMNS: [&str; 10] = [
    "scheme",
    "path",
    "direction",
    "frames",
    "bytes\nkB",
    "lost\n%",
    "delay\np50 ms",
    "p95\nms",
    "p99\nms",
    "load\n%",
];

/// Rows under [`PATH_COLUMNS`]: each direction of each path of each scheme.
#[must_use]
pub fn path_rows(experiment: &ExperimentRecord) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for scheme in &experiment.schemes {
        for path in &scheme.overlay.paths {
            for (name, direction) in [("to client", &path.forward), ("to server", &path.backward)] {
                let mut row = vec![scheme.name.clone(), path.name.clone(), name.to_owned()];
                row.extend(direction_cells(direction));
                rows.push(row);
            }
        }
    }
    rows
}

fn direction_cells(direction: &DirectionRecord) -> [String; 7] {
    let percent = |share: Option<f64>| share.map_or_else(dash, |s| format!("{:.1}", s * 100.0));
    let delay = |quantile: fn(crate::DelayQuantiles) -> Duration| {
        let ms = |delay| format!("{:.1}", quantile(delay).as_secs_f64() * 1e3);
        direction.delay.map_or_else(dash, ms)
    };
    [
        direction.frames_out.to_string(),
        format!("{:.1}", direction.bytes_out.0 as f64 / 1e3),
        percent(direction.loss()),
        delay(|quantiles| quantiles.p50),
        delay(|quantiles| quantiles.p95),
        delay(|quantiles| quantiles.p99),
        percent(direction.load),
    ]
}

/// A table with a line above, below and under its header; numbers, from column `first_number` on,
/// are aligned right.
#[must_use]
pub fn plain(header: &[&str], rows: Vec<Vec<String>>, first_number: usize) -> String {
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    let mut table = table(&header);
    for row in rows {
        table.add_row(row);
    }
    align(&mut table, first_number);
    table.to_string()
}

/// The maximum length of a path's name in the table, in characters.
const PATH_NAME: usize = 8;

/// A name for a table: both ends around an ellipsis if it is longer than `most`; CSV and JSON have
/// it complete.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    let ends = name.chars().take(head).chain(['…']);
    ends.chain(name.chars().skip(length - tail)).collect()
}

pub(crate) fn table(header: &[String]) -> Table {
    let mut table = Table::new();
    table
        .load_style(RULED)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for column in table.column_iter_mut() {
        column
            .set_constraint(ColumnConstraint::ContentWidth)
            .set_padding((0, 1));
    }
    table
}

/// Numbers, from column `first` on, are aligned right.
pub(crate) fn align(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The cell of a difference, with its bound and its mark.
pub(crate) fn difference(difference: Option<Difference>) -> String {
    let bound = difference.map_or(Bound::Exact, |difference| difference.bound);
    let estimate = difference.map(|difference| difference.estimate);
    marked(bounded(estimate, bound), difference)
}

/// A cell, marked if the difference that it shows has an interval that includes zero.
pub(crate) fn marked(cell: String, difference: Option<Difference>) -> String {
    if difference.is_some_and(|difference| difference.is_marked()) {
        format!("{cell} {NO_DIFFERENCE}")
    } else {
        cell
    }
}

/// An estimate, marked if timed-out transfers censor it.
pub(crate) fn bounded(estimate: Option<Estimate>, bound: Bound) -> String {
    let mark = estimate.map_or("", |_| bound.mark());
    format!("{mark}{}", spread(estimate))
}

pub(crate) fn spread(estimate: Option<Estimate>) -> String {
    match estimate {
        Some(Estimate {
            mean,
            ci95: Some(ci95),
            ..
        }) => format!("{mean:.3} +- {ci95:.3}"),
        Some(Estimate { mean, .. }) => format!("{mean:.3}"),
        None => dash(),
    }
}

/// The cell of a missing value.
pub(crate) fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::experiment;

    #[test]
    fn the_terminal_shows_units_intervals_seed_and_number() {
        let experiment = experiment();
        insta::assert_snapshot!(render(&experiment, &Figures::of(&experiment)));
    }

    #[test]
    fn it_fits_into_80_columns() {
        let mut experiment = experiment();
        let schemes = experiment.schemes.iter_mut();
        for path in schemes.flat_map(|scheme| &mut scheme.overlay.paths) {
            path.name = format!("{}{}", "long-".repeat(12), path.name);
        }
        let text = render(&experiment, &Figures::of(&experiment));
        assert!(text.contains("long…th1"), "{text}");
        let tables = text.lines().filter(|line| line.starts_with(['─', ' ']));
        let widths: Vec<usize> = tables.map(|line| line.chars().count()).collect();
        assert!(
            !widths.is_empty() && widths.iter().all(|width| *width <= 80),
            "{text}"
        );
    }

    #[test]
    fn no_title_steers_the_terminal() {
        let mut experiment = experiment();
        experiment.title = "\u{1b}[2Jgone".to_owned();
        let text = render(&experiment, &Figures::of(&experiment));
        assert!(
            text.contains("[2Jgone") && !text.contains('\u{1b}'),
            "{text}"
        );
    }

    #[test]
    fn a_name_without_a_title_has_no_suffix() {
        let mut experiment = experiment();
        experiment.title = " ".to_owned();
        assert_eq!(heading(&experiment), "small");
    }

    #[test]
    fn a_missing_file_is_not_called_corrupt() {
        let mut experiment = experiment();
        let shown = |experiment: &ExperimentRecord| {
            let figures = Figures::of(experiment);
            scheme_row(&experiment.schemes[0], &figures.schemes[0]).pop()
        };
        experiment.schemes[0].transfers[0].intact = false;
        assert_eq!(shown(&experiment).unwrap(), "NO");
        for transfer in &mut experiment.schemes[0].transfers {
            transfer.duration = None;
        }
        assert_eq!(shown(&experiment).unwrap(), "timed out");
        experiment.schemes[0].transfers.clear();
        assert_eq!(shown(&experiment).unwrap(), "-");
    }

    #[test]
    fn a_late_emulator_is_called_invalid() {
        let mut lateness = experiment().lateness.unwrap();
        assert!(lateness_line(&lateness).ends_with(": valid"));
        lateness.p99 = Duration::from_micros(2001);
        assert!(lateness_line(&lateness).ends_with(": INVALID"));
    }
}
