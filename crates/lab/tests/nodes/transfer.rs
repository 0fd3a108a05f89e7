//! A TCP transfer over the overlay, from the first namespace to the second.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::testbed::Testbed;

/// The read timeout, longer than any transfer here.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// Transfers `len` bytes from `address` in the first namespace to the second and compares them;
/// calls `progress` with the number of bytes received.
pub(crate) fn run(testbed: &Testbed, address: &str, len: usize, progress: impl Fn(usize)) {
    // The period divides no buffer size, so that a missing or repeated part is detected.
    let sent: Vec<u8> = (0..=250).cycle().take(len).collect();
    let listener = testbed.a.run(|| TcpListener::bind(address)).unwrap();
    let bytes = sent.clone();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&bytes).unwrap();
    });
    let mut stream = testbed.b.run(|| TcpStream::connect(address)).unwrap();
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let mut received = Vec::with_capacity(len);
    let mut buffer = vec![0; 65_536];
    loop {
        let n = stream.read(&mut buffer).unwrap();
        if n == 0 {
            break;
        }
        received.extend_from_slice(&buffer[..n]);
        progress(received.len());
    }
    server.join().unwrap();
    assert!(
        received == sent,
        "{} of {len} bytes, or different content",
        received.len()
    );
}
