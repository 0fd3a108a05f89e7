//! The demo scenario.

use std::path::{Path, PathBuf};

/// The path of the demo scenario.
pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/demo.toml")
}

/// The demo scenario with background traffic on the path with index `loaded` alone.
pub(crate) fn one_loaded_path(loaded: usize) -> String {
    let text = std::fs::read_to_string(demo()).expect("the scenario can be read");
    let mut path = 0;
    let lines = text.lines().filter(|line| {
        let names_background = line.starts_with("background = ");
        path += usize::from(names_background);
        !names_background || path == loaded + 1
    });
    let lines: Vec<&str> = lines.collect();
    assert_eq!(path, 2, "the demo has two paths with background traffic");
    lines.join("\n")
}
