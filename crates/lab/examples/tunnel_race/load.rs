//! The load of a tunnel: one TCP connection, or as many small packets as one sender can offer.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use polypath_live::clock::Clock;

use crate::Endpoints;

const TCP: &str = "10.77.0.1:5000";
const UDP: &str = "10.77.0.2:5001";
/// The UDP payload of an IPv4 packet of 64 bytes.
const SMALL_PAYLOAD: usize = 36;
/// The time before the measurement, for slow start and wake-ups.
const WARM_UP: Duration = Duration::from_millis(500);
/// The timeout of a tunnel that is being set up or carries nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Measures the bits of TCP payload per second from `a` to `b`.
pub(crate) fn tcp(endpoints: &Endpoints, span: Duration) -> io::Result<f64> {
    let listener = endpoints.a.run(|| TcpListener::bind(TCP))?;
    let server = thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let bytes = vec![7; 65_536];
        loop {
            stream.write_all(&bytes)?;
        }
    });
    let address = TCP.parse().map_err(io::Error::other)?;
    let mut stream = endpoints
        .b
        .run(|| TcpStream::connect_timeout(&address, TIMEOUT))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut buffer = vec![0; 1 << 20];
    let mut read = |span: Duration| -> io::Result<f64> {
        let (clock, mut bytes) = (Clock::starting_now(), 0);
        while clock.now().as_secs_f64() < span.as_secs_f64() {
            bytes += match stream.read(&mut buffer) {
                // The server never closes the connection first.
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let message = format!("nothing arrived through the tunnel for {TIMEOUT:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                read => read?,
            };
        }
        Ok(bytes as f64 * 8.0 / clock.now().as_secs_f64())
    };
    read(WARM_UP)?;
    let rate = read(span)?;
    // The server ends with its connection.
    drop(stream);
    let _ = server.join();
    Ok(rate)
}

/// Measures the packets of 64 bytes per second that arrive at `b`.
pub(crate) fn packets(endpoints: &Endpoints, span: Duration) -> io::Result<f64> {
    let receiver = endpoints.b.run(|| UdpSocket::bind(UDP))?;
    receiver.set_read_timeout(Some(Duration::from_millis(200)))?;
    let sender = endpoints.a.run(|| UdpSocket::bind("10.77.0.1:0"))?;
    sender.connect(UDP)?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // The queue is meant to be full.
                let _ = sender.send(&[0; SMALL_PAYLOAD]);
            }
        });
        let count = |span: Duration| {
            let (clock, mut count, mut buffer) = (Clock::starting_now(), 0_u64, [0; 64]);
            while clock.now().as_secs_f64() < span.as_secs_f64() {
                count += u64::from(
                    receiver
                        .recv(&mut buffer)
                        .is_ok_and(|len| len == SMALL_PAYLOAD),
                );
            }
            count as f64 / clock.now().as_secs_f64()
        };
        count(WARM_UP);
        let rate = count(span);
        stop.store(true, Ordering::Relaxed);
        Ok(rate)
    })
}
