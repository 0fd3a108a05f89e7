//! The links of the documentation, each to a file and a section that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folders with Markdown files, from the top of the repository.
const FOLDERS: [&str; 3] = ["", "docs", "docs/papers"];

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

/// The Markdown files, by their path from the top of the repository, without blocks of code.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = PathBuf::from(entry.unwrap().file_name());
            if name.extension().is_some_and(|ending| ending == "md") {
                let path = Path::new(folder).join(name);
                let text = fs::read_to_string(root().join(&path)).unwrap();
                pages.insert(path, without_code(&text));
            }
        }
    }
    pages
}

fn without_code(text: &str) -> String {
    // The blocks are every second part.
    text.split("```").step_by(2).collect()
}

/// The names by which links select the headings of a page.
fn sections(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let mut sections = BTreeSet::new();
    for heading in headings {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let name = heading.chars().filter(is_kept).collect::<String>();
        let name = name.replace(' ', "-");
        let repeated = (1..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(repeated);
        sections.insert(names.find(|name| !sections.contains(name)).unwrap());
    }
    sections
}

/// The targets of the links of a page, without those of other sites.
fn targets(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0.trim().to_owned()));
    targets.filter(|target| !target.contains("://")).collect()
}

/// The path without `..`.
fn normalised(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn every_link_leads_to_a_file_and_a_section() {
    let pages = pages();
    let mut checked = 0;
    for (page, text) in &pages {
        for target in targets(text) {
            let (file, section) = target.split_once('#').unwrap_or((&target, ""));
            let file = match file {
                "" => page.clone(),
                file => normalised(&page.with_file_name(file)),
            };
            let link = format!("{}: {target}", page.display());
            assert!(root().join(&file).exists(), "{link}: no such file");
            if let Some(linked) = pages.get(&file).filter(|_| !section.is_empty()) {
                assert!(
                    sections(linked).contains(section),
                    "{link}: no such section"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} links");
}

#[test]
fn sections_and_links_are_found() {
    let text = without_code("# A `b`: c!\n```\n# no\n```\n# A b c\n[x](y.md#z) [w](https://v.w)");
    assert_eq!(
        sections(&text),
        ["a-b-c", "a-b-c-1"].map(str::to_owned).into()
    );
    assert_eq!(targets(&text), ["y.md#z"]);
}
