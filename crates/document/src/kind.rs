//! The kinds of files of the program, recognised by their content.
//!
//! A file without an error is of the kind whose keys it has. A file with errors is of the kind with
//! the most characteristic keys; a misspelt one counts half.

use std::collections::BTreeSet;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::nearest;
use crate::shell::shell_word;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Transfers over given paths, once per scheme.
    Transfers,
    /// A media stream over given paths, once per policy.
    Media,
    /// Flows over any network.
    Network,
    /// The configuration of a node.
    Node,
    /// The configuration of a relay.
    Relay,
    /// The claims of the papers.
    Claims,
    /// The inputs and decisions of a node.
    Recording,
    /// A private key.
    Key,
    /// A key that two nodes have in common.
    PresharedKey,
    /// A packet capture (pcap or pcapng).
    Capture,
    /// A recorded rate or recorded traffic, which a scenario names.
    Trace,
    /// A report or event stream.
    Json,
    /// A report for browsers.
    Html,
    /// A sheet of a report.
    Csv,
}

/// A file of another kind than the command reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WrongKind {
    /// The file.
    pub file: String,
    /// Its kind.
    pub found: FileKind,
    /// The kinds that the command reads.
    pub wanted: Vec<FileKind>,
}

/// The keys that only one kind of TOML file has.
struct DistinctiveKeys {
    kind: FileKind,
    /// At the top level.
    top: &'static [&'static str],
    /// In a `[[path]]` table.
    path: &'static [&'static str],
}

const DISTINCTIVE: [DistinctiveKeys; 6] = [
    DistinctiveKeys {
        kind: FileKind::Transfers,
        top: &["background", "lab", "overlay", "schemes", "transfer"],
        path: &["background", "background_back", "link"],
    },
    DistinctiveKeys {
        kind: FileKind::Media,
        top: &["background", "liveness", "media", "probing"],
        path: &["background", "background_back", "link"],
    },
    DistinctiveKeys {
        kind: FileKind::Network,
        top: &["flow", "link", "run", "topology"],
        path: &[],
    },
    DistinctiveKeys {
        kind: FileKind::Node,
        top: &[
            "auto", "control", "liveness", "metrics", "node", "paths", "peer", "pmtu", "policy",
            "probing", "spacing",
        ],
        path: &["relay", "remote"],
    },
    DistinctiveKeys {
        kind: FileKind::Relay,
        top: &["relay"],
        path: &["nodes", "rate"],
    },
    DistinctiveKeys {
        kind: FileKind::Claims,
        top: &["claim"],
        path: &[],
    },
];

/// Keys that several kinds have, and that are not misspellings of a distinctive key.
const COMMON: [&str; 7] = ["name", "path", "schema", "seed", "sweep", "tcp", "title"];

/// The number of unknown keys that may be misspelt; a foreign file can have any number.
const MAX_FOREIGN: usize = 1000;

/// The start of the first line of a file of a pre-shared key, which otherwise looks like a private
/// key. Files without it remain valid.
pub const PRESHARED_KEY_HEADING: &str = "# polypath pre-shared key";

/// The start of HTML pages.
const DOCTYPE: &str = "<!doctype html";

/// The first bytes of captures: pcapng, and pcap of either byte order and resolution.
const CAPTURES: [[u8; 4]; 5] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
];

impl FileKind {
    /// Its name with the article, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfers => "a scenario of transfers",
            Self::Media => "a scenario of a media stream",
            Self::Network => "a network of flows",
            Self::Node => "a node file",
            Self::Relay => "a relay file",
            Self::Claims => "a ledger of claims",
            Self::Recording => "a recording",
            Self::Key => "a key file",
            Self::PresharedKey => "a pre-shared key file",
            Self::Capture => "a packet capture",
            Self::Trace => "a trace",
            Self::Json => "a JSON document",
            Self::Html => "an HTML page",
            Self::Csv => "a CSV table",
        }
    }

    /// Its name in JSON output.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Transfers => "transfers",
            Self::Media => "media",
            Self::Network => "network",
            Self::Node => "node",
            Self::Relay => "relay",
            Self::Claims => "claims",
            Self::Recording => "recording",
            Self::Key => "key",
            Self::PresharedKey => "preshared-key",
            Self::Capture => "capture",
            Self::Trace => "trace",
            Self::Json => "json",
            Self::Html => "html",
            Self::Csv => "csv",
        }
    }

    /// The commands that read such a file, without its name, the usual one first.
    #[must_use]
    pub const fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Transfers | Self::Media => &["polypath sim", "polypath lab"],
            Self::Network => &["polypath sim"],
            Self::Node => &["polypath node"],
            Self::Relay => &["polypath relay"],
            Self::Claims => &["polypath reproduce --ledger"],
            Self::Recording => &["polypath replay"],
            Self::Key => &["polypath key --public"],
            Self::PresharedKey
            | Self::Capture
            | Self::Trace
            | Self::Json
            | Self::Html
            | Self::Csv => &[],
        }
    }

    /// The command for a file of this kind.
    #[must_use]
    pub fn remedy(self, file: &str) -> String {
        let purpose = match self {
            Self::Capture => return "read it with Wireshark or tshark".to_owned(),
            Self::Trace => return format!("name it in a scenario: trace = {file:?}"),
            Self::PresharedKey => {
                return format!(
                    "`polypath key --preshared` made it for both nodes' files: preshared_key_file = {file:?}"
                );
            }
            Self::Html => return "open it in a browser".to_owned(),
            Self::Json | Self::Csv => {
                return "name the scenario or the node's file instead".to_owned();
            }
            Self::Key => "print its public key",
            Self::Recording => "replay it",
            Self::Claims => "answer it",
            _ => "run it",
        };
        let (command, file) = (self.commands()[0], shell_word(file));
        format!("{purpose} with: {command} {file}")
    }
}

impl fmt::Display for WrongKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            found,
            wanted,
        } = self;
        let wanted: Vec<&str> = wanted.iter().map(|kind| kind.name()).collect();
        let (name, wanted, remedy) = (found.name(), wanted.join(" or "), found.remedy(file));
        write!(f, "{file} is {name}, not {wanted}; {remedy}")
    }
}

/// Refuses a file whose content is of a kind other than `wanted`. A file that may be of a wanted
/// kind is accepted, as is one of no kind: the errors of reading it are more precise.
///
/// # Errors
/// The file is of another kind.
pub fn check_kind(file: &str, content: &[u8], wanted: &[FileKind]) -> Result<(), WrongKind> {
    let kinds = kinds_of(content);
    match kinds.first() {
        Some(&found) if !kinds.iter().any(|kind| wanted.contains(kind)) => Err(WrongKind {
            file: file.to_owned(),
            found,
            wanted: wanted.to_vec(),
        }),
        _ => Ok(()),
    }
}

/// The kinds that a file with this content, or start of it, may be of: empty for a foreign file,
/// several if it has as many characteristic keys of each.
#[must_use]
pub fn kinds_of(content: &[u8]) -> Vec<FileKind> {
    if content.starts_with(b"{\"recording\":") {
        return vec![FileKind::Recording];
    }
    if CAPTURES.iter().any(|magic| content.starts_with(magic)) {
        return vec![FileKind::Capture];
    }
    if content.contains(&0) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(content);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        return vec![FileKind::Json];
    }
    let start = text.get(..DOCTYPE.len()).unwrap_or_default();
    if start.eq_ignore_ascii_case(DOCTYPE) {
        return vec![FileKind::Html];
    }
    if has_csv_header(text) {
        return vec![FileKind::Csv];
    }
    if text.starts_with(PRESHARED_KEY_HEADING) {
        return vec![FileKind::PresharedKey];
    }
    if is_key(text) {
        return vec![FileKind::Key];
    }
    if starts_with_numbers(text) {
        return vec![FileKind::Trace];
    }
    kinds_of_toml(text)
}

/// Whether a text is 32 bytes in base64.
fn is_key(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    text.strip_suffix('=')
        .is_some_and(|digits| digits.len() == 43 && digits.bytes().all(is_digit))
}

/// Whether the first line is a list of plain names, separated by commas.
fn has_csv_header(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let header = text.lines().next().unwrap_or_default();
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain)
    };
    header.contains(',') && header.split(',').all(is_name)
}

/// Whether the first line with content is one or two numbers.
fn starts_with_numbers(text: &str) -> bool {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let mut contents = lines.map(str::trim).filter(|line| !line.is_empty());
    let Some(line) = contents.next() else {
        return false;
    };
    let mut fields = line.split_whitespace();
    fields.clone().count() <= 2 && fields.all(|field| field.parse::<f64>().is_ok())
}

/// The kinds with the most characteristic keys in a TOML text, as far as it can be parsed.
fn kinds_of_toml(text: &str) -> Vec<FileKind> {
    let (document, _) = DeTable::parse_recoverable(text);
    let top: Vec<&str> = keys(document.get_ref()).collect();
    let paths = document.get_ref().get("path").map(Spanned::get_ref);
    let paths = match paths {
        Some(DeValue::Array(list)) => list.iter().collect(),
        _ => Vec::new(),
    };
    let tables = paths.iter().filter_map(|path| path.get_ref().as_table());
    let of_paths: Vec<&str> = tables.flat_map(keys).collect();
    let top = FoundKeys::new(&top, |distinctive| distinctive.top);
    let of_paths = FoundKeys::new(&of_paths, |distinctive| distinctive.path);
    let scores = DISTINCTIVE
        .each_ref()
        .map(|distinctive| top.score(distinctive.top) + of_paths.score(distinctive.path));
    let most = scores.into_iter().max().unwrap_or_default();
    let kinds = DISTINCTIVE.iter().zip(scores);
    let best = kinds.filter(|(_, score)| *score == most && most > 0);
    best.map(|(distinctive, _)| distinctive.kind).collect()
}

fn keys<'a>(table: &'a DeTable<'_>) -> impl Iterator<Item = &'a str> {
    table.keys().map(|key| key.get_ref().as_ref())
}

/// The distinctive keys of a table of a document.
struct FoundKeys {
    written: BTreeSet<&'static str>,
    misspelt: BTreeSet<&'static str>,
}

impl FoundKeys {
    /// Finds the distinctive keys `of` a table with the keys `found`.
    fn new(found: &[&str], of: impl Fn(&DistinctiveKeys) -> &'static [&'static str]) -> Self {
        let all = || DISTINCTIVE.iter().flat_map(|each| of(each).iter().copied());
        let is_foreign = |key: &&&str| !COMMON.contains(*key) && !all().any(|own| own == **key);
        let foreign = found.iter().filter(is_foreign).take(MAX_FOREIGN);
        Self {
            written: all().filter(|key| found.contains(key)).collect(),
            misspelt: foreign.filter_map(|key| nearest(key, all())).collect(),
        }
    }

    /// The number of keys of `own` that the table has, twice; a misspelt one counts once.
    fn score(&self, own: &[&str]) -> usize {
        let points = own.iter().map(|key| {
            if self.written.contains(key) {
                2
            } else {
                usize::from(self.misspelt.contains(key))
            }
        });
        points.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";

    fn only(text: &str) -> Option<FileKind> {
        match kinds_of(text.as_bytes())[..] {
            [kind] => Some(kind),
            _ => None,
        }
    }

    #[test]
    fn every_file_of_the_repository_is_recognised() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for (folder, kinds) in [
            (
                "scenarios",
                &[FileKind::Transfers, FileKind::Media, FileKind::Network][..],
            ),
            ("docs/deploy", &[FileKind::Node, FileKind::Relay]),
            ("docs/two-nodes", &[FileKind::Node]),
        ] {
            for entry in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
                let path = entry.unwrap().path();
                let text = std::fs::read_to_string(&path).unwrap();
                let found = only(&text);
                assert!(
                    found.is_some_and(|kind| kinds.contains(&kind)),
                    "{path:?}: {found:?}"
                );
            }
        }
        let claims = std::fs::read_to_string(format!("{root}/crates/claims/claims.toml")).unwrap();
        assert_eq!(only(&claims), Some(FileKind::Claims));
    }

    #[test]
    fn misspelt_keys_do_not_hide_the_kind() {
        for (text, kind) in [
            ("[nod]\n[per]\n[[path]]\nremtoe = 1", FileKind::Node),
            ("[node]\n[relay]\n[peer]\n", FileKind::Node),
            ("[rlay]\n[[path]]\nnodes = []\nrate = 1", FileKind::Relay),
            ("[[flwo]]\n[[lnik]]\n", FileKind::Network),
            (
                "shemes = []\n[transfr]\n[run]\n[tcp]\n[[path]]\nlink = []",
                FileKind::Transfers,
            ),
            ("[medai]\n[liveness]\n[[path]]\nlink = []", FileKind::Media),
            ("[[claims]]\n", FileKind::Claims),
            // As far as it can be parsed.
            ("[node]\n[peer]\nx = = 3\n", FileKind::Node),
        ] {
            assert_eq!(only(text), Some(kind), "{text}");
        }
    }

    #[test]
    fn other_content_is_recognised_by_its_start() {
        let foreign: Vec<String> = (0..100_000).map(|n| format!("k{n} = {n}")).collect();
        for (content, kinds) in [
            (&b"{\"recording\":4,"[..], &[FileKind::Recording][..]),
            (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", &[FileKind::Capture]),
            (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", &[FileKind::Capture]),
            (b"{ \"schema\": 3 }", &[FileKind::Json]),
            (b"<!DOCTYPE html>\n<html>", &[FileKind::Html]),
            (b"group,flow,source\n1,2,3\n", &[FileKind::Csv]),
            (b"a, b and c\n", &[]),
            (b"# s B\n0.001 1200\n0.002 x\n", &[FileKind::Trace]),
            (b"3\n7\n", &[FileKind::Trace]),
            (format!("{KEY}\n").as_bytes(), &[FileKind::Key]),
            (
                format!("{PRESHARED_KEY_HEADING}\n{KEY}\n").as_bytes(),
                &[FileKind::PresharedKey],
            ),
            (&KEY.as_bytes()[1..], &[]),
            (b"[package]\nname = \"x\"\n[dependencies]\n[lints]\n", &[]),
            (foreign.join("\n").as_bytes(), &[]),
            (b"", &[]),
            (b"\xff\xfe\x00", &[]),
            (b"[node]\n[relay]\n", &[FileKind::Node, FileKind::Relay]),
        ] {
            assert_eq!(
                kinds_of(content),
                kinds,
                "{}",
                String::from_utf8_lossy(content)
            );
        }
    }

    #[test]
    fn a_file_of_another_kind_is_named_with_its_command() {
        let node = b"[node]\n[peer]\n";
        let refused = |wanted: &[FileKind]| check_kind("a.toml", node, wanted);
        let error = refused(&[FileKind::Transfers, FileKind::Network]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.toml is a node file, not a scenario of transfers or a network of flows; \
             run it with: polypath node a.toml"
        );
        assert_eq!(refused(&[FileKind::Node]), Ok(()));
        assert_eq!(check_kind("a.toml", b"x = 1", &[FileKind::Node]), Ok(()));
        let both = b"[node]\n[relay]\n";
        assert_eq!(check_kind("a.toml", both, &[FileKind::Relay]), Ok(()));
    }
}
