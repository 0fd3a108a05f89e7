//! A scenario as keys and values, for reports.

use serde::Serialize;
use serde_json::Value;

use crate::background::Background;
use crate::scenario::Scenario;

impl Scenario {
    /// Every parameter by its dotted key, including defaults, in the order of keys; without
    /// background traffic, paths name no profile.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let mut shown = self.clone();
        if shown.background == Background::Off {
            shown.paths.iter_mut().for_each(|p| p.background = None);
        }
        parameters(&shown)
    }
}

/// Every value of a document by its dotted key, in the order of the keys.
#[must_use]
pub fn parameters(document: &impl Serialize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let tree = serde_json::to_value(document).unwrap_or_default();
    flatten(String::new(), &tree, &mut found);
    found
}

fn flatten(key: String, value: &Value, found: &mut Vec<(String, String)>) {
    let below = |part: &str| {
        if key.is_empty() {
            part.to_owned()
        } else {
            format!("{key}.{part}")
        }
    };
    match value {
        Value::Object(entries) => {
            for (name, entry) in entries {
                flatten(below(name), entry, found);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (index, item) in items.iter().enumerate() {
                flatten(below(&index.to_string()), item, found);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            found.push((key, items.join(", ")));
        }
        value => found.push((key, plain(value))),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn parameters_have_dotted_keys_and_readable_values() {
        let text = include_str!("../../../scenarios/demo.toml");
        let scenario = Scenario::parse(text, "demo.toml", &[]).unwrap();
        let parameters = scenario.parameters();
        let value = |key: &str| {
            let found = parameters.iter().find(|(k, _)| k == key);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("path.1.link.0.rate"), Some("10 Mbit/s"));
        assert_eq!(value("tcp.min_rto"), Some("200 ms"));
        assert_eq!(value("path.1.background"), Some("heavy"));
        assert_eq!(value("schemes"), Some("tcp, ppd-tcp1, ppd-tcp2, ppd-tcp3"));
    }

    #[test]
    fn without_background_no_path_has_one() {
        let text = include_str!("../../../scenarios/demo.toml");
        let off = ["background=off".parse().unwrap()];
        let scenario = Scenario::parse(text, "demo.toml", &off).unwrap();
        let parameters = scenario.parameters();
        let named = |end: &str| {
            parameters
                .iter()
                .filter(|(key, _)| key.ends_with(end))
                .count()
        };
        assert_eq!((named("background"), named(".background")), (1, 0));
    }
}
