//! Checks of the background traffic of a path.

use std::collections::BTreeMap;

use crate::background::{Background, Profile};
use crate::path::Path;
use polypath_document::Problems;

/// The minimum number of links of a path with background: the load is balanced over links between
/// two inner nodes.
const MIN_LOADED_LINKS: usize = 3;

/// Checks the profiles that a path at `key` names, and that it can carry them.
pub(super) fn check(key: &str, path: &Path, background: &Background, problems: &mut Problems) {
    let Background::Profiles(profiles) = background else {
        return;
    };
    let Some(name) = &path.background else {
        if path.background_back.is_some() {
            let message = "`background_back` is the return direction of a `background`";
            let remedy = "name the profile of the direction to the client as `background`";
            problems.report(&format!("{key}.background_back"), message, remedy);
        }
        return;
    };
    check_name(&format!("{key}.background"), name, profiles, problems);
    if let Some(back) = &path.background_back {
        let back_key = format!("{key}.background_back");
        check_name(&back_key, back, profiles, problems);
        let hosts = |name| {
            let profile = profiles.get(name);
            profile.map(|p| (p.hosts, p.host_link, p.destinations))
        };
        if let (Some(there), Some(back)) = (hosts(name), hosts(back))
            && there != back
        {
            let message = "the profiles of the two directions have other hosts";
            let remedy = "give both profiles the same `hosts`, `host_link` and `destinations`";
            let keys = [&back_key, &format!("{key}.background")];
            problems.report_among(&keys.map(String::as_str), message, remedy);
        }
    }
    check_length(key, path, problems);
}

fn check_name(
    key: &str,
    name: &str,
    profiles: &BTreeMap<String, Profile>,
    problems: &mut Problems,
) {
    if !profiles.contains_key(name) {
        let known = profiles.keys().map(String::as_str);
        problems.report_unknown(&[key, "background"], "background profile", name, known);
    }
}

fn check_length(key: &str, path: &Path, problems: &mut Problems) {
    if path.hops() >= MIN_LOADED_LINKS {
        return;
    }
    let message = format!("a path of {} links cannot carry background", path.hops());
    let remedy = "it needs 3, so that there is one between two inner nodes";
    let repeats = (0..path.links.len()).map(|n| format!("{key}.link.{n}.repeat"));
    let mut keys = vec![format!("{key}.background"), format!("{key}.link")];
    keys.extend(repeats);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    problems.report_among(&keys, message, remedy);
}
