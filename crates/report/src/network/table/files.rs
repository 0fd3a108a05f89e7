//! Completion times of files.

use super::super::figures::GroupFigures;
use super::{FLOW_NAME, counted, has_replicas, in_tables, scaled};
use crate::table::shortened;

const COLUMNS: [&str; 6] = [
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
    let row = |group: &GroupFigures| {
        let files = group.files.as_ref()?;
        Some(vec![
            shortened(&group.name, FLOW_NAME),
            counted(files.per_run.finished),
            counted(files.per_run.under_way),
            scaled(files.mean, 1.0),
            scaled(files.median, 1.0),
            scaled(files.p95, 1.0),
        ])
    };
    let rows: Vec<Vec<String>> = groups.iter().filter_map(row).collect();
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
