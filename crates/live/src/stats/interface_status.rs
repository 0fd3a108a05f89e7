//! What a path rests on at this end.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

/// The interface of a path, and what is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceStatus {
    /// The interface that the path is bound to, or waits for; none where the routing table chooses, or none is free.
    pub interface: Option<String>,
    /// What is missing; the path carries nothing until it is there.
    pub missing: Option<Missing>,
}

/// What a path waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", content = "name", rename_all = "kebab-case")]
pub enum Missing {
    /// The interface of this name.
    Interface(String),
    /// An interface with this address.
    Address(IpAddr),
    /// An uplink that no other path has, under `paths = "auto"`.
    Uplink,
}

impl Missing {
    /// All words for what may be missing, as files and metrics have them.
    pub(crate) const WORDS: [&str; 3] = ["interface", "address", "uplink"];

    /// The word for it, of [`Missing::WORDS`].
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Interface(_) => Self::WORDS[0],
            Self::Address(_) => Self::WORDS[1],
            Self::Uplink => Self::WORDS[2],
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
    fn what_is_missing_is_written_with_its_word() {
        let address = IpAddr::from([192, 0, 2, 1]);
        for missing in [
            Missing::Interface("eth1".to_owned()),
            Missing::Address(address),
        ] {
            let written = serde_json::to_value(&missing).unwrap();
            assert_eq!(written["what"], missing.word());
            let name = written["name"].as_str().unwrap();
            assert!(missing.to_string().contains(name), "{missing}");
        }
        assert_eq!(
            serde_json::to_value(Missing::Uplink).unwrap(),
            json!({ "what": "uplink" })
        );
        let written = serde_json::to_value(InterfaceStatus::default()).unwrap();
        assert_eq!(written, json!({ "interface": null, "missing": null }));
    }
}
