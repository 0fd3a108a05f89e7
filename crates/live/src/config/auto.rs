//! Paths with automatic uplinks.

use polypath_document::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NodeConfig, PathConfig};

/// The longest pattern in bytes, which exceeds any interface name.
const MAX_PATTERN: usize = 31;

/// The source of the local addresses and interfaces of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Uplinks {
    /// The tables of the paths.
    #[default]
    Listed,
    /// Uplinks found at run time; each path uses one of its own.
    Auto,
}

/// The interfaces that may be uplinks, under `paths = "auto"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AutoConfig {
    /// Patterns of the names of allowed interfaces; `*` matches any characters and `?` one.
    pub interfaces: Vec<String>,
    /// Patterns of the names of excluded interfaces.
    pub except: Vec<String>,
}

impl Default for AutoConfig {
    fn default() -> Self {
        Self {
            interfaces: vec!["*".to_owned()],
            except: Vec::new(),
        }
    }
}

impl AutoConfig {
    /// Whether the interface `name` may be an uplink.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        any(&self.interfaces) && !any(&self.except)
    }
}

/// Whether `name` matches `pattern`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut read) = (0, 0);
    // The position of the last `*`, and the number of bytes of the name before its match ends.
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((back, more)) = star else {
                    return false;
                };
                star = Some((back, more + 1));
                (at, read) = (back + 1, more + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Checks that the tables of the paths agree with the source of their uplinks.
pub(super) fn check(config: &NodeConfig, problems: &mut Problems) {
    match config.uplinks {
        Uplinks::Listed => check_listed(config, problems),
        Uplinks::Auto => check_auto(config, problems),
    }
}

fn check_listed(config: &NodeConfig, problems: &mut Problems) {
    if config.auto.is_some() {
        let remedy = "write paths = \"auto\" at the top of the file, or omit the table";
        problems.report("auto", "the paths of this file are listed", remedy);
    }
    for (index, path) in config.paths.iter().enumerate() {
        if path.local.is_none() {
            let remedy = "write for example local = \"192.0.2.1:7001\", or paths = \"auto\" at the top of the file";
            problems.report(&format!("path.{index}"), "missing key `local`", remedy);
        }
    }
}

fn check_auto(config: &NodeConfig, problems: &mut Problems) {
    for (index, path) in config.paths.iter().enumerate() {
        check_path(index, path, problems);
    }
    let auto = config.auto.clone().unwrap_or_default();
    if auto.interfaces.is_empty() {
        let remedy = "name some, as [\"eth*\", \"wwan*\"], or omit the key";
        problems.report("auto.interfaces", "no interface may be an uplink", remedy);
    }
    for (key, patterns) in [("interfaces", &auto.interfaces), ("except", &auto.except)] {
        let is_invalid = |pattern: &&String| {
            let is_forbidden = |c: char| "/[]{}".contains(c) || c.is_whitespace() || c.is_control();
            pattern.is_empty() || pattern.len() > MAX_PATTERN || pattern.contains(is_forbidden)
        };
        for pattern in patterns.iter().filter(is_invalid) {
            let message = format!("{pattern:?} is not a valid pattern of interface names");
            let remedy =
                "write a name in which `*` matches any characters and `?` one, as \"docker*\"";
            problems.report(&format!("auto.{key}"), message, remedy);
        }
    }
}

fn check_path(index: usize, path: &PathConfig, problems: &mut Problems) {
    let mut unwanted = |key: &str| {
        let key = format!("path.{index}.{key}");
        let message = "the node finds it at run time under paths = \"auto\"";
        problems.report(&key, message, "omit it, or list the addresses of all paths");
    };
    if path.local.is_some() {
        unwanted("local");
    }
    if path.interface.is_some() {
        unwanted("interface");
    }
    if path.target().is_none() {
        let message = "the peer cannot know the address of an automatic path";
        let remedy = "give the `remote` or the `relay` to send to";
        problems.report(&format!("path.{index}"), message, remedy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, wanted) in [
            ("eth0", "eth0", true),
            ("eth0", "eth01", false),
            ("eth*", "eth", true),
            ("eth*", "weth0", false),
            ("*", "", true),
            ("*0", "eth00", true),
            ("w*a*n?", "wlan-wwan0", true),
            ("w*a*n?", "wlan-wwan", false),
            ("?", "", false),
            ("*.100", "eth0.1.100", true),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn excluded_interfaces_are_not_allowed() {
        let patterns = |list: &[&str]| list.iter().map(|&p| p.to_owned()).collect();
        let auto = AutoConfig {
            interfaces: patterns(&["eth*", "wwan0"]),
            except: patterns(&["eth9"]),
        };
        let allowed = ["eth0", "wwan0", "eth9", "docker0"].map(|name| auto.allows(name));
        assert_eq!(allowed, [true, true, false, false]);
        assert!(AutoConfig::default().allows("anything"));
    }
}
