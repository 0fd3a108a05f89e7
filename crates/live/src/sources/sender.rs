//! The sources of a program, on one thread.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::multihomed::{
    MultihomedDatagram, MultihomedFrame, MultihomedOutput, MultihomedSource,
};
use polypath_core::packet::TrafficClass;
use polypath_core::policy::Feedback;
use polypath_core::time::{Duration, Time};
use polypath_core::window::{SlidingWindow, Verdict};

use super::{MAX_DATAGRAM, SourceChange, SourcePath, SourcesError, SourcesReport, open, payload};
use crate::clock::Clock;
use crate::drive::{Driver, EventHandler, StopHandle, Token};
use crate::udp::{PathSocket, Received};

/// The datagrams of a source among which duplicate ACKs are detected; an ACK of an older one counts as
/// a duplicate. More than all that are sent in a second.
const WINDOW: u32 = 2048;

/// The sources of a program.
#[derive(Clone, Debug)]
pub struct SourcesConfig {
    /// The sources.
    pub sources: Vec<MultihomedSource>,
    /// Their paths.
    pub paths: Vec<SourcePath>,
    /// The size of a datagram on the wire in bytes.
    pub packet: u32,
    /// The size of a heartbeat on the wire in bytes.
    pub heartbeat: u32,
    /// The number of this run: answers to another one are ignored.
    pub session: u16,
    /// The time from which datagrams and switches are counted.
    pub measured_from: Time,
    /// The time until which datagrams are sent whose ACKs are due before the end.
    pub due_until: Time,
    /// Whether the responder reads the same clock, so that one-way delays are exact.
    pub has_one_clock: bool,
}

/// Sources whose sockets are open.
#[derive(Debug)]
pub struct Sources<F> {
    handler: SourcesEventHandler<F>,
    driver: Driver,
}

#[derive(Debug)]
struct SourcesEventHandler<F> {
    sources: Vec<LiveSource>,
    /// The deadlines of the sources with their numbers.
    deadlines: BTreeSet<(Time, u32)>,
    /// The sources whose deadlines are due, while they are woken.
    due: Vec<u32>,
    sockets: SourceSockets,
    clock: Clock,
    buffer: Vec<u8>,
    measurement: Measurement,
    on_change: F,
    /// Nothing more is sent, and answers are only counted.
    has_ended: bool,
}

/// A source, its deadline in the set of all, and the numbers of its acknowledged datagrams.
#[derive(Debug)]
struct LiveSource {
    source: MultihomedSource,
    deadline: Option<Time>,
    acknowledged: SlidingWindow,
}

/// The sockets of the paths.
#[derive(Debug)]
struct SourceSockets {
    paths: Vec<SourceSocket>,
    session: u16,
    /// Zeros, as padding.
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct SourceSocket {
    socket: PathSocket,
    remote: SocketAddr,
    /// The lengths of a datagram and of a heartbeat without the headers of IP and UDP, in bytes.
    packet: usize,
    heartbeat: usize,
}

/// The measurement of all sources.
#[derive(Debug)]
struct Measurement {
    from: Time,
    due_until: Time,
    has_one_clock: bool,
    /// The lowest one-way delay of each path so far, in microseconds modulo 2^32, where the clocks
    /// differ.
    least: Vec<Option<u32>>,
    report: SourcesReport,
}

impl<F: FnMut(SourceChange)> Sources<F> {
    /// Opens the sockets of the paths in the network namespace of the calling thread; `on_change`
    /// receives each change of path.
    ///
    /// # Errors
    /// If a socket cannot be opened, or a size is smaller than the headers.
    pub fn open(config: SourcesConfig, clock: Clock, on_change: F) -> Result<Self, SourcesError> {
        let driver = Driver::new(clock)?;
        let mut paths = Vec::new();
        for (index, path) in (0..).zip(&config.paths) {
            let socket = open(&path.name, path.local)?;
            driver.watch(&socket, Token(index))?;
            paths.push(SourceSocket {
                packet: payload(&socket, "datagram", config.packet)?,
                heartbeat: payload(&socket, "heartbeat", config.heartbeat)?,
                remote: path.remote,
                socket,
            });
        }
        let report = SourcesReport {
            sent_on: vec![0; paths.len()],
            acknowledged_on: vec![0; paths.len()],
            ..SourcesReport::default()
        };
        let most = config.sources.iter().map(MultihomedSource::paths).max();
        if most.is_some_and(|most| most as usize > paths.len()) {
            return Err(SourcesError::Paths(paths.len()));
        }
        let mut handler = SourcesEventHandler {
            sources: Vec::new(),
            deadlines: BTreeSet::new(),
            due: Vec::new(),
            measurement: Measurement {
                from: config.measured_from,
                due_until: config.due_until,
                has_one_clock: config.has_one_clock,
                least: vec![None; paths.len()],
                report,
            },
            sockets: SourceSockets {
                paths,
                session: config.session,
                buffer: vec![0; MAX_DATAGRAM],
            },
            clock,
            buffer: vec![0; MAX_DATAGRAM],
            on_change,
            has_ended: false,
        };
        for (number, source) in (0..).zip(config.sources) {
            let deadline = source.deadline().map(|deadline| deadline.at);
            handler.deadlines.extend(deadline.map(|at| (at, number)));
            handler.sources.push(LiveSource {
                source,
                deadline,
                acknowledged: SlidingWindow::new(WINDOW),
            });
        }
        Ok(Self { handler, driver })
    }

    /// A handle that ends the sending from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Sends and measures until `end` or until it is stopped, and returns the results.
    ///
    /// # Errors
    /// If the drive loop fails.
    pub fn run_until(&mut self, end: Time) -> Result<SourcesReport, SourcesError> {
        let drive = self.driver.run_until(&mut self.handler, end)?;
        Ok(SourcesReport {
            lateness: drive.lateness,
            ended: self.driver.clock().now().min(end),
            ..self.handler.measurement.report.clone()
        })
    }

    /// Sends until `end` or until it is stopped. Answers may then arrive for the time `answers`, or until
    /// it is stopped again.
    ///
    /// # Errors
    /// If the drive loop fails.
    pub fn run_and_wait(
        &mut self,
        end: Time,
        answers: Duration,
    ) -> Result<SourcesReport, SourcesError> {
        let SourcesReport {
            lateness, ended, ..
        } = self.run_until(end)?;
        self.handler.has_ended = true;
        self.handler.deadlines.clear();
        let report = self.run_until(self.driver.clock().now() + answers)?;
        Ok(SourcesReport {
            lateness,
            ended,
            ..report
        })
    }
}

impl<F: FnMut(SourceChange)> SourcesEventHandler<F> {
    fn wake(&mut self, number: u32, now: Time, wake: Wake<Feedback>) {
        let live = &mut self.sources[number as usize];
        let (sockets, measurement) = (&mut self.sockets, &mut self.measurement);
        let on_change = &mut self.on_change;
        let next = step(&mut live.source, now, wake, &mut |output| match output {
            MultihomedOutput::Send(frame) => {
                measurement.count(now, frame);
                let sent = sockets.send(number, frame);
                measurement.report.refused += u64::from(sent.is_err());
            }
            MultihomedOutput::Path { from, to } => {
                let is_counted = from.is_some() && now >= measurement.from;
                measurement.report.switches += u64::from(is_counted);
                on_change(SourceChange {
                    at: now,
                    source: number,
                    from,
                    to,
                });
            }
        });
        let next = next.map(|deadline| deadline.at);
        if next != live.deadline {
            let before = std::mem::replace(&mut live.deadline, next);
            if let Some(at) = before {
                self.deadlines.remove(&(at, number));
            }
            self.deadlines.extend(next.map(|at| (at, number)));
        }
    }

    fn receive(&mut self, path: usize, now: Time, received: Received) {
        let datagram = MultihomedDatagram::decode(&self.buffer[..received.len]);
        let answer = datagram.ok().and_then(|datagram| {
            let is_ours = datagram.session == self.sockets.session
                && (datagram.source as usize) < self.sources.len()
                && datagram.frame.path().index() == path
                && received.from == self.sockets.paths[path].remote;
            let feedback = datagram.frame.feedback(received.at)?;
            is_ours.then_some((datagram, feedback))
        });
        let Some((datagram, feedback)) = answer else {
            self.measurement.report.rejected += 1;
            return;
        };
        if let MultihomedFrame::Ack { number, .. } = datagram.frame {
            let source = &mut self.sources[datagram.source as usize];
            if source.acknowledged.accept(number.into()) != Verdict::Fresh {
                self.measurement.report.duplicates += 1;
                return;
            }
        }
        self.measurement.record(datagram.frame, received.at);
        if !self.has_ended {
            self.wake(datagram.source, now, Wake::Input(feedback));
        }
    }
}

impl SourceSockets {
    fn send(&mut self, source: u32, frame: MultihomedFrame) -> io::Result<()> {
        let path = &self.paths[frame.path().index()];
        let header = MultihomedDatagram {
            session: self.session,
            source,
            frame,
        };
        let header = header.encode();
        let len = match frame {
            MultihomedFrame::Data { .. } => path.packet,
            _ => path.heartbeat,
        };
        self.buffer[..header.len()].copy_from_slice(&header);
        let datagram = &self.buffer[..len];
        path.socket
            .send(datagram, TrafficClass::DEFAULT, path.remote)
    }
}

impl Measurement {
    /// Counts a frame that is sent.
    fn count(&mut self, now: Time, frame: MultihomedFrame) {
        if now < self.from {
            return;
        }
        match frame {
            MultihomedFrame::Data { path, .. } => {
                self.report.sent += 1;
                self.report.due += u64::from(now < self.due_until);
                self.report.sent_on[path.index()] += 1;
            }
            _ => self.report.heartbeats += 1,
        }
    }

    /// Records the times of an acknowledged datagram that arrived in the measured time.
    fn record(&mut self, answer: MultihomedFrame, at: Time) {
        let MultihomedFrame::Ack {
            path,
            sent,
            delay_micros,
            ..
        } = answer
        else {
            return;
        };
        let round_trip = at.since(sent);
        let delay = if self.has_one_clock {
            // A step of the wall clock, of which the kernel's receive times are, may make it negative.
            Duration::from_micros(delay_micros.cast_signed().max(0).cast_unsigned().into())
        } else {
            let least = &mut self.least[path.index()];
            let above = least.map_or(0, |least| delay_micros.wrapping_sub(least).cast_signed());
            if least.is_none() || above < 0 {
                *least = Some(delay_micros);
            }
            Duration::from_micros(above.max(0).cast_unsigned().into())
        };
        self.report.acknowledged_on[path.index()] += u64::from(sent >= self.from);
        let is_due = (self.from..self.due_until).contains(&sent);
        self.report.due_acknowledged += u64::from(is_due);
        if at >= self.from {
            self.report.round_trips.record(round_trip);
            self.report.delays.record(delay);
        }
    }
}

impl<F: FnMut(SourceChange)> EventHandler for SourcesEventHandler<F> {
    fn deadline(&self) -> Option<Deadline> {
        self.deadlines.first().map(|(at, _)| Deadline {
            at: *at,
            why: "source",
        })
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        // Each at most once: the drive loop counts deadlines that do not advance.
        let mut due = std::mem::take(&mut self.due);
        let all = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        due.extend(all.map(|(_, number)| *number));
        for number in due.drain(..) {
            self.wake(number, now, Wake::Timeout);
        }
        self.due = due;
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        let path = token.0 as usize;
        for count in 0..budget {
            let socket = &mut self.sockets.paths[path].socket;
            let Some(received) = socket.receive(&mut self.buffer, self.clock)? else {
                return Ok(count);
            };
            self.receive(path, now, received);
        }
        Ok(budget)
    }
}
