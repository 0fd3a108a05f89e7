//! Clients of the control socket that send arbitrary lines in arbitrary pieces.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_live::control::fuzzing::Servers;
use polypath_live::control::{MAX_REQUEST, VERSION};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// The most lines of a client: their answers fit into the buffer of a socket.
const MAX_LINES: usize = 24;
const STATUS: &[u8] = b"{\"version\":1,\"request\":\"status\"}\n";
/// The bytes of a script that stand for a request for the status, and for a refused reload.
const REQUEST: u8 = 255;
const REFUSAL: u8 = 254;

/// The servers of all inputs, and the number of refused reloads.
static SERVERS: OnceLock<Servers> = OnceLock::new();
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// A client sends pieces of lines, while reloads are refused. Each line gets one answer, which
/// states what is wrong with it, or the counters of the node.
pub fn check(bytes: &[u8]) {
    let servers = SERVERS.get_or_init(|| Servers::start().expect("a socket pair and a thread"));
    let (near, mut far) = connection();
    let sent = send(bytes, servers, &far);
    far.shutdown(std::net::Shutdown::Write).expect("it is open");
    servers.serve_control(near).expect("the client is fast");
    let expected = expected(&sent);
    let mut answer = vec![0; 1 << 20];
    for expected in expected {
        let len = far.read(&mut answer).expect("an answer");
        let line = answer[..len].strip_suffix(b"\n").expect("a whole line");
        check_answer(&serde_json::from_slice(line).expect("JSON"), expected);
    }
    assert_eq!(far.read(&mut answer).ok(), Some(0), "no further answer");
}

/// A stream each of whose writes is read as one piece.
fn connection() -> (UnixStream, UnixStream) {
    let pair = Socket::pair(Domain::UNIX, Type::SEQPACKET, None);
    let (near, far) = pair.expect("there are descriptors");
    (OwnedFd::from(near).into(), OwnedFd::from(far).into())
}

/// Performs the script, and returns what was sent.
fn send(mut script: &[u8], servers: &Servers, far: &UnixStream) -> Vec<u8> {
    let mut sent = Vec::new();
    while let Some((&action, rest)) = script.split_first() {
        script = rest;
        let piece = match action {
            REFUSAL => {
                REFUSED.fetch_add(1, Ordering::SeqCst);
                servers.refuse_reload(format!("{rest:?}"));
                continue;
            }
            REQUEST => STATUS,
            len => {
                let (piece, rest) = script.split_at(usize::from(len).min(script.len()));
                script = rest;
                piece
            }
        };
        let lines = [&sent[..], piece]
            .concat()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        if lines > MAX_LINES {
            break;
        }
        if !piece.is_empty() && socket2::SockRef::from(far).send(piece).is_err() {
            break;
        }
        sent.extend_from_slice(piece);
    }
    sent
}

/// The reasons of the answers to what was sent; `None` for the counters.
fn expected(sent: &[u8]) -> Vec<Option<&'static str>> {
    let mut reasons = Vec::new();
    let mut lines = sent.split_inclusive(|byte| *byte == b'\n');
    for line in &mut lines {
        let request = line.strip_suffix(b"\n");
        if line.len() > MAX_REQUEST + 1 {
            reasons.push(Some("too-long"));
            break;
        }
        if let Some(request) = request {
            reasons.push(reason(request));
        }
    }
    reasons
}

fn reason(request: &[u8]) -> Option<&'static str> {
    match serde_json::from_slice::<Value>(request) {
        Ok(request @ Value::Object(_)) if request["version"] != VERSION => Some("unknown-version"),
        Ok(request @ Value::Object(_)) if request["request"] != "status" => Some("unknown-request"),
        Ok(Value::Object(_)) => None,
        _ => Some("malformed"),
    }
}

fn check_answer(answer: &Value, expected: Option<&str>) {
    assert_eq!(answer["version"], VERSION);
    let reason = answer["error"]["reason"].as_str();
    // A slow thread of the node counts as a busy node.
    if expected.is_some() || reason.is_some_and(|reason| reason != "busy") {
        assert_eq!(reason, expected, "{answer}");
    }
    if reason.is_none() {
        let refused = answer["status"]["reloads"]["refused"].as_u64();
        assert!(
            refused.is_some_and(|refused| refused <= REFUSED.load(Ordering::SeqCst)),
            "{answer}"
        );
    }
}
