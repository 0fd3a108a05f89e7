//! The errors with which a node refuses to start.

use super::*;

/// The standard error of a node that exits with `code`.
fn refusal(file: &Path, arguments: &[&OsStr], code: i32) -> String {
    let mut command = polypath();
    let output = command.arg("node").arg(file).args(arguments).output();
    let output = output.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn an_unwritable_file_is_refused_at_the_start_with_its_option() {
    let files = Files::new();
    let (nowhere, fifo) = (files.path("none/file.json"), files.path("fifo"));
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for (option, path) in [
        ("--stats", nowhere.as_path()),
        ("--stats", files.directory.path()),
        ("--stats", &fifo),
        ("--events", &nowhere),
        ("--events", &fifo),
        ("--record", &nowhere),
        ("--record", &fifo),
    ] {
        let stderr = refusal(&files.a, &[option.as_ref(), path.as_ref()], 2);
        let named = format!("{option} {}", path.display());
        assert!(stderr.contains(&named), "{stderr}");
    }
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn an_origin_in_the_future_is_refused() {
    let files = Files::new();
    let origin = u64::MAX.to_string();
    let stderr = refusal(&files.a, &["--origin-ns".as_ref(), origin.as_ref()], 2);
    assert!(
        stderr.contains("--origin-ns") && stderr.contains("future"),
        "{stderr}"
    );
}

#[test]
fn an_error_in_the_file_has_its_place_and_exit_code_2() {
    let files = Files::new();
    let text = fs::read_to_string(&files.a).unwrap();
    let line = text.lines().position(|l| l.starts_with("local")).unwrap() + 1;
    edit(&files.a, "local =", "locla =");
    let stderr = refusal(&files.a, &[], 2);
    assert!(stderr.contains(&format!("a.toml:{line}:")), "{stderr}");
    assert!(
        stderr.contains("locla") && stderr.contains("local"),
        "{stderr}"
    );
}

#[test]
fn the_failure_of_a_node_is_json_if_the_log_is() {
    let files = Files::new();
    edit(&files.a, "local =", "locla =");
    let stderr = refusal(&files.a, &["--log-format=json".as_ref()], 2);
    let lines: Vec<serde_json::Value> = stderr
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(
        lines[0]["message"].as_str().unwrap().contains("`locla`"),
        "{stderr}"
    );
}

#[test]
fn the_name_of_an_existing_interface_is_refused_for_the_tun_device() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    edit(&testbed.files.a, "\"pp0\"", "\"p1\"");
    let _a = testbed.start_a();
    let log = await_log(&testbed.files.a, "`p1` is the name of an interface", 1);
    assert!(log.contains("node.tun.name"), "{log}");
}
