//! Connections that the network cuts without a sign to either end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use polypath_core::connections::{ControlConfig, ControllerConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_stream::{
    FileSource, ReceiveConfig, ReceiverSecurity, Server, ServerConfig, ServerSecurity, Sink,
    Source, receive,
};
use tokio::time::{sleep, timeout};

use crate::can_test;
use crate::namespace::Namespace;
use crate::streams::programs;

const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7000);
const CONNECTIONS: u8 = 4;
const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

/// A namespace whose rules come before the table of local addresses, so that they drop segments on
/// loopback.
fn namespace() -> Namespace {
    let namespace = Namespace::new().unwrap();
    let local = ["rule", "add", "pref", "100", "lookup", "local"];
    namespace.ip(&local).unwrap();
    namespace.ip(&["rule", "del", "pref", "0"]).unwrap();
    namespace
}

/// The ports of the receiver's connections.
fn receiver_ports(namespace: &Namespace) -> Vec<String> {
    let filter = format!("dport = {}", SERVER.port());
    let mut command = Command::new("ss");
    command.args(["-Htn", "state", "established", &filter]);
    let sockets = namespace.output(&mut command).unwrap();
    let local_port = |line: &str| {
        let local = line.split_whitespace().nth(2).unwrap();
        local.rsplit_once(':').unwrap().1.to_owned()
    };
    sockets.lines().map(local_port).collect()
}

/// Drops all segments to the receiver on every second of its connections, and returns their number.
fn cut_half(namespace: &Namespace) -> usize {
    let cut: Vec<String> = receiver_ports(namespace).into_iter().step_by(2).collect();
    for port in &cut {
        let rule = ["rule", "add", "pref", "10", "ipproto", "tcp"];
        let to_receiver = ["dport", port, "blackhole"];
        namespace.ip(&[&rule[..], &to_receiver].concat()).unwrap();
    }
    cut.len()
}

/// Two of four connections fall silent: their packets come on the others, long before the time-out of
/// TCP.
#[test]
fn packets_of_connections_that_fall_silent_come_on_the_others() {
    if !can_test() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("media.ts");
    let bytes: Vec<u8> = (0..250_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, &bytes).unwrap();
    let server = ServerConfig {
        listen: SERVER,
        security: ServerSecurity::Insecure,
        receivers: 1,
        // No more than the receiver wants: each of those that are cut must make room.
        connections: CONNECTIONS.into(),
        connection_limit: None,
        congestion_control: None,
    };
    let receiver = ReceiveConfig {
        server: SERVER,
        security: ReceiverSecurity::Insecure,
        rate: Rate(4_000_000),
        controller: ControllerConfig::AdjustWindow {
            connections: CONNECTIONS.into(),
            control: ControlConfig {
                // The round trip of loopback would give samples of less than a millisecond.
                interval: Some(Duration::from_millis(50)),
                ..ControlConfig::default()
            },
        },
        play_out: None,
        patience: Duration::from_secs(30),
        record: None,
    };
    let namespace = namespace();
    let output = folder.path().join("output.ts");
    let exchange = async {
        let source = Source::File(FileSource::open(&path)?);
        let server = Server::bind(server, source).map_err(io::Error::other)?;
        let serving = tokio::spawn(server.serve());
        let sink = Sink::bytes(tokio::fs::File::create(&output).await?);
        let receiving = tokio::spawn(receive(receiver, sink, |_| {}));
        while receiver_ports(&namespace).len() < CONNECTIONS.into() {
            sleep(SECOND / 20).await;
        }
        // They carry packets by then.
        sleep(SECOND / 2).await;
        let cut = cut_half(&namespace);
        let report = timeout(40 * SECOND, receiving).await??;
        let report = report.map_err(io::Error::other)?;
        serving.abort();
        Ok((cut, report))
    };
    let (cut, report) = namespace.run(|| programs::run(exchange)).unwrap();
    println!("{cut} of {CONNECTIONS} connections were cut: {report:?}");
    assert_eq!(cut, 2);
    assert!(report.failed >= 2);
    assert!(std::fs::read(output).unwrap() == bytes);
}
