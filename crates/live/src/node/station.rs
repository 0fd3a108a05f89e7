//! A node as the drive loop sees it.

use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::Time;
use polypath_session::tunnel::{Input, Tunnel};
use serde_json::Value;

use super::events::EventFile;
use super::next_second;
use super::paths::Arrival;
use super::ports::{Occasion, Ports};
use crate::drive::{BUDGET, Station, Token};
use crate::stats::{self, Stats, StatsFile};

/// The TUN device; the paths have their numbers.
pub(super) const TUN: Token = Token(u32::MAX);

/// A tunnel and its descriptors.
pub(super) struct NodeStation {
    tunnel: Tunnel,
    ports: Ports,
    events: Option<EventFile>,
    stats: Option<StatsFile>,
    /// Room for the datagrams that wait.
    arrivals: Vec<Arrival>,
    /// The latest time that the tunnel has seen.
    last: Time,
    /// When files are written next, if there are any.
    report_at: Option<Time>,
}

impl NodeStation {
    pub(super) fn new(
        tunnel: Tunnel,
        ports: Ports,
        events: Option<EventFile>,
        stats: Option<StatsFile>,
    ) -> Self {
        let reports = events.is_some() || stats.is_some();
        Self {
            tunnel,
            ports,
            events,
            stats,
            arrivals: Vec::new(),
            last: Time::ZERO,
            report_at: reports.then_some(Time::ZERO),
        }
    }

    pub(super) fn tun_name(&self) -> &str {
        self.ports.tun.name()
    }

    /// Writes the files for the last time.
    pub(super) fn finish(&mut self, now: Time, drive: Value) -> io::Result<Stats> {
        let stats = Stats {
            drive: Some(drive),
            ..self.count(now)
        };
        self.write(&stats)?;
        Ok(stats)
    }

    fn count(&self, now: Time) -> Stats {
        Stats {
            version: stats::VERSION,
            at: now,
            established: self.tunnel.is_established(),
            tun: self.ports.tun_stats,
            paths: self.ports.paths.stats(),
            peer_paths: self.tunnel.peer_paths(),
            session: stats::session(self.tunnel.counters()),
            drive: None,
        }
    }

    fn write(&mut self, stats: &Stats) -> io::Result<()> {
        if let Some(file) = &self.stats {
            file.write(stats)?;
        }
        self.events.as_mut().map_or(Ok(()), EventFile::flush)
    }

    /// Takes the datagrams that wait and does what fell due before each, as if it had been done in time.
    ///
    /// A node that slept too long must not judge paths by the order in which it reads its sockets, nor
    /// by a deadline that passed while what would have met it was waiting here.
    fn catch_up(&mut self) -> io::Result<usize> {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        self.ports.paths.read(BUDGET, &mut arrivals)?;
        let taken = arrivals.len();
        for arrival in arrivals.drain(..) {
            self.do_due(arrival.at)?;
            self.wake(arrival.at, Some(arrival.source), Wake::Input(arrival.input))?;
        }
        self.arrivals = arrivals;
        Ok(taken)
    }

    /// Wakes the tunnel at each of its deadlines up to `until`.
    fn do_due(&mut self, until: Time) -> io::Result<()> {
        while let Some(due) = self.tunnel.deadline().filter(|due| due.at <= until) {
            self.wake(due.at, None, Wake::Timeout)?;
            let moved = self.tunnel.deadline().is_none_or(|next| next.at > due.at);
            if !moved {
                // The drive loop counts it and slows down.
                break;
            }
        }
        Ok(())
    }

    /// Wakes the tunnel at `at`, or at the latest time that it has seen: time never runs back for a
    /// machine.
    fn wake(&mut self, at: Time, source: Option<SocketAddr>, wake: Wake<Input>) -> io::Result<()> {
        self.last = self.last.max(at);
        let at = self.last;
        let (ports, events) = (&mut self.ports, &mut self.events);
        let mut result = Ok(());
        step(&mut self.tunnel, at, wake, &mut |said| {
            if result.is_ok() {
                result = ports.take(Occasion { at, source }, said, events.as_mut());
            }
        });
        result
    }

    /// Takes packets of applications, at most `budget`, and says how many.
    fn take_packets(&mut self, now: Time, budget: usize) -> io::Result<usize> {
        for taken in 0..budget {
            let Some(packet) = self.ports.read_packet()? else {
                return Ok(taken);
            };
            self.wake(now, None, Wake::Input(Input::Packet(packet)))?;
        }
        Ok(budget)
    }
}

impl Station for NodeStation {
    fn deadline(&self) -> Option<Deadline> {
        let report = self.report_at.map(|at| Deadline {
            at,
            why: "statistics",
        });
        Deadline::earlier(self.tunnel.deadline(), report)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        self.catch_up()?;
        self.do_due(now)?;
        if self.report_at.is_some_and(|at| at <= now) {
            self.report_at = Some(next_second(now));
            let stats = self.count(now);
            self.write(&stats)?;
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        let datagrams = self.catch_up()?;
        self.do_due(now)?;
        if token != TUN {
            return Ok(datagrams);
        }
        Ok(datagrams + self.take_packets(now, budget)?)
    }
}
