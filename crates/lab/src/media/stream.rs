//! The source and the sink of a media stream: datagrams at a constant rate, or in bursts.

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

/// The interval at which a source that waits checks whether the stream is over.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
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

/// A running stream, on two threads, which are ended and joined when this is dropped.
pub(super) struct Stream {
    is_over: Arc<AtomicBool>,
    source: StreamThread<Sent>,
    sink: StreamThread<Vec<Arrival>>,
}

/// A thread of a stream, until it is joined.
struct StreamThread<T>(Option<JoinHandle<io::Result<T>>>);

/// The packets that a source has sent.
#[derive(Default)]
struct Sent {
    /// The scheduled times of the packets.
    times: Vec<Time>,
    /// The longest lateness of a packet.
    latest: Duration,
}

/// The result of a stream.
pub(super) struct FinishedStream {
    /// The deliveries in the order of their arrival.
    pub(super) deliveries: Vec<Delivery>,
    /// The longest lateness of the source, which has the priority of the nodes: a machine that
    /// cannot run it cannot run them either.
    pub(super) latest: Duration,
}

/// The packets that a sink expects: their number, and the length of their payloads in bytes.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    packets: u64,
    len: usize,
}

/// The first arrival of a packet.
struct Arrival {
    number: u64,
    at: Time,
}

impl Stream {
    /// Starts to send from one end to the other; the stream begins at its own time.
    pub(super) fn start(schedule: Schedule, clock: Clock, from: Entrance, to: Exit) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let wanted = Wanted {
            packets: schedule.media.packets(),
            len: schedule.payload_len(),
        };
        let of_sink = is_over.clone();
        let sink = thread::spawn(move || receive(to, clock, wanted, &of_sink));
        let of_source = is_over.clone();
        let source = thread::spawn(move || send(from, clock, &schedule, &of_source));
        Self {
            is_over,
            source: StreamThread(Some(source)),
            sink: StreamThread(Some(sink)),
        }
    }

    /// Fails if one of its ends has failed.
    pub(super) fn check(&mut self) -> io::Result<()> {
        self.source.check()?;
        self.sink.check()
    }

    /// Ends it.
    ///
    /// # Errors
    /// If a socket failed.
    pub(super) fn finish(mut self) -> io::Result<FinishedStream> {
        self.is_over.store(true, Ordering::Relaxed);
        let sent = self.source.join()?;
        let arrivals = self.sink.join()?;
        let delivery = |Arrival { number, at }: Arrival| {
            let sent = *sent.times.get(usize::try_from(number).ok()?)?;
            let delay = at.since(sent);
            Some(Delivery { number, at, delay })
        };
        Ok(FinishedStream {
            deliveries: arrivals.into_iter().filter_map(delivery).collect(),
            latest: sent.latest,
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A stream is dropped unfinished only on the way out with another error.
        let _ = self.source.0.take().map(JoinHandle::join);
        let _ = self.sink.0.take().map(JoinHandle::join);
    }
}

impl<T> StreamThread<T> {
    /// Fails if the thread has ended, which it does only with an error as long as the stream is not
    /// over.
    fn check(&mut self) -> io::Result<()> {
        let is_running = |thread: &JoinHandle<_>| !thread.is_finished();
        if self.0.as_ref().is_some_and(is_running) {
            return Ok(());
        }
        self.join().and(Err(io::ErrorKind::UnexpectedEof.into()))
    }

    /// Waits for its end.
    fn join(&mut self) -> io::Result<T> {
        let thread = self.0.take().ok_or(io::ErrorKind::BrokenPipe)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Sends the packets at their times.
fn send(
    mut entrance: Entrance,
    clock: Clock,
    schedule: &Schedule,
    is_over: &AtomicBool,
) -> io::Result<Sent> {
    // Without a priority the load of the machine delays the stream.
    let _ = priority::realtime(PRIORITY);
    let mut sent = Sent::default();
    for (number, at) in (0..).zip(schedule.times()) {
        let payload = schedule.payload(number);
        if !is_due(at, clock, is_over) {
            break;
        }
        // As in the simulator, a late source does not shorten the delay.
        sent.times.push(at);
        sent.latest = sent.latest.max(clock.now().since(at));
        entrance.send(&payload)?;
    }
    while !is_over.load(Ordering::Relaxed) {
        entrance.flush()?;
        pause(FLUSH_INTERVAL);
    }
    Ok(sent)
}

/// Waits until `at`; returns false as soon as the stream is over.
fn is_due(at: Time, clock: Clock, is_over: &AtomicBool) -> bool {
    loop {
        let left = at.since(clock.now());
        if is_over.load(Ordering::Relaxed) || left == Duration::ZERO {
            return !is_over.load(Ordering::Relaxed);
        }
        pause(left.min(CHECK_INTERVAL));
    }
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
        let FinishedStream { deliveries, latest } = stream.finish().unwrap();
        assert!(latest > Duration::ZERO && latest < Duration::from_secs(1));
        let numbers: Vec<u64> = deliveries.iter().map(|of| of.number).collect();
        let rest = (0..packets).filter(|number| *number != 2);
        let expected: Vec<u64> = [2].into_iter().chain(rest).collect();
        assert_eq!(numbers, expected);
    }
}
