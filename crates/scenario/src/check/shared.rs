//! Checks of links that several paths share.

use std::collections::BTreeMap;

use crate::path::{Link, Path};
use polypath_document::Problems;

/// A shared link in the list of a path.
struct SharedLink<'a> {
    path: usize,
    link: usize,
    config: &'a Link,
}

/// Checks that shared links of one name are equal, in different paths, and in at least two.
pub(super) fn check(paths: &[Path], problems: &mut Problems) {
    let mut links_of_name: BTreeMap<&str, Vec<SharedLink<'_>>> = BTreeMap::new();
    for (path, at) in paths.iter().zip(0..) {
        for (link, number) in path.links.iter().zip(0..) {
            if link.shared {
                let shared = SharedLink {
                    path: at,
                    link: number,
                    config: link,
                };
                links_of_name.entry(&link.name).or_default().push(shared);
            }
        }
    }
    for (name, links_of_name) in links_of_name {
        check_name(name, &links_of_name, problems);
    }
}

fn check_name(name: &str, links_of_name: &[SharedLink<'_>], problems: &mut Problems) {
    let Some((first, others)) = links_of_name.split_first() else {
        return;
    };
    if !first.config.has_name() {
        let message = "a shared link has no name";
        problems.report(
            &first.key(""),
            message,
            "give it the same `name` in each path",
        );
    }
    if others.is_empty() {
        let message = format!("no other path shares the link `{name}`");
        let remedy = "give another path a `[[path.link]]` of this name with `shared = true`, or remove `shared`";
        problems.report(&first.key("shared"), message, remedy);
    }
    for (place, index) in others.iter().zip(1..) {
        if links_of_name[..index]
            .iter()
            .any(|before| before.path == place.path)
        {
            let message = format!("the path passes the shared link `{name}` twice");
            problems.report(
                &place.key(""),
                message,
                "give one of the two another name, or use `repeat`",
            );
        } else if let Some(leaf) = difference(first.config, place.config) {
            let message =
                format!("`{leaf}` of the shared link `{name}` is not that of the other path");
            let remedy = "give it the same value in each path, or remove `shared`";
            let keys = [place.key(leaf), first.key(leaf), place.key("")];
            problems.report_among(&keys.each_ref().map(String::as_str), message, remedy);
        }
    }
}

impl SharedLink<'_> {
    fn key(&self, leaf: &str) -> String {
        let dot = if leaf.is_empty() { "" } else { "." };
        format!("path.{}.link.{}{dot}{leaf}", self.path, self.link)
    }
}

/// The first parameter in which two links differ.
fn difference(a: &Link, b: &Link) -> Option<&'static str> {
    [
        ("repeat", a.repeat == b.repeat),
        ("rate", a.rate == b.rate),
        ("variation", a.variation == b.variation),
        ("trace", a.trace == b.trace),
        ("trace_back", a.trace_back == b.trace_back),
        ("delay", a.delay == b.delay),
        ("queue", a.queue == b.queue),
        ("loss", a.loss.total_cmp(&b.loss).is_eq()),
        ("gilbert_elliott", a.gilbert_elliott == b.gilbert_elliott),
        ("onoff", a.onoff == b.onoff),
        ("fades", a.fades == b.fades),
        ("outage", a.outage == b.outage),
    ]
    .into_iter()
    .find_map(|(leaf, equal)| (!equal).then_some(leaf))
}
