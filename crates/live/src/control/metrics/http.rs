//! The part of HTTP/1.1 that Prometheus needs: one request per connection.

use std::io;
use std::net::TcpStream;

use polypath_core::time::Duration;

use super::page::{CONTENT_TYPE, page};
use crate::control::commands::ControlHandle;
use crate::deadline_stream::{DeadlineStream, Timed};

/// The time limit of a connection.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The longest request head in bytes.
const MAX_HEAD: usize = 8192;
const PLAIN: &str = "text/plain; charset=utf-8";

/// A response without its length.
struct Response {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

/// Serves the request of a client.
pub(crate) fn serve(stream: TcpStream, handle: &ControlHandle) -> io::Result<()> {
    exchange(stream, || handle.count().ok().map(|stats| page(&stats)))
}

fn exchange<S: Timed>(stream: S, count: impl FnOnce() -> Option<String>) -> io::Result<()> {
    let mut stream = DeadlineStream::new(stream, TIME_LIMIT);
    let (response, has_body) = match stream.read_until(b"\r\n\r\n", MAX_HEAD) {
        Ok(None) => return Ok(()),
        Ok(Some(head)) => respond(&head, count),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let status = "431 Request Header Fields Too Large";
            (Response::error(status), true)
        }
        Err(error) => return Err(error),
    };
    let Response {
        status,
        content_type,
        body,
    } = response;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write(head.as_bytes())?;
    stream.write(if has_body { body.as_bytes() } else { &[] })
}

/// The response to a request with this head, and whether its body is sent.
fn respond(head: &[u8], count: impl FnOnce() -> Option<String>) -> (Response, bool) {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else {
        return (Response::error("400 Bad Request"), true);
    };
    if !version.starts_with("HTTP/1.") {
        return (Response::error("505 HTTP Version Not Supported"), true);
    }
    if !["GET", "HEAD"].contains(&method) {
        return (Response::error("405 Method Not Allowed"), true);
    }
    let response = match target.split('?').next() {
        Some("/metrics") => count().map_or_else(
            || Response::error("503 Service Unavailable"),
            |body| Response {
                status: "200 OK",
                content_type: CONTENT_TYPE,
                body,
            },
        ),
        _ => Response {
            body: "404 Not Found: the metrics of this polypath node are at /metrics\n".to_owned(),
            ..Response::error("404 Not Found")
        },
    };
    (response, method == "GET")
}

impl Response {
    fn error(status: &'static str) -> Self {
        Self {
            status,
            content_type: PLAIN,
            body: format!("{status}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    /// The response to `request` of a node whose page is "the page".
    fn response(request: &str) -> String {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(request.as_bytes()).unwrap();
        far.shutdown(Shutdown::Write).unwrap();
        exchange(near, || Some("the page\n".to_owned())).unwrap();
        let mut answer = String::new();
        far.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn only_the_metrics_path_is_served() {
        let answer = response("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nContent-Length: 9\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe page\n"), "{answer}");
        assert!(answer.contains(CONTENT_TYPE), "{answer}");
        let head = response("HEAD /metrics?x=1 HTTP/1.0\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: 9"));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 "),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 "),
            ("GET /metrics HTTP/2\r\n\r\n", "505 "),
            ("nonsense\r\n\r\n", "400 "),
        ] {
            let answer = response(request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
        }
        assert_eq!(response("GET /metrics HTTP/1.1\r\n"), "", "half a request");
    }

    #[test]
    fn an_endless_head_is_refused() {
        let endless = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
        let answer = response(&endless);
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }

    #[test]
    fn an_unresponsive_node_is_unavailable() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        exchange(near, || None).unwrap();
        let mut answer = String::new();
        far.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
}
