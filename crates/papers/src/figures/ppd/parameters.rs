//! The parameters of the paper's runs, and their sources.

use polypath_core::units::Bytes;
use polypath_scenario::Scheme;

use crate::jobs::ppd::setting::{Setting, Topology};

/// The parameters that the paper states for both topologies, and the place of each.
const STATED: [(&str, &str); 7] = [
    ("background.path1.hosts", "5"),
    ("overlay.encapsulation", "3.3"),
    ("overlay.pair_len", "3.3"),
    ("overlay.threshold", "5.2"),
    ("tcp.ack", "3.1"),
    ("tcp.segment", "5.1"),
    ("transfer.size", "5.1"),
];

/// The parameters that it states for Fig. 2.
const STATED_APART: [(&str, &str); 2] = [("path.0.link.0.delay", "5"), ("path.0.link.0.rate", "5")];

/// The parameters that it states for Fig. 7: the shared link N1 - N2, and the links that are not
/// shared. The link of the server, S - N1, has no rate there.
const STATED_SHARED: [(&str, &str); 2] =
    [("path.0.link.1.rate", "5.1"), ("path.0.link.2.rate", "5.1")];

/// The parameters that it states for the runs of a figure, or for both paths alike.
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

/// Every parameter that holds for all runs of a figure, with its value and its source: of its
/// setting, and with files of this size in bytes.
pub(super) fn of(setting: &Setting, bytes: u64) -> Vec<[String; 2]> {
    let idle = crate::jobs::ppd::idle::Idle::at(0.0);
    let scenario = setting.scenario(&Some([[idle; 2]; 2]), &Scheme::ALL);
    let parameters = scenario.map_or_else(
        |_| Vec::new(),
        |mut scenario| {
            scenario.transfer.size = Bytes(bytes);
            scenario.parameters()
        },
    );
    let is_here = |key: &str| !ELSEWHERE.iter().any(|other| key.starts_with(other));
    let shown = |(key, value): (String, String)| {
        let source = stated(setting.topology, &key)
            .map_or("chosen".to_owned(), |place| format!("stated in {place}"));
        [key, format!("{value}, {source}")]
    };
    let here = parameters.into_iter().filter(|(key, _)| is_here(key));
    here.map(shown).collect()
}

/// Like that, for runs without a transfer.
pub(super) fn of_pairs(setting: &Setting) -> Vec<[String; 2]> {
    let mut all = of(setting, 0);
    all.retain(|[key, _]| !key.starts_with("transfer."));
    all
}

/// The place in which the paper states a parameter of a topology.
fn stated(topology: Topology, key: &str) -> Option<&'static str> {
    let own = match topology {
        Topology::Apart => &STATED_APART,
        Topology::Shared => &STATED_SHARED,
    };
    let mut all = STATED.iter().chain(own);
    all.find(|(stated, _)| key == *stated)
        .map(|(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(all: &[[String; 2]], key: &str) -> String {
        let found = all.iter().find(|[name, _]| name == key);
        found.unwrap_or_else(|| panic!("no {key}"))[1].clone()
    }

    #[test]
    fn what_is_stated_is_among_the_parameters() {
        let topologies = [
            (Topology::Apart, STATED_APART),
            (Topology::Shared, STATED_SHARED),
        ];
        for (topology, own) in topologies {
            let all = of(&Setting::new(topology), 100_000);
            for (key, place) in STATED.into_iter().chain(own) {
                let source = format!("stated in {place}");
                assert!(value(&all, key).contains(&source), "{key}");
            }
            assert!(!all.iter().any(|[name, _]| name.contains("idle")));
        }
    }

    #[test]
    fn a_figure_has_its_own_link_and_file_and_the_access_link_is_chosen() {
        let slow = Setting::new(Topology::Shared)
            .with("path.path1.link.trunk.rate", "15 Mbit/s")
            .with("path.path2.link.trunk.rate", "15 Mbit/s");
        let all = of(&slow, 1_000_000);
        assert!(value(&all, "path.0.link.1.rate").starts_with("15 Mbit/s, stated"));
        assert!(value(&all, "path.0.link.0.rate").ends_with("chosen"));
        assert!(value(&all, "transfer.size").starts_with("1 MB, stated"));
    }
}
