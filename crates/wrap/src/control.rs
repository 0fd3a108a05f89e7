//! The questions to the wrapping program, each over a connection of its own to its Unix socket.
//!
//! A question and an answer are one line each: `connect 192.0.2.1:80` is answered by `plain` or
//! `through 127.0.0.1:40001`, and `listen 0.0.0.0:80` by `ok`.
//!
//! Beside the socket is a file that the first process with the library removes.

use std::cell::Cell;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The environment variable with the path of the socket.
const SOCKET: &str = "POLYPATH_WRAP";
/// The extension of the file that shows that no process has loaded the library.
const NOT_LOADED: &str = "not-loaded";
/// The wrapping program asks the other end, and answers by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// The route of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To its destination.
    Plain,
    /// To this socket of the wrapping program.
    Through(SocketAddr),
}

thread_local! {
    /// Whether this thread is asking: the question itself is no connection of the program.
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// The route of a connection to `destination`; `None` if nobody answers.
pub(crate) fn route(destination: SocketAddr) -> Option<Route> {
    let answer = ask(&format!("connect {destination}\n"))?;
    match answer.strip_prefix("through ") {
        Some(address) => address.parse().ok().map(Route::Through),
        None => Some(Route::Plain),
    }
}

/// Announces an address at which the program listens.
pub(crate) fn announce(address: SocketAddr) {
    // Without an answer the program is not reached over several connections, and goes on.
    let _ = ask(&format!("listen {address}\n"));
}

/// Informs the wrapping program that this process has the library, by one system call that does not
/// wait.
pub(crate) fn announce_loaded() {
    if let Some(socket) = env::var_os(SOCKET) {
        // Another process may have removed it.
        let _ = std::fs::remove_file(Path::new(&socket).with_extension(NOT_LOADED));
    }
}

fn ask(question: &str) -> Option<String> {
    if IS_ASKING.replace(true) {
        return None;
    }
    let answer = exchange(question);
    IS_ASKING.set(false);
    answer
}

fn exchange(question: &str) -> Option<String> {
    let path = env::var_os(SOCKET)?;
    let mut stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    Some(answer.trim_end().to_owned())
}
