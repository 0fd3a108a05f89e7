//! The parameters of the paper's runs, and where they come from.

use polypath_scenario::Scheme;

use super::setting::{Setting, Topology};

/// What the paper states, by the beginning of the parameter's name, and where.
const STATED: [(&str, &str); 11] = [
    ("background.path1.hosts", "5"),
    ("overlay.encapsulation", "3.3"),
    ("overlay.pair_len", "3.3"),
    ("overlay.threshold", "5.2"),
    ("path.0.link.0.delay", "5"),
    ("path.0.link.0.rate", "5"),
    ("path.0.link.1.rate", "5.1"),
    ("path.0.link.2.rate", "5.1"),
    ("tcp.ack", "3.1"),
    ("tcp.segment", "5.1"),
    ("transfer.size", "5.1"),
];

/// What is said elsewhere: of the runs of a figure, or of both paths alike.
const ELSEWHERE: [&str; 11] = [
    "background.path1.tcp.idle",
    "background.path1.udp.off",
    "background.path1-back",
    "background.path2",
    "lab.",
    "name",
    "path.1",
    "schema",
    "seed",
    "title",
    "transfer.count",
];

/// Every parameter of a topology that holds for all its figures, with its value and its source.
pub(super) fn of(topology: Topology) -> Vec<[String; 2]> {
    let idle = super::idle::Idle::at(0.0);
    let scenario = Setting::new(topology).scenario(&Some([[idle; 2]; 2]), &Scheme::ALL);
    let parameters = scenario.map_or_else(|_| Vec::new(), |scenario| scenario.parameters());
    let is_here = |key: &str| !ELSEWHERE.iter().any(|other| key.starts_with(other));
    let shown = |(key, value): (String, String)| {
        let stated = STATED.iter().find(|(stated, _)| key == *stated);
        let source = stated.map_or("chosen".to_owned(), |(_, place)| {
            format!("stated in {place}")
        });
        [key, format!("{value}, {source}")]
    };
    let here = parameters.into_iter().filter(|(key, _)| is_here(key));
    here.map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_is_among_the_parameters() {
        let all = [Topology::Apart, Topology::Shared].map(of).concat();
        for (key, place) in STATED {
            let found = all.iter().filter(|[name, _]| name == key);
            let said = format!("stated in {place}");
            assert!(found.clone().count() > 0, "{key}");
            assert!(
                found.into_iter().all(|[_, value]| value.contains(&said)),
                "{key}"
            );
        }
        assert!(!all.iter().any(|[name, _]| name.contains("idle")));
    }
}
