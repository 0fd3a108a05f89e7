//! The page of senders that choose among the same paths.

use polypath_scenario::parameters;

use super::conclusion::conclusion;
use super::figures::StabilityFigures;
use super::table::{basis, tables};
use super::{StabilityRecord, pictures};
use crate::page::layout::{Head, PageTable, Picture, Section, render_sections};
use crate::page::{PageError, parameters as parameter_table};
use crate::plot::Plot;
use crate::table::titled;

/// The page as HTML, with its pictures inside.
pub(super) fn render(
    record: StabilityRecord<'_>,
    figures: &StabilityFigures,
) -> Result<String, PageError> {
    let network = record.network;
    let head = Head {
        heading: titled(&network.name, &network.title),
        name: &network.name,
        title: network.title.trim(),
        facts: basis(record, figures).replace('\n', " ") + ".",
        conclusion: conclusion(record, figures),
    };
    let (map, others): (Vec<_>, Vec<_>) = tables(record, figures)
        .into_iter()
        .partition(|table| table.class == "map");
    let section = |title: &str, plot: Option<Plot>, tables: Vec<super::table::SettingTable>| {
        let picture = |plot: Plot| {
            Ok::<_, PageError>(Picture {
                svg: plot.svg()?,
                alt: format!("Chart: {}", plot.title),
            })
        };
        let on_page = |table: super::table::SettingTable| {
            PageTable::new(table.class, table.caption, table.columns, table.rows)
        };
        Ok::<_, PageError>(Section {
            title: title.to_owned(),
            pictures: plot.map(picture).transpose()?.into_iter().collect(),
            tables: tables.into_iter().map(on_page).collect(),
            ..Section::default()
        })
    };
    let sections = [
        section("Settings", pictures::history(record), others)?,
        section("Map", pictures::map(record, figures), map)?,
        Section {
            title: "Parameters".to_owned(),
            tables: vec![parameter_table(&parameters(network))],
            is_folded: true,
            ..Section::default()
        },
    ];
    let sections: Vec<Section> = sections.into_iter().filter(Section::has_content).collect();
    render_sections(&head, &[], &sections)
}
