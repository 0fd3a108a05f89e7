//! The command line of `docs/choose-a-policy/media-loss.py`.

use super::*;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/choose-a-policy/media-loss.py"
);

#[test]
fn a_wrong_command_line_is_refused_with_a_remedy() {
    let program = Path::new(env!("CARGO_BIN_EXE_polypath"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let tools = |tool| Command::new(tool).arg("-V").env("PATH", &path).output();
    if ["python3", "ip", "nft"]
        .into_iter()
        .any(|tool| tools(tool).is_err())
    {
        return eprintln!("skipped: needs python3, ip and nft");
    }
    for (arguments, part) in [
        ("intime", "there is no policy intime; did you mean in-time?"),
        ("fastest", "choose from single-path, "),
        (
            "--loss 2 0.02",
            "argument --loss: 2 is not a share: write 0.02 for 2 %",
        ),
        ("--loss nan 0", "argument --loss: nan is not a share"),
        ("--seconds 0", "argument --seconds: 0 is not a time"),
        ("--seconds x", "write seconds, such as 60"),
    ] {
        let mut command = Command::new("python3");
        command
            .arg(SCRIPT)
            .args(arguments.split(' '))
            .env("PATH", &path);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(part), "{arguments}: {stderr}");
        assert!(!stderr.contains("Traceback"), "{arguments}: {stderr}");
    }
}
