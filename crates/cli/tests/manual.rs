//! Manual pages and completions.

mod common;

use std::fs;

use common::{polypath, printed};

#[test]
fn each_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    printed(&polypath().arg("man").arg(&pages).output().unwrap());
    for command in [
        "", "-node", "-status", "-sim", "-lab", "-key", "-init", "-check",
    ] {
        let page = fs::read_to_string(pages.join(format!("polypath{command}.1"))).unwrap();
        assert!(page.contains(".TH ") && page.contains("polypath"), "{page}");
    }
    let status = fs::read_to_string(pages.join("polypath-status.1")).unwrap();
    assert!(status.contains("Exit codes"), "{status}");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let output = polypath().arg("man").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn completions_contain_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&polypath().args(["completions", shell]).output().unwrap());
        for word in [
            "status",
            "interval",
            "log-format",
            "completions",
            "a-address",
            "check",
        ] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn help_is_wrapped_at_100_columns() {
    let commands = printed(&polypath().arg("--help").output().unwrap());
    let lines = commands.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.skip(1).take_while(|line| !line.is_empty());
    // Continued descriptions are indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(
        names.contains(&"init") && names.contains(&"status"),
        "{commands}"
    );
    for name in names {
        let help = printed(&polypath().args([name, "--help"]).output().unwrap());
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
    assert!(
        commands.lines().all(|line| line.chars().count() <= 100),
        "{commands}"
    );
}
