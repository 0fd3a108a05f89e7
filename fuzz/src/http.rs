//! Clients of the HTTP server that send arbitrary bytes in arbitrary pieces while time passes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use polypath_live::control::fuzzing::{HTTP_TIME, Servers};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{self, Instant};

/// The buffer of the connection in each direction, in bytes.
const BUFFER: usize = 1024;
/// Beginnings of requests, which a script can name.
const STARTS: [&[u8]; 4] = [
    b"GET /metrics HTTP/1.1\r\n",
    b"Accept: application/openmetrics-text\r\n",
    b"Content-Length: 3\r\n",
    b"\r\n",
];
/// The status codes of the server.
const STATUSES: [&str; 8] = ["200", "400", "404", "405", "408", "414", "431", "503"];

/// The servers of all inputs, and the runtime with a clock that only the script advances.
struct Host {
    servers: Arc<Servers>,
    runtime: Runtime,
}

static HOST: OnceLock<Host> = OnceLock::new();

/// A client writes pieces, reads, waits and closes its side. It receives one response at most, which
/// is complete if the client reads it in time, and the connection ends within its time limit.
pub fn check(bytes: &[u8]) {
    let host = HOST.get_or_init(|| Host {
        servers: Arc::new(Servers::start().expect("a socket pair and a thread")),
        runtime: Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime"),
    });
    host.runtime.block_on(async {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (servers, start) = (host.servers.clone(), Instant::now());
        let serving = tokio::spawn(async move { servers.serve_http(near).await });
        let Client {
            received,
            waited,
            has_closed,
        } = act(bytes, far).await;
        serving.await.expect("the server does not panic");
        let lasted = start.elapsed();
        // The clock has a resolution of a millisecond.
        let longest = HTTP_TIME.max(waited) + Duration::from_millis(2);
        assert!(lasted <= longest, "{lasted:?}");
        // A client that closes its side may have given up.
        check_response(&received, lasted < HTTP_TIME && !has_closed);
    });
}

/// A client at the end of its script.
#[derive(Default)]
struct Client {
    received: Vec<u8>,
    /// The time for which it waited by itself.
    waited: Duration,
    has_closed: bool,
}

/// Performs the script, and then receives until the server closes the connection.
async fn act(mut script: &[u8], mut far: DuplexStream) -> Client {
    let mut client = Client::default();
    let mut buffer = [0; BUFFER];
    while let Some((&action, rest)) = script.split_first() {
        script = rest;
        let argument = usize::from(action / 8);
        let written = match action % 8 {
            0..=2 => {
                let (piece, rest) = script.split_at((4 * argument).min(script.len()));
                script = rest;
                far.write_all(piece).await
            }
            3 | 4 => far.write_all(STARTS[argument % STARTS.len()]).await,
            5 => {
                client.has_closed = true;
                far.shutdown().await
            }
            6 => {
                let span = Duration::from_millis(1 << (argument % 13));
                client.waited += span;
                time::sleep(span).await;
                Ok(())
            }
            _ => {
                let read = far.read(&mut buffer[..=argument]);
                if let Ok(Ok(len)) = time::timeout(Duration::from_millis(1), read).await {
                    client.received.extend_from_slice(&buffer[..len]);
                }
                client.waited += Duration::from_millis(1);
                Ok(())
            }
        };
        // The server has closed the connection, or the client its side.
        if written.is_err() {
            break;
        }
    }
    let _ = far.read_to_end(&mut client.received).await;
    client
}

/// There is one response at most, and it is whole if `is_complete`.
fn check_response(received: &[u8], is_complete: bool) {
    if received.is_empty() {
        return;
    }
    let text = String::from_utf8_lossy(received);
    let status = text.strip_prefix("HTTP/1.").and_then(|text| text.get(2..5));
    if !is_complete && status.is_none() {
        return;
    }
    assert!(
        status.is_some_and(|status| STATUSES.contains(&status)),
        "{text}"
    );
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        assert!(!is_complete, "{text}");
        return;
    };
    let head = head.to_ascii_lowercase();
    let len = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let len: usize = len.map_or(0, |len| len.parse().expect("a number"));
    assert!(body.len() <= len, "more than one response: {text}");
    // The response to HEAD states the length of a body that it does not have.
    assert!(
        !is_complete || body.len() == len || body.is_empty(),
        "{text}"
    );
}
