//! The swept parameters as axes.

use super::SweepPoint;
use crate::plot::Axis;
use crate::table::shortened;

/// The factors of units to a common one of their dimension: 1 is of time, 2 of rates, 3 of sizes.
const UNITS: [(&str, u8, f64); 19] = [
    ("ns", 1, 1e-9),
    ("us", 1, 1e-6),
    ("ms", 1, 1e-3),
    ("s", 1, 1.0),
    ("min", 1, 60.0),
    ("h", 1, 3600.0),
    ("bit/s", 2, 1.0),
    ("kbit/s", 2, 1e3),
    ("Mbit/s", 2, 1e6),
    ("Gbit/s", 2, 1e9),
    ("B", 3, 1.0),
    ("kB", 3, 1e3),
    ("MB", 3, 1e6),
    ("GB", 3, 1e9),
    ("TB", 3, 1e12),
    ("KiB", 3, 1024.0),
    ("MiB", 3, 1_048_576.0),
    ("GiB", 3, 1_073_741_824.0),
    ("TiB", 3, 1_099_511_627_776.0),
];

/// The greatest length of a name below an axis.
const NAME: usize = 14;

/// A parameter with more than one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    pub(super) key: String,
    /// Its name in sentences and legends: the end of its key, if that is enough.
    pub(super) name: String,
    /// Its values in the order of the file.
    pub(super) values: Vec<String>,
    /// Its values as numbers, if all have one unit or units of one dimension.
    numbers: Option<Vec<f64>>,
    unit: String,
}

impl Parameter {
    /// The parameters with more than one value, in the order of the file.
    pub(super) fn all(points: &[SweepPoint]) -> Vec<Self> {
        let keys = points.first().map_or(&[][..], |point| &point.set);
        let parameters = keys.iter().map(|(key, _)| Self::of(key, points));
        let mut found: Vec<Self> = parameters.filter(|one| one.values.len() > 1).collect();
        let ends: Vec<String> = found
            .iter()
            .map(|one| end_of(&one.key).to_owned())
            .collect();
        for (parameter, end) in found.iter_mut().zip(&ends) {
            if ends.iter().filter(|other| *other == end).count() == 1 {
                parameter.name.clone_from(end);
            }
        }
        found
    }

    fn of(key: &str, points: &[SweepPoint]) -> Self {
        let mut values: Vec<String> = Vec::new();
        for point in points {
            let value = value(point, key);
            if !values.iter().any(|known| known == value) {
                values.push(value.to_owned());
            }
        }
        let unit = split(&values[0]).map_or("", |(_, unit)| unit).to_owned();
        let numbers = values.iter().map(|text| in_unit(text, &unit));
        Self {
            key: key.to_owned(),
            name: key.to_owned(),
            numbers: numbers.collect(),
            values,
            unit,
        }
    }

    pub(super) fn is_numeric(&self) -> bool {
        self.numbers.is_some()
    }

    /// The position of a point on the axis.
    pub(super) fn position(&self, point: &SweepPoint) -> Option<f64> {
        let text = value(point, &self.key);
        let index = self.values.iter().position(|value| value == text)?;
        match &self.numbers {
            Some(numbers) => numbers.get(index).copied(),
            None => u32::try_from(index).ok().map(f64::from),
        }
    }

    /// The axis; numbers over more than two decades are logarithmic.
    pub(super) fn axis(&self) -> Axis {
        let names = self.values.iter().map(|value| shortened(value, NAME));
        let numbers = self.numbers.as_deref().unwrap_or_default();
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(0.0, f64::max);
        Axis {
            label: self.key.clone(),
            unit: if self.is_numeric() {
                self.unit.clone()
            } else {
                String::new()
            },
            is_log: least > 0.0 && least.is_finite() && most / least > 100.0,
            names: if self.is_numeric() {
                Vec::new()
            } else {
                names.collect()
            },
            ..Axis::default()
        }
    }
}

/// The value of a key at a point; empty if it has none.
pub(super) fn value<'a>(point: &'a SweepPoint, key: &str) -> &'a str {
    let set = point.set.iter().find(|(known, _)| known == key);
    set.map_or("", |(_, value)| value.as_str())
}

/// The last part of a key.
fn end_of(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// The values of these parameters at a point, as `key=value`.
pub(super) fn words(point: &SweepPoint, parameters: &[&Parameter]) -> String {
    let words = parameters
        .iter()
        .map(|parameter| format!("{}={}", parameter.name, value(point, &parameter.key)));
    words.collect::<Vec<String>>().join(" ")
}

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE_".contains(c)));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, unit.trim()))
}

/// A value in another unit of its dimension.
fn in_unit(text: &str, wanted: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    if unit == wanted {
        return Some(number);
    }
    let find = |name: &str| UNITS.iter().find(|(known, ..)| *known == name);
    let ((_, from, factor), (_, to, other)) = (find(unit)?, find(wanted)?);
    (from == to).then(|| number * factor / other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(values: &[&str]) -> Parameter {
        let point = |value: &&str| SweepPoint {
            set: vec![("key".to_owned(), (*value).to_owned())],
            report: Err(String::new()),
        };
        let points: Vec<SweepPoint> = values.iter().map(point).collect();
        Parameter::all(&points).remove(0)
    }

    #[test]
    fn values_of_one_dimension_have_a_numeric_axis() {
        let delays = parameter(&["5 ms", "0.1 s", "200 us"]);
        let numbers = delays.numbers.as_ref().unwrap();
        let wanted = [5.0, 100.0, 0.2];
        assert!(
            numbers
                .iter()
                .zip(wanted)
                .all(|(a, b)| (a - b).abs() < 1e-9)
        );
        assert_eq!(
            (delays.axis().unit.as_str(), delays.axis().is_log),
            ("ms", true)
        );
        let sizes = parameter(&["10 packets", "20 packets"]);
        assert_eq!(sizes.numbers, Some(vec![10.0, 20.0]));
        let numbers = parameter(&["0.01", "1e-3"]);
        assert_eq!(numbers.numbers, Some(vec![0.01, 0.001]));
        assert_eq!(numbers.axis().name(), "key");
    }

    #[test]
    fn a_parameter_has_the_end_of_its_key_as_name_if_no_other_has_it() {
        let point = |values: [&str; 3]| {
            let keys = ["link.a.queue", "link.b.queue", "tcp.variant"];
            let set = keys
                .map(str::to_owned)
                .into_iter()
                .zip(values.map(str::to_owned));
            SweepPoint {
                set: set.collect(),
                report: Err(String::new()),
            }
        };
        let points = [point(["1", "2", "reno"]), point(["3", "4", "sack"])];
        let parameters = Parameter::all(&points);
        let parameters: Vec<&Parameter> = parameters.iter().collect();
        let named = words(&points[0], &parameters);
        assert_eq!(named, "link.a.queue=1 link.b.queue=2 variant=reno");
    }

    #[test]
    fn other_values_have_names() {
        for values in [
            ["reno", "sack"],
            ["10 packets", "5 ms"],
            ["10 packets", "unlimited"],
        ] {
            let named = parameter(&values);
            assert!(!named.is_numeric(), "{values:?}");
            assert_eq!(named.axis().names, values);
        }
    }

    #[test]
    fn a_parameter_with_one_value_is_no_axis() {
        let point = SweepPoint {
            set: vec![("seed".to_owned(), "7".to_owned())],
            report: Err(String::new()),
        };
        assert_eq!(Parameter::all(&[point]), []);
    }
}
