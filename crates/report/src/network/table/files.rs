//! Completion times of files.

use super::super::figures::GroupFigures;
use super::{FLOW_NAME, counted, has_replicas, in_tables, scaled, shortened_names};

pub(in crate::network) const COLUMNS: [&str; 6] = [
    "files",
    "finished",
    "under way",
    "mean\ns",
    "median\ns",
    "95 % within\ns",
];
/// The first column of the further table if all have intervals.
const TABLES_OF_REPLICAS: &[usize] = &[3];

/// The completion times of flows that send files; `None` if none does.
pub(super) fn render(groups: &[GroupFigures]) -> Option<String> {
    let rows = shortened_names(groups.iter().filter_map(row), FLOW_NAME);
    let counts = groups.iter().filter_map(|group| group.files.as_ref());
    let tables = if counts
        .filter_map(|files| files.per_run.finished)
        .any(has_replicas)
    {
        TABLES_OF_REPLICAS
    } else {
        &[]
    };
    (!rows.is_empty()).then(|| format!("{}\n\n", in_tables(&COLUMNS, tables, &rows)))
}

/// A row under [`COLUMNS`]; `None` if the flows send no files.
pub(in crate::network) fn row(group: &GroupFigures) -> Option<Vec<String>> {
    let files = group.files.as_ref()?;
    Some(vec![
        group.name.clone(),
        counted(files.per_run.finished),
        counted(files.per_run.under_way),
        scaled(files.mean, 1.0),
        scaled(files.median, 1.0),
        scaled(files.p95, 1.0),
    ])
}
