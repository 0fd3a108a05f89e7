//! The source and the sink of a media stream: datagrams at a constant rate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::priority;
use polypath_scenario::Media;
use polypath_sim::Delivery;

use super::PRIORITY;
use super::ends::{Entrance, Exit};
use crate::flow::{is_timeout, pause};

/// The bytes of a transport-stream packet (ISO/IEC 13818-1), of which programs for live media expect
/// a payload to consist, and its first four: the null packet.
const TS_PACKET: usize = 188;
const TS_NULL: [u8; 4] = [0x47, 0x1f, 0xff, 0x10];
/// The bytes of the number in a payload, behind the header of its first transport-stream packet.
const NUMBER: std::ops::Range<usize> = TS_NULL.len()..TS_NULL.len() + size_of::<u64>();

/// The interval at which the source sends what waits, after its last packet.
const FLUSH_INTERVAL: Duration = Duration::from_millis(2);

/// The times and the length of a stream's packets.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    media: Media,
    start: Time,
}

impl Schedule {
    pub(super) fn new(media: &Media, start: Time) -> Self {
        let media = media.clone();
        Self { media, start }
    }

    /// The times of all packets.
    fn times(&self) -> impl Iterator<Item = Time> {
        let all = 0..self.media.packets();
        all.map(|number| self.start + self.media.offset(number))
    }

    /// The length of the payloads in bytes: that of the file, or more if it has no room for a
    /// number.
    pub(super) fn payload_len(&self) -> usize {
        let len = usize::try_from(self.media.packet.0).unwrap_or(0);
        len.max(NUMBER.end)
    }

    /// The payload of packet `number`.
    fn payload(&self, number: u64) -> Vec<u8> {
        let mut payload = vec![0xff; self.payload_len()];
        for packet in payload.chunks_mut(TS_PACKET) {
            let header = packet.len().min(TS_NULL.len());
            packet[..header].copy_from_slice(&TS_NULL[..header]);
        }
        payload[NUMBER].copy_from_slice(&number.to_be_bytes());
        payload
    }
}

/// A running stream, on two threads, which end when this is dropped.
pub(super) struct Stream {
    over: SetOnDrop,
    source: JoinHandle<io::Result<Vec<Time>>>,
    sink: JoinHandle<io::Result<Vec<Arrival>>>,
}

/// The packets that a sink expects: their number, and the length of their payloads in bytes.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    packets: u64,
    len: usize,
}

/// A flag that is set at the end of its life.
struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The first arrival of a packet.
struct Arrival {
    number: u64,
    at: Time,
}

impl Stream {
    /// Starts to send from one end to the other; the stream begins at its own time.
    pub(super) fn start(schedule: Schedule, clock: Clock, from: Entrance, to: Exit) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let wanted = Wanted {
            packets: schedule.media.packets(),
            len: schedule.payload_len(),
        };
        let sink = thread::spawn(move || receive(to, clock, wanted, &is_over));
        let is_over = over.clone();
        let source = thread::spawn(move || send(from, clock, &schedule, &is_over));
        let over = SetOnDrop(over);
        Self { over, source, sink }
    }

    /// Ends it, and returns the deliveries in the order of their arrival.
    ///
    /// # Errors
    /// If a socket failed.
    pub(super) fn finish(self) -> io::Result<Vec<Delivery>> {
        drop(self.over);
        let sent = join(self.source)?;
        let arrivals = join(self.sink)?;
        let delivery = |Arrival { number, at }: Arrival| {
            let sent = *sent.get(usize::try_from(number).ok()?)?;
            let delay = at.since(sent);
            Some(Delivery { number, at, delay })
        };
        Ok(arrivals.into_iter().filter_map(delivery).collect())
    }
}

fn join<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Sends the packets at their times; returns these times.
fn send(
    mut entrance: Entrance,
    clock: Clock,
    schedule: &Schedule,
    is_over: &AtomicBool,
) -> io::Result<Vec<Time>> {
    // Without a priority the load of the machine delays the stream.
    let _ = priority::realtime(PRIORITY);
    let mut sent = Vec::new();
    for (number, at) in (0..).zip(schedule.times()) {
        let payload = schedule.payload(number);
        pause(at.since(clock.now()));
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        // As in the simulator, a late source does not shorten the delay.
        sent.push(at);
        entrance.send(&payload)?;
    }
    while !is_over.load(Ordering::Relaxed) {
        entrance.flush()?;
        pause(FLUSH_INTERVAL);
    }
    Ok(sent)
}

/// Receives the packets; the first copy of each counts.
fn receive(
    mut exit: Exit,
    clock: Clock,
    wanted: Wanted,
    is_over: &AtomicBool,
) -> io::Result<Vec<Arrival>> {
    let _ = priority::realtime(PRIORITY);
    let mut buffer = vec![0; 1 << 16];
    let mut has_arrived = vec![false; usize::try_from(wanted.packets).unwrap_or(0)];
    let mut arrivals = Vec::new();
    loop {
        let len = match exit.receive(&mut buffer) {
            Ok(len) => len,
            // The source may have closed its end.
            Err(_) if is_over.load(Ordering::Relaxed) => return Ok(arrivals),
            Err(e) if is_timeout(&e) => continue,
            Err(e) => return Err(e),
        };
        let at = clock.now();
        // One that was cut off did not arrive.
        if len == wanted.len
            && let Some(number) = number_in(&buffer[..len])
            && let Some(known) = usize::try_from(number)
                .ok()
                .and_then(|index| has_arrived.get_mut(index))
            && !std::mem::replace(known, true)
        {
            arrivals.push(Arrival { number, at });
        }
    }
}

/// The number in a payload, if it is one of a stream.
fn number_in(payload: &[u8]) -> Option<u64> {
    let number = payload.get(NUMBER)?;
    let is_stream = payload.starts_with(&TS_NULL);
    is_stream.then(|| {
        number
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    use polypath_scenario::MediaScenario;

    const SCENARIO: &str = r#"
schema = 1
name = "loopback"
media = { rate = "1 Mbit/s", packet = "1316 B", duration = "200 ms", policies = [{ kind = "in-time" }] }
[[path]]
name = "path1"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "100 packets" }]
"#;

    fn media() -> Media {
        let scenario = MediaScenario::parse(SCENARIO, "loopback.toml", &[]);
        scenario.unwrap().media
    }

    #[test]
    fn payloads_are_null_packets_of_a_transport_stream_with_their_number() {
        let payload = Schedule::new(&media(), Time::ZERO).payload(0x0102);
        assert_eq!(payload.len(), 1316);
        let packets = payload.chunks(TS_PACKET);
        assert!(
            packets
                .map(|packet| &packet[..4])
                .all(|start| start == TS_NULL)
        );
        assert_eq!(number_in(&payload), Some(0x0102));
        assert_eq!(number_in(&payload[..11]), None);
        assert_eq!(number_in(&[0; 20]), None);
    }

    #[test]
    fn the_first_copy_of_each_packet_is_delivered() {
        let [from, to] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        let timeout = std::time::Duration::from_millis(10);
        to.set_read_timeout(Some(timeout)).unwrap();
        let clock = Clock::starting_now();
        let schedule = Schedule::new(&media(), clock.now());
        let cut = schedule.payload(3)[..188].to_vec();
        for other in [schedule.payload(2), schedule.payload(19), cut, vec![7; 40]] {
            from.send(&other).unwrap();
        }
        let packets = media().packets();
        assert_eq!(packets, 19);
        let stream = Stream::start(
            schedule,
            clock,
            Entrance::Datagrams(from),
            Exit::Datagrams(to),
        );
        pause(Duration::from_millis(300));
        let deliveries = stream.finish().unwrap();
        let numbers: Vec<u64> = deliveries.iter().map(|of| of.number).collect();
        let rest = (0..packets).filter(|number| *number != 2);
        let expected: Vec<u64> = [2].into_iter().chain(rest).collect();
        assert_eq!(numbers, expected);
    }
}
