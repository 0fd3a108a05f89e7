//! Whole streams over loopback: what was sent is what arrives, whatever happens to connections.

mod common;
mod connections;

use std::time::Duration;

use common::*;
use polypath_core::connections::wire::Refusal;
use polypath_core::connections::{ControllerConfig, VariationConfig};
use polypath_core::units::Rate;
use polypath_stream::{
    Admission, ConnectionError, FileSource, LiveSource, PAYLOAD, ReceiveConfig, ReceiveError,
    ReceiverSecurity, Server, ServerConfig, ServerError, ServerSecurity, Sink, Source, receive,
    receive_until,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

const FAST: Rate = Rate(50_000_000);
/// More than any stream here takes.
const LIMIT: Duration = Duration::from_mins(1);

fn file_source(len: usize) -> (tempfile::TempDir, Source, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = file_of(folder.path(), len);
    let source = Source::File(FileSource::open(&path).unwrap());
    (folder, source, bytes)
}

#[tokio::test]
async fn a_file_arrives_byte_by_byte_with_tls_and_each_algorithm() {
    let (_folder, source, bytes) = file_source(2_000_001);
    let (server_key, receiver_key) = (identity(), identity());
    let admission = Admission::Keys(vec![receiver_key.public()]);
    let server = serve_tls(&server_key, &admission, source);
    let control = receiver(server.address, FAST, 1).controller.control();
    let controllers = [
        ControllerConfig::FixedWindows {
            connections: 3,
            window: 20,
        },
        ControllerConfig::AdjustWindow {
            connections: 4,
            control,
        },
        ControllerConfig::VariedConnections {
            connections: 1,
            variation: VariationConfig::default(),
            control,
        },
    ];
    for controller in controllers {
        let tls = receiver_key.client_config(server_key.public()).unwrap();
        let config = ReceiveConfig {
            security: ReceiverSecurity::Tls(tls),
            controller,
            ..receiver(server.address, FAST, 1)
        };
        let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
        let report = result.unwrap();
        assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
        assert_eq!((report.bytes, report.failed), (bytes.len() as u64, 0));
        assert!(report.opened >= u64::from(controller.connections()));
    }
    // The server notices the end with the last message of the receiver.
    sleep(Duration::from_millis(200)).await;
    let counts = server.counters.read();
    assert_eq!((counts.receivers, counts.completed, counts.lost), (0, 3, 0));
    assert_eq!((counts.connections, counts.rejected), (0, 0));
}

#[tokio::test]
async fn an_empty_file_is_complete_at_once() {
    let (_folder, source, _) = file_source(0);
    let server = serve_insecure(ANY, source);
    let config = receiver(server.address, FAST, 2);
    let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
    assert_eq!((result.unwrap().bytes, received.len()), (0, 0));
}

#[tokio::test]
async fn a_restarted_server_continues_the_same_file_and_refuses_another() {
    let (folder, source, bytes) = file_source(3_000_000);
    let server = serve_insecure(ANY, source.clone());
    let config = receiver(server.address, Rate(8_000_000), 3);
    let receiving = tokio::spawn(receive_all(config.clone()));
    sleep(Duration::from_millis(800)).await;
    let address = server.stop().await;
    let server = serve_insecure(address, source);
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());

    let receiving = tokio::spawn(receive_all(config));
    while server.counters.read().receivers == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_millis(800)).await;
    let address = server.stop().await;
    let (path, _) = file_of(folder.path(), 2_999_999);
    let other = Source::File(FileSource::open(&path).unwrap());
    let _server = serve_insecure(address, other);
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    assert!(matches!(
        result,
        Err(ReceiveError::Refused {
            refusal: Refusal::Source,
            ..
        })
    ));
    assert!(bytes.starts_with(&received), "what came before is kept");
}

/// Live bytes of 4 Mbit/s: the receiver gets those after its start, without a gap.
#[tokio::test]
async fn a_live_stream_arrives_without_a_gap_until_its_end() {
    let live = LiveSource::new(1 << 20).unwrap();
    let server = serve_insecure(ANY, Source::Live(live.clone()));
    let (mut input, output) = tokio::io::duplex(1 << 16);
    let reading = tokio::spawn(async move { live.read_from(output).await });
    let config = receiver(server.address, Rate(8_000_000), 3);
    let receiving = tokio::spawn(receive_all(config));
    let mut sent = Vec::new();
    for number in 0..200_u32 {
        let chunk: Vec<u8> = number.to_be_bytes().repeat(625);
        input.write_all(&chunk).await.unwrap();
        sent.extend(chunk);
        sleep(Duration::from_millis(5)).await;
    }
    drop(input);
    reading.await.unwrap().unwrap();
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    result.unwrap();
    assert!(received.len() > sent.len() / 2, "{} B", received.len());
    assert!(sent.ends_with(&received), "no gap, and nothing twice");
}

#[tokio::test]
async fn a_receiver_that_is_slower_than_a_live_source_is_refused() {
    let live = LiveSource::new(100_000).unwrap();
    let server = serve_insecure(ANY, Source::Live(live.clone()));
    let (mut input, output) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move { live.read_from(output).await });
    // The smallest windows, at a tenth of the rate of the source.
    let config = receiver(server.address, Rate(400_000), 1);
    let receiving = tokio::spawn(receive_all(config));
    let feeding = tokio::spawn(async move {
        while input.write_all(&[0; 2500]).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    let (result, _) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    feeding.abort();
    assert!(
        matches!(
            result,
            Err(ReceiveError::Refused {
                refusal: Refusal::TooSlow,
                ..
            })
        ),
        "{result:?}"
    );
    assert_eq!(server.counters.read().lost, 1);
}

/// The round trip of loopback is far shorter than a packet at this rate.
#[tokio::test]
async fn the_rate_is_the_wanted_one_where_one_packet_a_round_trip_is_more() {
    let (_folder, source, _) = file_source(100_000_000);
    let server = serve_insecure(ANY, source);
    for rate in [Rate(400_000), Rate(4_000_000), Rate(20_000_000)] {
        let memory = Memory::default();
        let config = receiver(server.address, rate, 3);
        let receiving = receive(config, Sink::bytes(memory.clone()), |_| {});
        let span = Duration::from_secs(6);
        assert!(
            timeout(span, receiving).await.is_err(),
            "the file is longer"
        );
        let measured = memory.len() as f64 * 8.0 / span.as_secs_f64();
        let ratio = measured / rate.as_f64();
        assert!(
            (0.9..1.1).contains(&ratio),
            "{measured:.0} bit/s of {rate:?}"
        );
    }
}

/// The server waits when it has sent as much as the receiver buffers, which the receiver then has to
/// report without giving credit.
#[tokio::test]
async fn a_window_larger_than_the_buffer_does_not_stop_the_stream() {
    let (_folder, source, bytes) = file_source(4_000_000);
    let server = serve_insecure(ANY, source);
    let config = ReceiveConfig {
        controller: ControllerConfig::FixedWindows {
            connections: 1,
            window: 5000,
        },
        ..receiver(server.address, Rate(800_000), 1)
    };
    let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
    result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
}

/// The last packets are on their way when all connections end.
#[tokio::test]
async fn a_server_restarted_at_the_end_of_a_file_sends_the_rest() {
    let (_folder, source, bytes) = file_source(400_000);
    let server = serve_insecure(ANY, source.clone());
    let config = receiver(server.address, Rate(1_000_000), 3);
    let receiving = tokio::spawn(receive_all(config));
    // 3.2 s in all, of which the server has sent the end before it stops.
    sleep(Duration::from_millis(3150)).await;
    let address = server.stop().await;
    let _server = serve_insecure(address, source);
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
}

/// One of 200 receivers takes nothing: the others have their files all the same, and it gets its own
/// once it does.
#[tokio::test]
async fn a_slow_receiver_delays_no_other() {
    raise_descriptor_limit();
    let (_folder, source, bytes) = file_source(60_000);
    let server = serve_insecure(ANY, source);
    let config = receiver(server.address, Rate(800_000), 1);
    let (mut far, near) = tokio::io::duplex(1024);
    let slow = tokio::spawn(receive(config.clone(), Sink::bytes(near), |_| {}));
    let others: Vec<_> = (0..199)
        .map(|_| tokio::spawn(receive_all(config.clone())))
        .collect();
    for other in others {
        let (result, received) = timeout(LIMIT, other).await.unwrap().unwrap();
        result.unwrap();
        assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
    }
    assert!(!slow.is_finished());
    let mut received = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut far, &mut received);
    timeout(LIMIT, reading).await.unwrap().unwrap();
    slow.await.unwrap().unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
}

/// The output accepts nothing for a while: the connections wait, and nothing is lost.
#[tokio::test]
async fn a_blocked_output_stops_the_stream_without_loss() {
    let (_folder, source, bytes) = file_source(1_500_000);
    let server = serve_insecure(ANY, source);
    let (mut far, near) = tokio::io::duplex(4096);
    let config = receiver(server.address, Rate(20_000_000), 3);
    let receiving = tokio::spawn(receive(config, Sink::bytes(near), |_| {}));
    sleep(Duration::from_secs(2)).await;
    let mut received = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut far, &mut received);
    timeout(LIMIT, reading).await.unwrap().unwrap();
    receiving.await.unwrap().unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
}

/// A receiver that is stopped, or whose output fails, ends its stream at the server.
#[tokio::test]
async fn a_receiver_that_leaves_makes_room_at_once() {
    let (_folder, source, _) = file_source(1_500_000);
    let server = serve_insecure(ANY, source);
    let config = receiver(server.address, Rate(800_000), 3);
    let (closed, output) = tokio::io::duplex(1024);
    let receiving = tokio::spawn(receive(config.clone(), Sink::bytes(output), |_| {}));
    let (mut far, blocked) = tokio::io::duplex(1024);
    let stop = sleep(Duration::from_millis(500));
    let stopped = receive_until(config, Sink::bytes(blocked), stop, |_| {});
    let stopped = timeout(LIMIT, stopped).await.unwrap();
    assert!(
        matches!(stopped, Err(ReceiveError::Stopped)),
        "{stopped:?}, though its output is blocked"
    );
    let mut received = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut far, &mut received)
        .await
        .unwrap();
    assert!(!received.is_empty());
    let counts = server.counters.read();
    assert_eq!((counts.receivers, counts.left), (1, 1));
    drop(closed);
    let failed = timeout(LIMIT, receiving).await.unwrap().unwrap();
    assert!(
        matches!(failed, Err(ReceiveError::Output { .. })),
        "{failed:?}"
    );
    let counts = server.counters.read();
    assert_eq!((counts.receivers, counts.left, counts.lost), (0, 2, 0));
}
