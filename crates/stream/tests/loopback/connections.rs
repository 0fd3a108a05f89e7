//! Connections that fail, are refused, or are of other programs.

use polypath_core::connections::wire::SenderMessage;
use polypath_live::recording::{Reader, replay};

use super::*;

/// Some of the connections are reset whenever all of them carry packets again.
#[tokio::test]
async fn resets_lose_and_double_no_byte() {
    const CONNECTIONS: u32 = 6;
    let (_folder, source, bytes) = file_source(8_000_000);
    let server = serve_insecure(ANY, source);
    let proxy = Proxy::to(server.address).await;
    let config = receiver(proxy.address, Rate(12_000_000), CONNECTIONS);
    let receiving = tokio::spawn(receive_all(config));
    let mut reset = 0;
    while reset < 6 && !receiving.is_finished() {
        if proxy.open() == CONNECTIONS as usize {
            sleep(Duration::from_millis(100)).await;
            reset += proxy.reset_half();
        }
        sleep(Duration::from_millis(5)).await;
    }
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    let report = result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
    assert!(reset >= 6, "{reset} connections were reset");
    assert!(
        report.failed >= reset as u64,
        "{} of {reset}",
        report.failed
    );
    assert!(proxy.accepted() as u64 >= u64::from(CONNECTIONS) + report.failed);
}

/// A server takes two of six connections: the others are not tried again and again.
#[tokio::test]
async fn a_receiver_keeps_to_the_connections_that_it_gets() {
    let (_folder, source, bytes) = file_source(500_000);
    let config = ServerConfig {
        connections: 2,
        ..server_config(ServerSecurity::Insecure)
    };
    let server = serve_with(config, source);
    let config = receiver(server.address, Rate(4_000_000), 6);
    let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
    let report = result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
    assert_eq!((report.opened, report.failed), (6, 0));
    assert!(report.rate < Rate(8_000_000), "{}", report.rate);
}

/// A byte of a connection is damaged on the way, which TLS notices: others carry its packets.
#[tokio::test]
async fn a_damaged_connection_is_replaced() {
    let (_folder, source, bytes) = file_source(600_000);
    let (server_key, receiver_key) = (identity(), identity());
    let admission = Admission::Keys(vec![receiver_key.public()]);
    let server = serve_tls(&server_key, &admission, source);
    let proxy = Proxy::damaging(server.address, 50_000).await;
    let tls = receiver_key.client_config(server_key.public()).unwrap();
    let config = ReceiveConfig {
        security: ReceiverSecurity::Tls(tls),
        ..receiver(proxy.address, Rate(4_000_000), 3)
    };
    let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
    let report = result.unwrap();
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
    assert_eq!(report.failed, 1);
}

/// A receiver names connections of which the server has no sign that they failed: others carry their
/// packets at once, and new ones take their places.
#[tokio::test]
async fn named_connections_are_replaced_at_once() {
    const COUNT: u64 = 10;
    let (_folder, source, bytes) = file_source(10 * PAYLOAD);
    let config = ServerConfig {
        connections: 2,
        ..server_config(ServerSecurity::Insecure)
    };
    let server = serve_with(config, source);
    let open = async |failed: &[u32], number| {
        let mut opened = RawConnection::open(server.address, failed, number).await;
        let is_welcome = opened.is_welcome().await;
        (opened, is_welcome)
    };
    let exchange = async {
        let (mut first, true) = open(&[], 1).await else {
            panic!("the first connection is refused");
        };
        first.report(3, 0).await;
        assert_eq!(first.packets(3).await, bytes[..3 * PAYLOAD]);
        let (mut second, true) = open(&[], 2).await else {
            panic!("the second connection is refused");
        };
        assert!(!open(&[], 3).await.1, "there are two");
        assert!(!open(&[9], 4).await.1, "another was named");

        second.name_failed(1).await;
        second.report(COUNT, 0).await;
        assert_eq!(second.packets(COUNT).await, bytes);
        assert_eq!(first.next().await, None);

        let (_third, true) = open(&[], 5).await else {
            panic!("the place of the named connection is taken");
        };
        let (mut last, true) = open(&[2, 5], 6).await else {
            panic!("the places of connections named before the hello are taken");
        };
        last.report(COUNT, 0).await;
        assert_eq!(last.packets(COUNT).await, bytes);

        // A number that is used again does not take the new connection out of the count.
        let (_again, true) = open(&[6], 6).await else {
            panic!("the place of the named connection is taken");
        };
        assert_eq!(last.next().await, None, "the first with the number ends");
        let (_other, true) = open(&[], 7).await else {
            panic!("there is one");
        };
        sleep(Duration::from_millis(50)).await;
        assert!(!open(&[], 8).await.1, "there are two");
    };
    timeout(LIMIT, exchange).await.unwrap();
}

#[tokio::test]
async fn wrong_keys_and_other_protocols_are_errors_at_once() {
    let (_folder, source, _) = file_source(1000);
    let (server_key, receiver_key, other) = (identity(), identity(), identity());
    let admission = Admission::Keys(vec![receiver_key.public()]);
    let server = serve_tls(&server_key, &admission, source);
    let with = |own: &polypath_stream::StreamIdentity, of: &polypath_stream::StreamIdentity| {
        let tls = own.client_config(of.public()).unwrap();
        ReceiveConfig {
            security: ReceiverSecurity::Tls(tls),
            ..receiver(server.address, FAST, 1)
        }
    };
    // The server has another key than the receiver expects, and the receiver none that is admitted.
    for config in [with(&receiver_key, &other), with(&other, &server_key)] {
        let (result, _) = timeout(LIMIT, receive_all(config)).await.unwrap();
        assert!(
            matches!(result, Err(ReceiveError::Wrong { .. })),
            "{result:?}"
        );
    }
    // A receiver without TLS meets a server with it.
    let config = ReceiveConfig {
        patience: polypath_core::time::Duration::from_secs(2),
        ..receiver(server.address, FAST, 1)
    };
    let (result, _) = timeout(LIMIT, receive_all(config)).await.unwrap();
    assert!(result.is_err(), "{result:?}");
    // A receiver with TLS meets a server without it.
    let (_plain_folder, plain, _) = file_source(1000);
    let insecure = serve_insecure(ANY, plain);
    let config = ReceiveConfig {
        server: insecure.address,
        ..with(&receiver_key, &server_key)
    };
    let (result, _) = timeout(LIMIT, receive_all(config)).await.unwrap();
    assert!(
        matches!(
            result,
            Err(ReceiveError::Wrong {
                source: ConnectionError::NotEncrypted,
                ..
            })
        ),
        "{result:?}"
    );
    // A web server.
    let web = TcpListener::bind(ANY).await.unwrap();
    let address = web.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = web.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let (result, _) = timeout(LIMIT, receive_all(receiver(address, FAST, 1)))
        .await
        .unwrap();
    let Err(ReceiveError::Wrong {
        source: ConnectionError::Channel(error),
        ..
    }) = result
    else {
        panic!("{result:?}");
    };
    assert!(error.to_string().contains("no polypath stream"), "{error}");
    assert!(server.counters.read().rejected >= 2);
}

#[tokio::test]
async fn without_encryption_only_loopback_is_possible() {
    let (_folder, source, _) = file_source(10);
    let config = ServerConfig {
        listen: "0.0.0.0:0".parse().unwrap(),
        security: ServerSecurity::Insecure,
        receivers: 1,
        connections: 1,
        connection_limit: None,
        congestion_control: None,
    };
    assert!(matches!(
        Server::bind(config, source),
        Err(ServerError::Insecure(_))
    ));
    let config = receiver("192.0.2.1:7000".parse().unwrap(), FAST, 1);
    let (result, _) = receive_all(config).await;
    assert!(matches!(result, Err(ReceiveError::Insecure(_))));
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_after_the_patience() {
    let unused = TcpListener::bind(ANY).await.unwrap().local_addr().unwrap();
    let config = ReceiveConfig {
        patience: polypath_core::time::Duration::from_secs(1),
        ..receiver(unused, FAST, 2)
    };
    let (result, _) = timeout(LIMIT, receive_all(config)).await.unwrap();
    let message = result.unwrap_err().to_string();
    assert!(message.contains("no connection for 1 s"), "{message}");
    assert!(message.contains("refused"), "{message}");
}

/// Attempts follow one another in less than the patience.
#[tokio::test]
async fn the_patience_ends_while_attempts_are_made() {
    let unused = TcpListener::bind(ANY).await.unwrap().local_addr().unwrap();
    let config = ReceiveConfig {
        patience: polypath_core::time::Duration::from_secs(7),
        ..receiver(unused, FAST, 2)
    };
    let within = Duration::from_secs(14);
    let (result, _) = timeout(within, receive_all(config)).await.unwrap();
    assert!(matches!(result, Err(ReceiveError::Unreachable { .. })));
}

/// Connections without a hello do not keep others out.
#[tokio::test]
async fn half_open_clients_keep_nobody_out() {
    raise_descriptor_limit();
    let (_folder, source, bytes) = file_source(50_000);
    let key = identity();
    let server = serve_tls(&key, &Admission::Anyone, source);
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(
            tokio::net::TcpStream::connect(server.address)
                .await
                .unwrap(),
        );
    }
    let tls = identity().client_config(key.public()).unwrap();
    let config = ReceiveConfig {
        security: ReceiverSecurity::Tls(tls),
        ..receiver(server.address, FAST, 2)
    };
    let (result, received) = timeout(LIMIT, receive_all(config)).await.unwrap();
    result.unwrap();
    assert_eq!(received, bytes);
}

/// Connections are reset, the stream is recorded, and a replay takes the same decisions.
#[tokio::test]
async fn a_recorded_reception_is_replayed_without_difference() {
    let (folder, source, bytes) = file_source(3_000_000);
    let server = serve_insecure(ANY, source);
    let proxy = Proxy::to(server.address).await;
    let recording = folder.path().join("recording");
    let config = ReceiveConfig {
        record: Some(recording.clone()),
        ..receiver(proxy.address, Rate(12_000_000), 4)
    };
    let receiving = tokio::spawn(receive_all(config));
    while proxy.open() < 4 {
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_millis(100)).await;
    assert!(proxy.reset_half() > 0);
    let (result, received) = timeout(LIMIT, receiving).await.unwrap().unwrap();
    let report = result.unwrap();
    assert!(received == bytes && report.failed > 0);
    let (header, mut reader) = Reader::open(&recording).unwrap();
    let replayed = replay(&header, &mut reader).unwrap();
    assert_eq!(replayed.difference, None);
    assert!(replayed.decisions > report.packets && !reader.is_truncated());
    // A connection whose hello was not sent is not named to the server.
    let text = std::fs::read_to_string(&recording).unwrap();
    let altered = text.replacen("\"end\":\"failed\"", "\"end\":\"unsent\"", 1);
    assert_ne!(altered, text);
    let (header, mut reader) = Reader::new(altered.as_bytes()).unwrap();
    let difference = replay(&header, &mut reader).unwrap().difference;
    assert!(difference.is_some());
}

/// Whether each of the next `count` packets is application-limited; each is received before the next
/// bytes are given to the source.
async fn limits(
    connection: &mut RawConnection,
    count: usize,
    mut give: impl AsyncFnMut(),
) -> Vec<bool> {
    let mut limits = Vec::new();
    let mut given = 0;
    while limits.len() < count {
        if given == limits.len() {
            give().await;
            given += 1;
        }
        match timeout(LIMIT, connection.next()).await.unwrap() {
            Some(SenderMessage::Packet {
                is_application_limited,
                ..
            }) => limits.push(is_application_limited),
            Some(SenderMessage::Idle { .. }) => {}
            other => panic!("{other:?} after {} packets", limits.len()),
        }
    }
    limits
}

/// The receiver raises its windows for congestion, and not for a source that has no more.
#[tokio::test]
async fn packets_are_application_limited_where_the_server_waits_for_its_source() {
    let (_folder, file, _) = file_source(10 * PAYLOAD);
    let live = LiveSource::new(1 << 20).unwrap();
    let (mut input, output) = tokio::io::duplex(1 << 16);
    let source = live.clone();
    tokio::spawn(async move { source.read_from(output).await });
    let mut welcomed = Vec::new();
    let servers = [file, Source::Live(live)].map(|source| serve_insecure(ANY, source));
    for server in &servers {
        let mut connection = RawConnection::open(server.address, &[], 1).await;
        assert!(connection.is_welcome().await);
        connection.report(20, 0).await;
        welcomed.push(connection);
    }
    let of_file = limits(&mut welcomed[0], 10, async || {}).await;
    assert_eq!(of_file, [false; 10]);
    // The credit has arrived before the source has anything.
    sleep(Duration::from_millis(100)).await;
    let give = async || input.write_all(&[0x47; PAYLOAD]).await.unwrap();
    assert_eq!(limits(&mut welcomed[1], 10, give).await, [true; 10]);
}
