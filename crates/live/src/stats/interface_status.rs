//! The interface of a path and what it lacks.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

/// The interface of a path, and what the path lacks at this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceStatus {
    /// The interface that the path is bound to or waits for; absent where the routing table
    /// decides, or no uplink is free.
    pub interface: Option<String>,
    /// The missing part; the path carries nothing without it.
    pub missing: Option<Missing>,
}

/// The part that a path lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "kebab-case")]
pub enum Missing {
    /// The interface of this name.
    Interface(String),
    /// An interface with this address.
    Address(IpAddr),
    /// An uplink that no other path has, under `paths = "auto"`.
    Uplink,
}

impl Missing {
    /// The names of all variants in statistics and metrics.
    pub(crate) const NAMES: [&str; 3] = ["interface", "address", "uplink"];

    /// The name of the variant, one of [`Missing::NAMES`].
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Interface(_) => Self::NAMES[0],
            Self::Address(_) => Self::NAMES[1],
            Self::Uplink => Self::NAMES[2],
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => write!(f, "interface `{name}`"),
            Self::Address(ip) => write!(f, "address {ip}"),
            Self::Uplink => f.write_str("an uplink that no other path has"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_missing_part_is_serialized_with_its_kind() {
        let address = IpAddr::from([192, 0, 2, 1]);
        for missing in [
            Missing::Interface("eth1".to_owned()),
            Missing::Address(address),
        ] {
            let written = serde_json::to_value(&missing).unwrap();
            assert_eq!(written["kind"], missing.name());
            let name = written["name"].as_str().unwrap();
            assert!(missing.to_string().contains(name), "{missing}");
        }
        assert_eq!(
            serde_json::to_value(Missing::Uplink).unwrap(),
            json!({ "kind": "uplink" })
        );
        let written = serde_json::to_value(InterfaceStatus::default()).unwrap();
        assert_eq!(written, json!({ "interface": null, "missing": null }));
    }
}
