//! A sweep as tables for a terminal: a row for each scheme or group of flows at each point.

use std::fmt::Write as _;

use super::axes::{Parameter, value, words};
use super::conclusion::{conclusion, minus_first};
use super::quantities::{Quantity, entry, names};
use super::{Kind, SweepPoint, common};
use crate::chart::wrap;
use crate::conclusion::lines;
use crate::difference::{NO_DIFFERENCE, NO_DIFFERENCE_MEANING};
use crate::table::{align, dash, difference, shortened, table};

/// The width of a terminal, in characters.
const WIDTH: usize = 80;

/// The width of the parameters and the name, above which points have numbers instead.
const LEAD: usize = 44;

/// The maximum length of a name, in characters.
const NAME: usize = 19;

/// The rows, at most; the CSV file has all.
const ROWS: usize = 100;

/// A column: its title, and its cell in each row.
struct TextColumn {
    title: String,
    cells: Vec<String>,
}

/// A row: the number of its point, and the name of its scheme or group.
struct RowKey<'a> {
    number: usize,
    point: &'a SweepPoint,
    name: String,
}

/// The tables and the conclusion as text.
pub(super) fn render(kind: Kind, points: &[SweepPoint]) -> String {
    let list = match kind {
        Kind::Network => "groups",
        Kind::Transfers => "schemes",
    };
    let names = names(points, list);
    let finished = points.iter().enumerate();
    let finished = finished.filter(|(_, point)| point.report.is_ok());
    let all = finished.flat_map(|(number, point)| {
        let key = move |name: &String| RowKey {
            number,
            point,
            name: name.clone(),
        };
        names.iter().map(key)
    });
    let mut rows: Vec<RowKey<'_>> = all
        .filter(|row| {
            row.report()
                .is_some_and(|it| entry(it, list, &row.name).is_some())
        })
        .collect();
    let count = rows.len();
    rows.truncate(ROWS);
    let mut text = format!("{}\n", heading(kind, points));
    if !rows.is_empty() {
        let tables = tables(kind, points, &rows);
        let is_marked = tables.contains(&format!(" {NO_DIFFERENCE}"));
        let _ = writeln!(text, "\n{tables}");
        if count > ROWS {
            let _ = writeln!(text, "the first {ROWS} of {count} rows; sweep.csv has all");
        }
        if is_marked {
            let _ = writeln!(text, "{NO_DIFFERENCE_MEANING}");
        }
    }
    let _ = write!(text, "\n{}", lines(&conclusion(kind, points)));
    // A name or a value must not control the terminal.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

/// The number of points and of their runs, and the seed.
fn heading(kind: Kind, points: &[SweepPoint]) -> String {
    let mut reports = points.iter().filter_map(|point| point.report.as_ref().ok());
    let finished = reports.clone().count();
    let noun = if points.len() == 1 { "point" } else { "points" };
    let mut text = match points.len() - finished {
        0 => format!("{finished} {noun}"),
        _ => format!("{finished} of {} {noun}", points.len()),
    };
    let Some(report) = reports.next() else {
        return text;
    };
    let seed = common(points, |report| match kind {
        Kind::Transfers => &report["seed"],
        Kind::Network => &report["seeds"][0],
    });
    let seed = seed.map_or("a seed each".to_owned(), |seed| format!("seed {seed}"));
    let replicas = report["seeds"].as_array().map_or(0, Vec::len);
    let runs = match kind {
        Kind::Transfers => format!("{seed}; n is the number of transfers of each scheme"),
        Kind::Network if replicas > 1 => {
            format!("{replicas} replicas each, the first of {seed}; n is their number")
        }
        Kind::Network => format!("one run each, {seed}; n is the number of spans with packets"),
    };
    let _ = write!(text, ", {runs};\n+- is half of the 95 % interval");
    text
}

/// The tables that fit into the width, and the list of points if they have numbers.
fn tables(kind: Kind, points: &[SweepPoint], rows: &[RowKey<'_>]) -> String {
    let parameters = Parameter::all(points);
    let name = TextColumn {
        title: match kind {
            Kind::Network => "flows".to_owned(),
            Kind::Transfers => "scheme".to_owned(),
        },
        cells: rows.iter().map(|row| shortened(&row.name, NAME)).collect(),
    };
    let of_parameter = |parameter: &Parameter| TextColumn {
        title: parameter.name.clone(),
        cells: rows
            .iter()
            .map(|row| value(row.point, &parameter.key).to_owned())
            .collect(),
    };
    let mut lead: Vec<TextColumn> = parameters.iter().map(of_parameter).collect();
    lead.push(name);
    let mut legend = String::new();
    if lead.iter().map(TextColumn::width).sum::<usize>() > LEAD {
        let number = |row: &RowKey<'_>| row.number.to_string();
        let numbers = TextColumn {
            title: "point".to_owned(),
            cells: rows.iter().map(number).collect(),
        };
        lead.splice(..parameters.len(), [numbers]);
        let parameters: Vec<&Parameter> = parameters.iter().collect();
        let points = rows.chunk_by(|a, b| a.number == b.number);
        for RowKey { number, point, .. } in points.map(|rows| &rows[0]) {
            let line = format!("point {number}: {}", words(point, &parameters));
            let _ = write!(legend, "\n{}", wrap(&line, WIDTH as f64).join("\n"));
        }
    }
    let values = columns(kind, points, rows);
    let lead_width: usize = lead.iter().map(TextColumn::width).sum();
    let mut parts: Vec<Vec<&TextColumn>> = Vec::new();
    let mut room = 0;
    for column in &values {
        if room < column.width() {
            parts.push(lead.iter().collect());
            room = WIDTH.saturating_sub(lead_width);
        }
        room = room.saturating_sub(column.width());
        if let Some(part) = parts.last_mut() {
            part.push(column);
        }
    }
    let parts = parts.iter().map(|part| drawn(part, lead.len()));
    parts.collect::<Vec<String>>().join("\n\n") + &legend
}

/// The columns of values.
fn columns(kind: Kind, points: &[SweepPoint], rows: &[RowKey<'_>]) -> Vec<TextColumn> {
    let find = |key: &str| {
        Quantity::all(kind)
            .iter()
            .find(|quantity| quantity.key == key)
    };
    let column = |title: &str, cell: &dyn Fn(&RowKey<'_>) -> Option<String>| TextColumn {
        title: title.to_owned(),
        cells: rows
            .iter()
            .map(|row| cell(row).unwrap_or_else(dash))
            .collect(),
    };
    let of_quantity = |title: &str, key: &str| {
        column(title, &|row| {
            let quantity = find(key)?;
            Some(quantity.cell(entry(row.report()?, quantity.list, &row.name)?))
        })
    };
    let count = |key: &str| {
        column("n", &|row| {
            let n = find(key)?.at(row.point, &row.name)?.n;
            Some(n.to_string())
        })
    };
    match kind {
        Kind::Transfers => {
            let timed_out = column("timed\nout", &|row| {
                let entry = entry(row.report()?, "schemes", &row.name)?;
                Some(entry["timed_out"].as_u64()?.to_string())
            });
            vec![
                count("transfer_s"),
                of_quantity("transfer\ns", "transfer_s"),
                of_quantity("minus tcp\ns", "difference_to_tcp_s"),
                timed_out,
                of_quantity("bytes\nratio", "overhead_ratio"),
            ]
        }
        Kind::Network => {
            let minus = column("minus first\npoint, Mbit/s", &|row| {
                let goodput = find("goodput_bits_s")?;
                let minus = minus_first(points, row.point, goodput, &row.name);
                minus.map(|minus| difference(Some(minus)))
            });
            vec![
                count("goodput_bits_s"),
                of_quantity("goodput\nMbit/s", "goodput_bits_s"),
                minus,
                of_quantity("delay\nms", "delay_s"),
            ]
        }
    }
}

fn drawn(columns: &[&TextColumn], first_number: usize) -> String {
    let header: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let mut drawn = table(&header);
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        drawn.add_row(columns.iter().map(|column| &column.cells[row]));
    }
    align(&mut drawn, first_number);
    drawn.to_string()
}

impl TextColumn {
    /// The width in a table, with the spaces after it.
    fn width(&self) -> usize {
        let lines = self
            .title
            .lines()
            .chain(self.cells.iter().map(String::as_str));
        lines.map(|line| line.chars().count()).max().unwrap_or(0) + 2
    }
}

impl RowKey<'_> {
    fn report(&self) -> Option<&serde_json::Value> {
        self.point.report.as_ref().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::{of_transfers, point};
    use super::*;

    fn assert_fits(text: &str) {
        let width = text.lines().map(|line| line.chars().count()).max();
        assert!(width.is_some_and(|width| width <= WIDTH), "{text}");
    }

    #[test]
    fn each_scheme_at_each_point_has_its_interval_number_and_mark() {
        let text = render(Kind::Transfers, &of_transfers("ppd-tcp2"));
        insta::assert_snapshot!(text);
        assert_fits(&text);
    }

    #[test]
    fn groups_are_compared_with_the_first_point() {
        let at = |queue, goodput| point(&[("link.0.queue", queue)], goodput, 0.1);
        let mut points = [at("10 packets", 1.0), at("20 packets", 1.05), at("?", 3.0)];
        points[2].report = Err("overflow".to_owned());
        let text = render(Kind::Network, &points);
        insta::assert_snapshot!(text);
        assert_fits(&text);
    }

    #[test]
    fn a_seed_is_stated_if_all_points_have_it() {
        let mut points = of_transfers("ppd-tcp2");
        points[1].report.as_mut().unwrap()["seed"] = 2.into();
        points[1].report.as_mut().unwrap()["schemes"][0]["transfer_s"]["n"] = 9.into();
        let text = render(Kind::Transfers, &points);
        assert!(text.starts_with("3 points, a seed each; n is"), "{text}");
        let text = text.replace('\n', " ");
        assert!(
            text.ends_with("paired over the rounds of each point. "),
            "{text}"
        );
    }

    #[test]
    fn wide_points_have_numbers_and_a_legend() {
        let value = "a value that fills half of a terminal".to_owned();
        let mut points: Vec<SweepPoint> = (0..60)
            .map(|n| {
                let value = format!("{value} {n}");
                let set = [("link.a.queue", value.as_str()), ("link.b.queue", "x")];
                point(&set, 98_765.432, 12_345.678)
            })
            .collect();
        points[0].set[1].1 = "y".to_owned();
        let text = render(Kind::Network, &points);
        assert_fits(&text);
        let all = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = format!("point 59: link.a.queue={value} 59 link.b.queue=x");
        assert!(all.contains(&wanted), "{text}");
        assert!(text.contains("98765.432 +- 12345.678"), "{text}");
    }

    #[test]
    fn many_rows_are_cut_and_nothing_steers_the_terminal() {
        let points: Vec<SweepPoint> = (0..120)
            .map(|n| point(&[("seed", &format!("{n}\u{1b}"))], 1.0, 0.1))
            .collect();
        let text = render(Kind::Network, &points);
        assert!(text.contains("the first 100 of 120 rows; sweep.csv has all"));
        assert!(!text.contains('\u{1b}'));
        let failed = SweepPoint {
            set: Vec::new(),
            report: Err("overflow".to_owned()),
        };
        let text = render(Kind::Transfers, &[failed]);
        assert!(text.starts_with("0 of 1 point\n"), "{text}");
    }
}
