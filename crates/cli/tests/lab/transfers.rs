//! Transfers between real programs.

use std::process::Command;

use polypath_lab::Ends;
use polypath_report::SchemeRecord;
use polypath_scenario::Scheme;
use polypath_sim::Side;

use super::scenarios::{CALM, scenario, stand};

fn mean_seconds(scheme: &SchemeRecord) -> f64 {
    let durations: Vec<f64> = scheme
        .transfers
        .iter()
        .map(|t| t.duration.unwrap().as_secs_f64())
        .collect();
    durations.iter().sum::<f64>() / durations.len() as f64
}

/// Bytes that an end has sent on a device, from the kernel's own counters.
fn sent_on(ends: &Ends, side: Side, device: &str) -> u64 {
    let mut command = Command::new("ip");
    command.args(["-s", "-j", "link", "show", "dev", device]);
    let said = ends.at(side).output(&mut command).unwrap();
    let links: serde_json::Value = serde_json::from_str(&said).unwrap();
    // A TUN device receives what the program behind it writes; what it transmits the kernel sent.
    links[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
}

#[test]
fn without_background_all_schemes_agree_and_the_kernel_counts_the_same_overhead() {
    let scenario = scenario(CALM, &[]);
    let Some(mut lab) = stand(&scenario) else {
        return;
    };
    lab.transfer(&mut |_| {}).unwrap();
    let by_kernel: Vec<u64> = Scheme::ALL
        .iter()
        .map(|&scheme| {
            let ends = lab.ends(scheme).unwrap();
            let sum = |device| {
                [Side::Server, Side::Client]
                    .map(|s| sent_on(ends, s, device))
                    .iter()
                    .sum::<u64>()
            };
            sum("p1") + sum("p2") - sum("pp0")
        })
        .collect();
    let experiment = lab.finish().unwrap();
    let plain = mean_seconds(&experiment.schemes[0]);
    for (scheme, by_kernel) in experiment.schemes.iter().zip(by_kernel) {
        assert!(scheme.transfers.iter().all(|t| t.intact), "{}", scheme.name);
        let ratio = mean_seconds(scheme) / plain;
        assert!(
            (ratio - 1.0).abs() < 0.05,
            "{}: {ratio} of plain TCP",
            scheme.name
        );
        // Handshakes and keepalives of the session are on the wire, too, and no part of a transfer.
        let overhead = scheme.overlay.totals.overhead().0 as f64;
        let excess = by_kernel as f64 - overhead;
        assert!(
            (0.0..3000.0).contains(&excess),
            "{}: {by_kernel} B by the kernel, {overhead} B by the report",
            scheme.name
        );
    }
}

#[test]
fn a_transfer_survives_the_silence_of_a_path() {
    let settings = [
        "schemes=[\"tcp\", \"ppd-tcp2\"]",
        "transfer.count=1",
        "transfer.size=1 MB",
        "transfer.warm_up=2 s",
        "transfer.timeout=6 s",
        "path.0.link.0.outage=[{ from = \"2400 ms\" }]",
    ];
    let Some(mut lab) = stand(&scenario(CALM, &settings)) else {
        return;
    };
    lab.transfer(&mut |_| {}).unwrap();
    let experiment = lab.finish().unwrap();
    let [plain, duplicated] = &experiment.schemes[..] else {
        panic!("two schemes ran");
    };
    assert_eq!(
        plain.transfers[0].duration, None,
        "plain TCP has no other path"
    );
    assert!(!plain.transfers[0].intact);
    let begun = plain.transfers[0].progress.last().unwrap().bytes.0;
    assert!((1..1_000_000).contains(&begun), "silent from {begun} B on");
    assert!(duplicated.transfers[0].intact);
    assert!(mean_seconds(duplicated) < 3.0);
}
