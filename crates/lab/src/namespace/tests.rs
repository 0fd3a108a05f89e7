use super::*;
use std::process::Stdio;

/// A namespace; none, with the reason on standard error, if no lab can run.
fn namespace() -> Option<Namespace> {
    crate::can_test().then(|| Namespace::new().unwrap())
}

#[test]
fn a_new_namespace_has_only_its_loopback() {
    let Some(namespace) = namespace() else { return };
    let links = namespace.ip(&["-oneline", "link"]).unwrap();
    assert_eq!(links.lines().count(), 1, "{links}");
    assert!(links.contains("LOOPBACK,UP"), "{links}");
}

#[test]
fn a_veth_pair_connects_two_namespaces_and_not_the_host() {
    let Some(left) = namespace() else { return };
    let right = Namespace::new().unwrap();
    left.join(&right, "wire0", ["10.9.0.1/24", "10.9.0.2/24"])
        .unwrap();
    let ping = left
        .output(Command::new("ping").args(["-c1", "-W2", "10.9.0.2"]))
        .unwrap();
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    let here = std::fs::read_to_string("/proc/net/dev").unwrap();
    assert!(!here.contains("wire0"), "{here}");
}

#[test]
fn parameters_are_per_namespace() {
    let Some(namespace) = namespace() else { return };
    let path = "/proc/sys/net/ipv4/ip_forward";
    let here = std::fs::read_to_string(path).unwrap();
    let other = if here.trim() == "0" { "1" } else { "0" };
    namespace.set("ipv4/ip_forward", other).unwrap();
    let there = namespace.run(|| std::fs::read_to_string(path)).unwrap();
    assert_eq!(there.trim(), other);
    assert_eq!(std::fs::read_to_string(path).unwrap(), here);
}

#[test]
fn a_program_is_killed_with_the_thread_that_started_it() {
    let Some(namespace) = namespace() else { return };
    let mut child = std::thread::scope(|scope| {
        let start = || {
            let mut command = Command::new("sleep");
            namespace
                .spawn(command.arg("60").stdin(Stdio::null()))
                .unwrap()
        };
        scope.spawn(start).join().unwrap()
    });
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[test]
fn standard_error_becomes_the_error_text() {
    let Some(namespace) = namespace() else { return };
    let error = namespace.ip(&["link", "show", "nonesuch"]).unwrap_err();
    assert!(error.to_string().contains("nonesuch"), "{error}");
}

#[test]
fn counters_are_found_by_protocol_and_name() {
    let table = "TcpExt: SyncookiesSent SubflowStale\nTcpExt: 1 2\n\
                 MPTcpExt: MPCapableSYNRX SubflowStale SubflowRecover\nMPTcpExt: 3 4 5\n";
    let of = |name| counter(table, "MPTcpExt:", name);
    assert_eq!(of("SubflowStale"), Some(4));
    assert_eq!(of("SubflowRecover"), Some(5));
    assert_eq!(of("Nonesuch"), None);
    assert_eq!(counter(table, "TcpExt:", "SubflowStale"), Some(2));
}
