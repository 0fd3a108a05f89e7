//! The messages of a service to its manager (`sd_notify(3)`).

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;

/// The next message. A test process that is stopped and continued is interrupted while it waits
/// (`signal(7)`).
pub(crate) fn next_message(manager: &UnixDatagram) -> String {
    let mut buffer = [0; 512];
    loop {
        match manager.recv(&mut buffer) {
            Ok(len) => return String::from_utf8(buffer[..len].to_vec()).unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}"),
        }
    }
}
