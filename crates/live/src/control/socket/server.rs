//! The server side of a control connection.

use std::io;
use std::os::unix::net::UnixStream;

use nix::libc::MSG_DONTWAIT;
use polypath_core::time::Duration;
use serde_json::{Value, json};
use socket2::SockRef;

use super::{MAX_REQUEST, REQUESTS, VERSION};
use crate::control::commands::ControlHandle;
use crate::deadline_stream::DeadlineStream;

/// The time limit for a request and its answer.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Answers requests until the client closes the connection.
pub(crate) fn serve(stream: UnixStream, handle: &ControlHandle) -> io::Result<()> {
    let mut stream = DeadlineStream::new(stream, TIME_LIMIT);
    loop {
        let (answer, last) = match stream.read_until(b"\n", MAX_REQUEST) {
            Ok(Some(request)) => (answer(&request, handle), false),
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let message = format!("a request is limited to {MAX_REQUEST} bytes");
                (refusal("too-long", &message), true)
            }
            Err(error) => return Err(error),
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        stream.write(&line)?;
        if last {
            return Ok(());
        }
        stream.renew(TIME_LIMIT);
    }
}

/// Refuses a client for which there is no room, without waiting for it.
pub(crate) fn refuse_client(stream: &UnixStream) {
    let answer = refusal("busy", "too many clients; try again in a moment");
    let line = format!("{answer}\n");
    // The answer fits the buffer of a client that reads; one that has closed it needs none.
    let _ = SockRef::from(stream).send_with_flags(line.as_bytes(), MSG_DONTWAIT);
}

fn answer(request: &[u8], handle: &ControlHandle) -> Value {
    let request: Value = match serde_json::from_slice(request) {
        Ok(request @ Value::Object(_)) => request,
        Ok(_) => return refusal("malformed", "a request is a JSON object"),
        Err(error) => return refusal("malformed", &format!("a request is JSON: {error}")),
    };
    if request["version"] != VERSION {
        return refusal(
            "unknown-version",
            &format!("this node supports version {VERSION}"),
        );
    }
    if request["request"] != REQUESTS[0] {
        return refusal("unknown-request", "unknown request");
    }
    match handle.count() {
        Ok(stats) => json!({ "version": VERSION, "status": &*stats }),
        Err(unanswered) => refusal("busy", &unanswered.to_string()),
    }
}

fn refusal(reason: &str, message: &str) -> Value {
    json!({
        "version": VERSION,
        "error": {
            "reason": reason,
            "message": message,
            "versions": [VERSION],
            "requests": REQUESTS,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::commands::{self, Command};
    use crate::stats::Stats;
    use std::io::{BufRead, BufReader, Write};
    use std::thread;

    /// The answers to `lines` of a node that counts `counts` times.
    fn answers(lines: &str, counts: usize) -> Vec<Value> {
        let _lock = crate::test_lock::shared();
        let (handle, mut queue) = commands::channel().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let node = thread::spawn(move || {
            let mut served = 0;
            while served < counts {
                if let Some(Command::Count(answer)) = queue.next() {
                    let version = crate::stats::VERSION;
                    let stats = Stats {
                        version,
                        ..Stats::default()
                    };
                    answer.send(stats).unwrap();
                    served += 1;
                }
                thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        far.write_all(lines.as_bytes()).unwrap();
        far.shutdown(std::net::Shutdown::Write).unwrap();
        serve(near, &handle).unwrap();
        node.join().unwrap();
        let lines = BufReader::new(far).lines();
        lines
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn the_status_is_answered_and_errors_list_what_is_supported() {
        let answered = answers(
            "{\"version\":1,\"request\":\"status\"}\n\
             nonsense\n\
             17\n\
             {\"version\":2,\"request\":\"status\"}\n\
             {\"version\":1,\"request\":\"stats\"}\n\
             {\"version\":1,\"request\":\"status\",\"later\":true}\n",
            1,
        );
        assert_eq!(answered.len(), 6);
        for line in [0, 5] {
            let status = &answered[line];
            assert_eq!(status["version"], 1);
            assert_eq!(status["status"]["version"], crate::stats::VERSION);
        }
        let reasons = [
            "malformed",
            "malformed",
            "unknown-version",
            "unknown-request",
        ];
        for (answer, reason) in answered[1..5].iter().zip(reasons) {
            assert_eq!(answer["error"]["reason"], reason, "{answer}");
            assert_eq!(answer["error"]["versions"], json!([1]));
            assert_eq!(answer["error"]["requests"], json!(["status"]));
        }
    }

    #[test]
    fn an_endless_request_is_refused_and_closes_the_connection() {
        let endless = "x".repeat(MAX_REQUEST + 100) + "\n{}\n";
        let answered = answers(&endless, 0);
        assert_eq!(answered.len(), 1);
        assert_eq!(answered[0]["error"]["reason"], "too-long");
    }

    #[test]
    fn a_node_that_has_ended_is_busy() {
        let (handle, queue) = commands::channel().unwrap();
        drop(queue);
        let answer = answer(b"{\"version\":1,\"request\":\"status\"}", &handle);
        assert_eq!(answer["error"]["reason"], "busy");
    }
}
