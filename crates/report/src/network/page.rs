//! The page of a network.

mod pictures;
#[cfg(test)]
mod tests;

use polypath_scenario::parameters;

use super::NetworkRecord;
use super::conclusion::conclusion;
use super::figures::{FlowFigures, NetworkFigures};
use super::table::{self, files, losses};
use crate::difference::NO_DIFFERENCE_MEANING;
use crate::page::layout::{Head, PageTable, Section, render_sections};
use crate::page::{PageError, parameters as parameter_table};
use crate::table::titled;

pub(crate) use pictures::picture;

/// The columns of the table of single flows.
const FLOW_COLUMNS: [&str; 7] = [
    "flow",
    "goodput Mbit/s",
    "delay ms",
    "window segments",
    "sent",
    "sent again",
    "timeouts",
];

/// The page as HTML, with its pictures inside.
pub(super) fn render(
    record: NetworkRecord<'_>,
    figures: &NetworkFigures,
) -> Result<String, PageError> {
    let network = record.network;
    let title = network.title.trim();
    let head = Head {
        heading: titled(&network.name, title),
        name: &network.name,
        title,
        facts: table::basis(record).replace('\n', " ").replace("+-", "±") + ".",
        conclusion: conclusion(record, figures),
    };
    let of_groups = figures.groups.iter().flat_map(table::warnings);
    let warnings: Vec<String> = of_groups
        .chain(losses::warnings(record, &figures.links))
        .collect();
    let parameters = Section {
        title: "Parameters".to_owned(),
        tables: vec![parameter_table(&parameters(network))],
        is_folded: true,
        ..Section::default()
    };
    let sections = [
        flows(record, figures)?,
        links(record, figures)?,
        single_flows(figures)?,
        parameters,
    ];
    let sections: Vec<Section> = sections.into_iter().filter(Section::has_content).collect();
    render_sections(&head, &warnings, &sections)
}

/// The groups of flows.
fn flows(record: NetworkRecord<'_>, figures: &NetworkFigures) -> Result<Section, PageError> {
    let groups = &figures.groups;
    let rows = groups.iter().map(table::group_row).collect();
    let mut tables = vec![PageTable::new(
        "flows",
        "Goodput of all flows of a group together, and counts of a run",
        &table::FLOW_COLUMNS,
        rows,
    )];
    if let Some(rows) = table::difference_rows(groups) {
        let columns = table::difference_columns(&groups[0].name);
        let columns = columns.each_ref().map(String::as_str);
        let caption = format!(
            "Goodput of one flow, compared with one of the first group. {NO_DIFFERENCE_MEANING}."
        );
        tables.push(PageTable::new("differences", &caption, &columns, rows));
    }
    let percentiles: Vec<Vec<String>> = groups.iter().filter_map(table::percentile_row).collect();
    if !percentiles.is_empty() {
        let columns = &table::PERCENTILE_COLUMNS;
        tables.push(PageTable::new(
            "delays",
            "One-way delays",
            columns,
            percentiles,
        ));
    }
    let of_files: Vec<Vec<String>> = groups.iter().filter_map(files::row).collect();
    if !of_files.is_empty() {
        tables.push(PageTable::new("files", "Files", &files::COLUMNS, of_files));
    }
    Ok(Section {
        title: "Flows".to_owned(),
        note: pictures::note(
            record,
            groups.len(),
            "groups of flows with the highest goodput",
        ),
        pictures: pictures::flows(record, figures)?,
        tables,
        ..Section::default()
    })
}

fn links(record: NetworkRecord<'_>, figures: &NetworkFigures) -> Result<Section, PageError> {
    let shown = table::worth_showing(&figures.links);
    let rows = shown.iter().copied().map(table::link_row).collect();
    let caption = match figures.links.len() - shown.len() {
        0 => "Links, and packets of a run".to_owned(),
        hidden => format!("Links, and packets of a run; {}", table::not_shown(hidden)),
    };
    let mut tables = vec![PageTable::new(
        "links",
        &caption,
        &table::LINK_COLUMNS,
        rows,
    )];
    let losses = losses::rows(&shown);
    if !losses.is_empty() {
        let caption = "Packets that were marked or dropped";
        tables.push(PageTable::new(
            "outcomes",
            caption,
            &losses::COLUMNS,
            losses,
        ));
    }
    Ok(Section {
        title: "Links".to_owned(),
        note: pictures::note(record, shown.len(), "links with the highest load"),
        pictures: pictures::links(record, figures, &shown)?,
        tables,
        ..Section::default()
    })
}

/// Every flow, if groups have several.
fn single_flows(figures: &NetworkFigures) -> Result<Section, PageError> {
    if figures.flows.len() == figures.groups.len() {
        return Ok(Section::default());
    }
    let rows = figures.flows.iter().map(flow_row).collect();
    let caption = format!("All {} flows, counts over all runs", figures.flows.len());
    Ok(Section {
        title: "Single flows".to_owned(),
        pictures: vec![pictures::single_flows(figures)?],
        tables: vec![PageTable::new("single", &caption, &FLOW_COLUMNS, rows)],
        is_folded: true,
        ..Section::default()
    })
}

fn flow_row(flow: &FlowFigures) -> Vec<String> {
    vec![
        flow.name.clone(),
        table::scaled(flow.means.goodput, 1e-6),
        table::scaled(flow.means.delay, 1e3),
        table::scaled(flow.means.window, 1.0),
        flow.totals.sender.sent.to_string(),
        flow.totals.sender.retransmitted.to_string(),
        flow.totals.sender.timeouts.to_string(),
    ]
}
