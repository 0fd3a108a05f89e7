//! As much of HTTP as Prometheus asks for: one request a connection.

use std::io;
use std::net::TcpStream;

use polypath_core::time::Duration;

use super::page::{CONTENT_TYPE, page};
use crate::control::commands::ControlHandle;
use crate::deadline_stream::{DeadlineStream, Timed};

/// How long a client may take in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest head of a request, in bytes.
const MOST_HEAD: usize = 8192;
const PLAIN: &str = "text/plain; charset=utf-8";

/// An answer without its length.
struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

/// Answers the request of a client.
pub(crate) fn serve(stream: TcpStream, handle: &ControlHandle) -> io::Result<()> {
    exchange(stream, || handle.count().ok().map(|stats| page(&stats)))
}

fn exchange<S: Timed>(stream: S, count: impl FnOnce() -> Option<String>) -> io::Result<()> {
    let mut stream = DeadlineStream::new(stream, PATIENCE);
    let (answer, has_body) = match stream.read_until(b"\r\n\r\n", MOST_HEAD) {
        Ok(None) => return Ok(()),
        Ok(Some(head)) => answer(&head, count),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let status = "431 Request Header Fields Too Large";
            (Answer::error(status), true)
        }
        Err(error) => return Err(error),
    };
    let Answer {
        status,
        content_type,
        body,
    } = answer;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write(head.as_bytes())?;
    stream.write(if has_body { body.as_bytes() } else { &[] })
}

/// What is answered to the request with this head, and whether the body goes with it.
fn answer(head: &[u8], count: impl FnOnce() -> Option<String>) -> (Answer, bool) {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else {
        return (Answer::error("400 Bad Request"), true);
    };
    if !version.starts_with("HTTP/1.") {
        return (Answer::error("505 HTTP Version Not Supported"), true);
    }
    if !["GET", "HEAD"].contains(&method) {
        return (Answer::error("405 Method Not Allowed"), true);
    }
    let answer = match target.split('?').next() {
        Some("/metrics") => count().map_or_else(
            || Answer::error("503 Service Unavailable"),
            |body| Answer {
                status: "200 OK",
                content_type: CONTENT_TYPE,
                body,
            },
        ),
        _ => Answer {
            body: "404 Not Found: the metrics of this polypath node are at /metrics\n".to_owned(),
            ..Answer::error("404 Not Found")
        },
    };
    (answer, method == "GET")
}

impl Answer {
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

    /// What is answered to `request` by a node whose page is "the page".
    fn answered(request: &str) -> String {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(request.as_bytes()).unwrap();
        far.shutdown(Shutdown::Write).unwrap();
        exchange(near, || Some("the page\n".to_owned())).unwrap();
        let mut answer = String::new();
        far.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_page_is_at_its_place_and_nothing_elsewhere() {
        let answer = answered("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nContent-Length: 9\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe page\n"), "{answer}");
        assert!(answer.contains(CONTENT_TYPE), "{answer}");
        let head = answered("HEAD /metrics?x=1 HTTP/1.0\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: 9"));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 "),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 "),
            ("GET /metrics HTTP/2\r\n\r\n", "505 "),
            ("nonsense\r\n\r\n", "400 "),
        ] {
            let answer = answered(request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
        }
        assert_eq!(answered("GET /metrics HTTP/1.1\r\n"), "", "half a request");
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let endless = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
        let answer = answered(&endless);
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }

    #[test]
    fn a_node_that_does_not_count_is_told() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        exchange(near, || None).unwrap();
        let mut answer = String::new();
        far.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
}
