//! Transfers between real programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use polypath_lab::{Endpoints, Lab};
use polypath_report::{SchemeRecord, Transfer};
use polypath_scenario::Scheme;
use polypath_session::datagram::INITIATION_LEN;
use polypath_sim::Side;

use super::super::demo::one_loaded_path;
use super::scenarios::{CALM, scenario, set_up, timely, timely_keeping};

/// The median duration of transfers in seconds, which ignores a transfer that a busy machine
/// delayed.
fn median_seconds(scheme: &SchemeRecord) -> f64 {
    let seconds = |t: &Transfer| t.duration.unwrap().as_secs_f64();
    let mut durations: Vec<f64> = scheme.transfers.iter().map(seconds).collect();
    durations.sort_by(f64::total_cmp);
    durations[durations.len() / 2]
}

/// The bytes that a side has sent on a device, by the kernel's counters.
fn sent_on(endpoints: &Endpoints, side: Side, device: &str) -> u64 {
    let mut command = Command::new("ip");
    command.args(["-s", "-j", "link", "show", "dev", device]);
    let output = endpoints.at(side).output(&mut command).unwrap();
    let links: serde_json::Value = serde_json::from_str(&output).unwrap();
    // For a TUN device tx is what the kernel sends, and rx what the program writes.
    links[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
}

/// The length of the kernel's ICMP error for an initiation that arrived before the node was
/// started: IPv4 and ICMP headers, and the whole datagram with its IPv4 and UDP headers (RFC 1812,
/// section 4.3.2.3).
const PORT_UNREACHABLE: u64 = (20 + 8) + (20 + 8 + INITIATION_LEN as u64);

/// The bytes of ICMP errors that the kernel of a side has sent, if its node started later.
fn icmp_error_bytes(endpoints: &Endpoints, side: Side) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/snmp");
    let table = endpoints.at(side).run(read).unwrap();
    let mut rows = table.lines().filter(|line| line.starts_with("Icmp:"));
    let [names, values] = [rows.next().unwrap(), rows.next().unwrap()].map(str::split_whitespace);
    let (_, sent) = names
        .zip(values)
        .find(|(name, _)| *name == "OutDestUnreachs")
        .unwrap();
    sent.parse::<u64>().unwrap() * PORT_UNREACHABLE
}

/// The bytes that the nodes of both sides have sent on the paths beyond those of the applications.
fn overhead(endpoints: &Endpoints) -> u64 {
    let of_side = |side| {
        let sent = |device| sent_on(endpoints, side, device);
        sent("p1") + sent("p2") - sent("pp0") - icmp_error_bytes(endpoints, side)
    };
    of_side(Side::Server) + of_side(Side::Client)
}

/// Datagrams and bytes that nodes sent on the paths.
#[derive(Clone, Copy)]
struct Volume {
    datagrams: u64,
    bytes: u64,
}

/// The volume that both nodes of a scheme sent, by their statistics.
fn sent_by_nodes(files: &Path, scheme: Scheme) -> Volume {
    let of_side = |side: &str| {
        let file = files.join(scheme.name()).join(format!("{side}.stats.json"));
        let stats: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let sum = |unit: &str| -> u64 {
            let paths = stats["paths"].as_array().unwrap();
            let counts = paths.iter().map(|p| p["sent"][unit].as_u64().unwrap());
            counts.sum()
        };
        Volume {
            datagrams: sum("packets"),
            bytes: sum("bytes"),
        }
    };
    let (server, client) = (of_side("server"), of_side("client"));
    Volume {
        datagrams: server.datagrams + client.datagrams,
        bytes: server.bytes + client.bytes,
    }
}

/// The number of frames that both nodes sent.
fn frames(scheme: &SchemeRecord) -> u64 {
    let paths = scheme.overlay.paths.iter();
    paths
        .map(|path| path.forward.frames_out + path.backward.frames_out)
        .sum()
}

#[test]
fn without_background_schemes_agree_and_the_kernel_confirms_the_overhead() {
    // A single pair at the start: otherwise more frames are sent after the kernel's counters are
    // read.
    let settings = [
        "path.0.link.0.delay=40 ms",
        "path.1.link.0.delay=40 ms",
        "overlay.pair_interval=1 h",
    ];
    let by_kernel = |lab: &Lab| Scheme::ALL.map(|scheme| overhead(lab.endpoints(scheme).unwrap()));
    let ran = timely_keeping(&scenario(CALM, &settings), by_kernel);
    let Some((experiment, by_kernel, files)) = ran else {
        return;
    };
    let plain = median_seconds(&experiment.schemes[0]);
    let schemes = experiment.schemes.iter().zip(Scheme::ALL);
    for ((scheme, name), by_kernel) in schemes.zip(by_kernel) {
        assert!(scheme.transfers.iter().all(|t| t.intact), "{}", scheme.name);
        let ratio = median_seconds(scheme) / plain;
        assert!(
            (ratio - 1.0).abs() < 0.05,
            "{}: {ratio} of plain TCP",
            scheme.name
        );
        // Bytes outside frames belong to the session: handshakes, and hellos on silent paths.
        let totals = &scheme.overlay.totals;
        let Volume { datagrams, bytes } = sent_by_nodes(files.path(), name);
        let session = bytes - totals.wire_bytes.0;
        assert!(datagrams > frames(scheme), "{}: no handshake", scheme.name);
        let expected = totals.overhead().0 + session;
        // The kernel's counters are read before the nodes exit, and never exceed theirs.
        let late = expected.checked_sub(by_kernel);
        assert!(
            late.is_some_and(|late| late <= session),
            "{}: {by_kernel} B by the kernel, {expected} B by the report, of which {session} B of the session",
            scheme.name
        );
    }
}

#[test]
fn a_transfer_survives_the_silence_of_a_path() {
    // At 10 Mbit/s the file takes at least 2.4 s, and the silence starts during the transfer.
    let settings = [
        "schemes=[\"tcp\", \"ppd-tcp2\"]",
        "transfer.count=1",
        "transfer.size=3 MB",
        "transfer.warm_up=2 s",
        "transfer.timeout=6 s",
        "path.0.link.0.rate=10 Mbit/s",
        "path.1.link.0.rate=10 Mbit/s",
        "path.0.link.0.outage=[{ from = \"3500 ms\" }]",
    ];
    let Some(mut lab) = set_up(&scenario(CALM, &settings)) else {
        return;
    };
    lab.transfer(&mut |_| {}).unwrap();
    let experiment = lab.finish().unwrap();
    let [plain, duplicated] = &experiment.schemes[..] else {
        panic!("two schemes ran");
    };
    let lost = &plain.transfers[0];
    assert_eq!(
        (lost.duration, lost.intact),
        (None, false),
        "plain TCP has no other path"
    );
    let received = lost.progress.last().unwrap().bytes.0;
    assert!(
        (1..3_000_000).contains(&received),
        "silent from {received} B on"
    );
    assert!(duplicated.transfers[0].intact);
    assert!(median_seconds(duplicated) < 5.0);
}

#[test]
fn the_hosts_use_the_scenario_s_tcp_settings() {
    let settings = ["schemes=[\"tcp\"]", "transfer.count=1"];
    let with = |more: &[&str]| {
        let scenario = scenario(CALM, &[&settings, more].concat());
        let (experiment, ()) = timely(&scenario, |_| {})?;
        Some(median_seconds(&experiment.schemes[0]))
    };
    // 100 kB in windows of 5 segments of 948 B take 22 round trips of 20 ms; the kernel keeps the
    // window to within a segment or two. The setup checks the congestion control.
    let small = ["tcp.receiver_window=5", "lab.congestion_control=cubic"];
    let Some(narrow) = with(&small) else { return };
    let Some(wide) = with(&[]) else { return };
    assert!(
        (0.3..0.6).contains(&narrow),
        "{narrow} s with a window of 5 segments"
    );
    assert!((0.1..0.3).contains(&wide), "{wide} s with a large window");
}

#[test]
fn data_takes_the_path_without_background_traffic() {
    for loaded in [0, 1] {
        let text = one_loaded_path(loaded);
        // With half the hosts the loaded path is at times as idle as the other, and a comparison
        // may then correctly choose it.
        let settings = [
            "schemes=[\"ppd-tcp3\"]",
            "transfer.count=3",
            "transfer.warm_up=8 s",
            "overlay.pair_interval=200 ms",
            "background.heavy.hosts=40",
        ];
        let Some(mut lab) = set_up(&scenario(&text, &settings)) else {
            return;
        };
        lab.transfer(&mut |_| {}).unwrap();
        let experiment = lab.finish().unwrap();
        let overlay = &experiment.schemes[0].overlay;
        let sent = |path: usize| overlay.paths[path].forward.bytes_out.0;
        let (busy, idle) = (sent(loaded), sent(1 - loaded));
        assert!(
            idle > busy,
            "path {loaded} is loaded and carried {busy} B, the other {idle} B"
        );
        assert_eq!(
            usize::from(overlay.active_path.0),
            1 - loaded,
            "path {loaded} is loaded"
        );
    }
}
