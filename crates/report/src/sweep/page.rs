//! The page of a sweep.

mod heat;
mod pictures;
#[cfg(test)]
mod tests;

use super::axes::{Parameter, value};
use super::conclusion::{conclusion, minus_first};
use super::quantities::{Quantity, difference, entry, names};
use super::{Kind, SweepPoint};
use crate::conclusion::NO_DIFFERENCE_MEANING;
use crate::page::PageError;
use crate::page::layout::{Head, PageTable, Section, render_sections};
use crate::table::{marked, spread};

/// A sweep to draw.
pub(super) struct SweepView<'a> {
    pub(super) kind: Kind,
    pub(super) points: &'a [SweepPoint],
    /// The parameters with more than one value.
    pub(super) parameters: Vec<Parameter>,
}

/// The page as HTML, with its pictures inside.
pub(super) fn render(name: &str, kind: Kind, points: &[SweepPoint]) -> Result<String, PageError> {
    let view = SweepView {
        kind,
        points,
        parameters: Parameter::all(points),
    };
    let failed = points.iter().filter(|point| point.report.is_err()).count();
    let keys: Vec<String> = view
        .parameters
        .iter()
        .map(|parameter| format!("{} ({} values)", parameter.key, parameter.values.len()))
        .collect();
    let head = Head {
        heading: format!("{name}: sweep"),
        name,
        title: "",
        facts: format!("Sweep of {} points over {}.", points.len(), keys.join(", ")),
        conclusion: conclusion(kind, points),
    };
    let warnings: Vec<String> = (failed > 0)
        .then(|| {
            format!(
                "{failed} of {} points failed and are not shown.",
                points.len()
            )
        })
        .into_iter()
        .collect();
    let lists: &[(&str, &str)] = match kind {
        Kind::Network => &[("groups", "Flows"), ("links", "Links")],
        Kind::Transfers => &[("schemes", "Schemes")],
    };
    let sections = lists.iter().map(|(list, title)| view.section(list, title));
    let sections = sections.collect::<Result<Vec<Section>, PageError>>()?;
    render_sections(&head, &warnings, &sections)
}

impl SweepView<'_> {
    /// The pictures and the table of the entries of a list.
    fn section(&self, list: &'static str, title: &str) -> Result<Section, PageError> {
        let names = self.names(list);
        let drawn = pictures::drawn(self, list, &names)?;
        Ok(Section {
            title: title.to_owned(),
            note: drawn.note,
            pictures: drawn.pictures,
            heat_maps: heat::maps(self, list, &names),
            tables: vec![self.table(list, &names)],
            ..Section::default()
        })
    }

    /// The names in a list; links without arrivals are left out.
    fn names(&self, list: &str) -> Vec<String> {
        let is_used = |name: &String| {
            let reports = self
                .points
                .iter()
                .filter_map(|point| point.report.as_ref().ok());
            let mut entries = reports.filter_map(|report| entry(report, list, name));
            entries.any(|entry| entry["packets_in"] != 0)
        };
        names(self.points, list)
            .into_iter()
            .filter(is_used)
            .collect()
    }

    /// The quantities of a list that a point has.
    fn quantities(&self, list: &str) -> impl Iterator<Item = &'static Quantity> {
        let all = Quantity::all(self.kind).iter();
        all.filter(move |quantity| quantity.list == list && self.has(quantity))
    }

    fn has(&self, quantity: &Quantity) -> bool {
        let reports = self
            .points
            .iter()
            .filter_map(|point| point.report.as_ref().ok());
        let mut entries =
            reports.flat_map(|report| report[quantity.list].as_array().into_iter().flatten());
        entries.any(|entry| quantity.value(entry).is_some())
    }

    /// A row for each entry of each point.
    fn table(&self, list: &'static str, names: &[String]) -> PageTable {
        let keys = self
            .parameters
            .iter()
            .map(|parameter| parameter.key.clone());
        let titles = self.quantities(list).map(|quantity| match quantity.unit {
            "" => quantity.title.to_owned(),
            unit => format!("{} {unit}", quantity.title),
        });
        let minus =
            (list == "groups").then(|| "Goodput minus that of the first point Mbit/s".to_owned());
        let columns = ["point".to_owned()].into_iter().chain(keys);
        let columns = columns
            .chain(["name".to_owned()])
            .chain(titles)
            .chain(minus);
        let columns: Vec<String> = columns.collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut rows = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            for name in names {
                rows.extend(self.row(list, number, point, name));
            }
        }
        let caption =
            format!("All points, means +- half of the 95 % interval. {NO_DIFFERENCE_MEANING}.");
        PageTable::new("sweep", &caption.replace("+-", "±"), &columns, rows)
    }

    fn row(
        &self,
        list: &'static str,
        number: usize,
        point: &SweepPoint,
        name: &str,
    ) -> Option<Vec<String>> {
        let entry = entry(point.report.as_ref().ok()?, list, name)?;
        let set = self
            .parameters
            .iter()
            .map(|parameter| value(point, &parameter.key).to_owned());
        let mut row = vec![number.to_string()];
        row.extend(set);
        row.push(name.to_owned());
        row.extend(self.quantities(list).map(|quantity| {
            let cell = spread(quantity.value(entry));
            let is_difference = quantity.key == "difference_to_tcp_s";
            let includes_zero = difference(entry).and_then(|d| d.includes_zero());
            marked(cell, includes_zero.filter(|_| is_difference))
        }));
        if list == "groups" {
            let goodput = &Quantity::all(self.kind)[0];
            let minus = minus_first(self.points, point, goodput, name);
            let includes_zero = minus.and_then(|d| d.includes_zero());
            row.push(marked(spread(minus.map(|d| d.estimate)), includes_zero));
        }
        Some(row)
    }
}
