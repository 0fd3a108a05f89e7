//! The operation of a running node: status, metrics, reload, logs, the service manager.

use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::*;

/// Waits, at most 20 s, until the status of the node of `file` meets `expected`; returns the
/// status.
pub(crate) fn await_status(file: &Path, expected: impl Fn(&Value) -> bool) -> Value {
    let mut last = String::new();
    for _ in 0..200 {
        let output = run_status(&[socket_of(file).as_os_str(), "--format=json".as_ref()]);
        last = String::from_utf8_lossy(&output.stdout).into_owned();
        last.push_str(&String::from_utf8_lossy(&output.stderr));
        if let Ok(status) = serde_json::from_slice::<Value>(&output.stdout)
            && expected(&status)
        {
            return status;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the status does not become as expected: {last}");
}

fn socket_of(file: &Path) -> PathBuf {
    file.with_extension("sock")
}

fn run_status(arguments: &[&OsStr]) -> std::process::Output {
    let mut command = polypath();
    command
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("RUNTIME_DIRECTORY");
    command.arg("status").args(arguments).output().unwrap()
}

pub(crate) fn send_hangup(node: &Node) {
    let pid = Pid::from_raw(i32::try_from(node.0.id()).unwrap());
    kill(pid, Signal::SIGHUP).unwrap();
}

pub(crate) fn is_up(status: &Value) -> bool {
    let live = |path: &Value| path["liveness"]["state"] == "live";
    status["established"] == true && status["paths"].as_array().unwrap().iter().all(live)
}

#[test]
fn the_status_is_a_table_or_json() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let status = await_status(&testbed.files.a, is_up);
    assert_eq!(
        (&status["version"], &status["tun_name"]),
        (&2.into(), &"pp0".into())
    );
    assert_eq!(status["policy"]["kind"], "probe-and-switch");
    let by_file = run_status(&[testbed.files.a.as_os_str(), "--format=json".as_ref()]);
    let by_file: Value = serde_json::from_slice(&by_file.stdout).unwrap();
    assert_eq!(by_file["tun_name"], "pp0");
    // The first packets of the kernel have selected a path.
    let active = status["policy"]["active"].as_str().unwrap();
    assert!(["uplink1", "uplink2"].contains(&active), "{status}");
    assert_eq!(status["paths"][1]["local"], "10.1.2.1:7001");
    let rtt = status["paths"][0]["liveness"]["rtt_ms"].as_f64().unwrap();
    let rttvar = status["paths"][0]["liveness"]["rttvar_ms"]
        .as_f64()
        .unwrap();
    assert!(rtt > 0.0 && rttvar >= 0.0 && rtt < 100.0, "{status}");
    // Heartbeats alone are some 100 B twice a second in each direction.
    let busy = |status: &Value| {
        let rate = &status["paths"][0]["rate"];
        let rate = |direction: &str| rate[direction].as_u64().unwrap();
        (500..100_000).contains(&rate("sent_bit_per_s")) && rate("received_bit_per_s") > 500
    };
    await_status(&testbed.files.a, busy);
    let socket = socket_of(&testbed.files.a);
    let table = printed(&run_status(&[socket.as_os_str()]));
    assert!(table.starts_with("pp0: polypath "), "{table}");
    assert!(
        table.contains("uplink2") && table.contains("live"),
        "{table}"
    );
    // Two lines of --watch, after which the pipe is closed.
    let mut watch = polypath();
    watch.arg("status").arg(&socket);
    watch.args(["--watch", "--interval", "50ms", "--format", "json"]);
    let mut watch = Node(watch.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(watch.0.stdout.take().unwrap()));
    let times = [(); 2].map(|()| {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        line["at"].as_u64().unwrap()
    });
    assert!(times[0] < times[1], "{times:?}");
    drop(lines);
    let mut ended = None;
    for _ in 0..100 {
        ended = watch.0.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ended.unwrap().success());
}

#[test]
fn status_without_a_node_names_the_remedy() {
    let files = Files::new();
    let socket = files.path("none.sock");
    let output = run_status(&[socket.as_os_str()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("polypath node FILE"), "{stderr}");
    // Without an argument the directories are searched.
    let run = files.path("run");
    fs::create_dir(&run).unwrap();
    let search = || {
        let mut command = polypath();
        command.arg("status").env("RUNTIME_DIRECTORY", &run);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    let (code, stderr) = search();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("no control socket"), "{stderr}");
    let names = ["pp0.sock", "pp1.sock", "pp2.sock"];
    let mut nodes = names.map(|name| Some(UnixListener::bind(run.join(name)).unwrap()));
    nodes[2] = None;
    let (code, stderr) = search();
    assert_eq!(code, Some(2), "{stderr}");
    let is_listed = |name: &str| {
        let command = format!("polypath status {}", run.join(name).display());
        stderr.lines().any(|line| line.ends_with(&command))
    };
    assert_eq!(names.map(is_listed), [true, true, false], "{stderr}");
    nodes = [None, None, None];
    // A program that another test starts has the sockets until it executes.
    let has_exited = || {
        let (code, stderr) = search();
        code == Some(1) && stderr.contains("have exited")
    };
    let is_soon = (0..20).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        has_exited()
    });
    assert!(is_soon, "nodes that have exited are listed");
    drop(nodes);
    for name in ["pp1.sock", "pp2.sock"] {
        fs::remove_file(run.join(name)).unwrap();
    }
    let (code, stderr) = search();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("has ended"), "{stderr}");
    let output = run_status(&[files.path("a.key").as_os_str()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("this is not a socket"), "{stderr}");
    let output = run_status(&["--watch".as_ref(), "--interval".as_ref(), "0s".as_ref()]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn status_finds_the_socket_of_a_configuration_file() {
    let files = Files::new();
    let status_of = |file: &Path| {
        let output = run_status(&[file.as_os_str()]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    let (code, stderr) = status_of(&files.a);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("a.sock"), "{stderr}");
    edit(&files.a, "[control]\nsocket = \"a.sock\"", "");
    // Nodes of other tests may use the default name.
    edit(&files.a, "\"pp0\"", "\"pp-nobody\"");
    let (code, stderr) = status_of(&files.a);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("/run/polypath/pp-nobody.sock"), "{stderr}");
    // A running node keeps its old configuration, and only its owner can read the key.
    edit(&files.a, "[policy]", "[polcy]");
    fs::remove_file(files.path("a.key")).unwrap();
    let (code, stderr) = status_of(&files.a);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("/run/polypath/pp-nobody.sock"), "{stderr}");
    let text = fs::read_to_string(&files.a).unwrap();
    fs::write(&files.a, format!("control = \"off\"\n{text}")).unwrap();
    fs::write(files.path("relay.toml"), "[relay]\nkey_file = \"a.key\"\n").unwrap();
    let (code, stderr) = status_of(&files.a);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("control = \"off\""), "{stderr}");
    let (code, stderr) = status_of(&files.path("relay.toml"));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--stats"), "{stderr}");
    let (code, stderr) = status_of(&files.path("none.toml"));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("none.toml"), "{stderr}");
}

#[test]
fn a_second_node_on_the_same_control_socket_is_refused() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    edit(&testbed.files.b, "\"b.sock\"", "\"a.sock\"");
    let _a = testbed.start_a();
    await_log(&testbed.files.a, "ready", 1);
    let mut b = testbed.start_b();
    let code = b.0.wait().unwrap();
    let log = fs::read_to_string(log_of(&testbed.files.b)).unwrap();
    assert_eq!(code.code(), Some(3), "{log}");
    assert!(log.contains("another node answers there"), "{log}");
}

#[test]
fn metrics_are_served_over_http() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    edit(
        &testbed.files.a,
        "[peer]",
        "[metrics]\nlisten = \"10.1.1.1:9600\"\n[peer]",
    );
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    await_status(&testbed.files.a, is_up);
    let mut curl = Command::new("curl");
    curl.args([
        "--disable",
        "--noproxy",
        "*",
        "--silent",
        "--show-error",
        "--fail",
    ]);
    curl.args(["--max-time", "20", "http://10.1.1.1:9600/metrics"]);
    let page = testbed.b.output(&mut curl).unwrap();
    for line in [
        "polypath_session_established 1",
        "polypath_path_state{path=\"uplink1\",state=\"live\"} 1",
        "# TYPE polypath_path_rtt_seconds gauge",
    ] {
        assert!(page.lines().any(|l| l == line), "{line}: {page}");
    }
}

#[test]
fn the_service_manager_is_notified_and_the_log_can_be_json() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    let notify = testbed.files.path("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut command = polypath();
    command
        .arg("node")
        .arg(file)
        .args(["--log-format", "json"])
        .stdin(Stdio::null());
    command
        .env("POLYPATH_LOG", "info")
        .env("NOTIFY_SOCKET", &notify);
    command.env("WATCHDOG_USEC", "200000");
    command.stderr(File::create(log_of(file)).unwrap());
    let mut node = Node(testbed.a.spawn(&mut command).unwrap());
    let next = |ignored: &str| {
        loop {
            let message = next_message(&manager);
            if ignored.is_empty() || !message.starts_with(ignored) {
                return message;
            }
        }
    };
    assert_eq!(next(""), "READY=1");
    // At half the watchdog interval.
    let watchdogs = (0..20).filter(|_| next("STATUS=") == "WATCHDOG=1").count();
    assert_eq!(watchdogs, 20);
    send_hangup(&node);
    let messages: Vec<String> = [(); 2]
        .map(|()| {
            loop {
                let message = next("STATUS=");
                if message != "WATCHDOG=1" {
                    break message;
                }
            }
        })
        .to_vec();
    assert!(
        messages[0].starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{messages:?}"
    );
    assert_eq!(messages[1], "READY=1");
    let pid = Pid::from_raw(i32::try_from(node.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert!((0..100).any(|_| next("STATUS=") == "STOPPING=1"));
    let ended = node.0.wait().unwrap();
    assert!(ended.success(), "{ended} {:?}", ended.signal());
    let log = fs::read_to_string(log_of(file)).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ready = lines
        .iter()
        .find(|line| line["message"] == "ready")
        .unwrap();
    assert_eq!(
        (&ready["level"], &ready["tun"]),
        (&"INFO".into(), &"pp0".into())
    );
    assert!(ready["timestamp"].is_string() && ready["target"].is_string());
}

#[test]
fn privileges_are_dropped_after_startup_and_a_reload_works_without_them() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    edit(file, "[node]", "[node]\nuser = \"nobody\"");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(testbed.files.directory.path(), everybody).unwrap();
    let (a, _b) = (testbed.start_a(), testbed.start_b());
    await_status(file, is_up);
    let tasks = fs::read_dir(format!("/proc/{}/task", a.0.id())).unwrap();
    let mut threads = 0;
    for task in tasks {
        // A client's thread may have ended.
        let Ok(status) = fs::read_to_string(task.unwrap().path().join("status")) else {
            continue;
        };
        let of = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            let mut words = line.split_whitespace().skip(1);
            words.next().unwrap().to_owned()
        };
        assert_ne!(of("Uid:"), "0", "{status}");
        for set in ["CapEff:", "CapPrm:", "CapAmb:"] {
            assert_eq!(of(set), "0000000000000000", "{status}");
        }
        threads += 1;
    }
    assert!(threads >= 2, "the threads of packets and of control");
    edit(file, "10.1.1.1:7001", "10.1.1.1:7101");
    edit(file, "probe-and-switch", "duplicate-all");
    send_hangup(&a);
    let status = await_status(file, |status| status["reloads"]["applied"] == 1);
    assert_eq!(status["paths"][0]["local"], "10.1.1.1:7101");
    // A file that its user may not read changes nothing, and the reason is reported.
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    send_hangup(&a);
    let status = await_status(file, |status| status["reloads"]["refused"] == 1);
    let reason = status["reloads"]["last_error"].as_str().unwrap();
    assert!(
        reason.contains("cannot read") && reason.contains("ermission denied"),
        "{reason}"
    );
}

/// The policy draws from a seed that only this run of the node has: nodes that start together would
/// choose their paths together.
#[test]
fn each_run_of_a_node_draws_its_own_random_numbers() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let seeds = ["first", "second"].map(|name| {
        let recording = testbed.files.path(name);
        let record = [OsStr::new("--record"), recording.as_os_str()];
        let mut node = Node::start_with(&testbed.a, &testbed.files.a, &record);
        await_log(&testbed.files.a, "ready", 1);
        let process = Pid::from_raw(i32::try_from(node.0.id()).unwrap());
        kill(process, Signal::SIGTERM).unwrap();
        assert!(node.0.wait().unwrap().success());
        let text = fs::read_to_string(&recording).unwrap();
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        header["endpoint"]["seed"].as_u64().unwrap()
    });
    assert_ne!(seeds[0], seeds[1]);
}
