//! A node as the drive loop sees it.

use std::io;

use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::Time;
use polypath_session::tunnel::{Input, Tunnel};
use serde_json::Value;

use super::events::EventFile;
use super::next_second;
use super::ports::Ports;
use crate::drive::{Station, Token};
use crate::stats::{self, Stats, StatsFile};

/// The TUN device; the paths have their numbers.
pub(super) const TUN: Token = Token(u32::MAX);

/// A tunnel and its descriptors.
pub(super) struct NodeStation {
    tunnel: Tunnel,
    ports: Ports,
    events: Option<EventFile>,
    stats: Option<StatsFile>,
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
            paths: self.ports.paths.iter().map(|p| p.stats.clone()).collect(),
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

    /// Wakes the tunnel, at `at` or at the latest time that it has seen.
    ///
    /// A datagram may have come before the deadline or the packet that was handled last: time never runs
    /// back for a machine.
    fn wake(&mut self, at: Time, wake: Wake<Input>) -> io::Result<()> {
        self.last = self.last.max(at);
        let (now, ports, events) = (self.last, &mut self.ports, &mut self.events);
        let mut result = Ok(());
        step(&mut self.tunnel, now, wake, &mut |said| {
            if result.is_ok() {
                result = ports.take(now, said, events.as_mut());
            }
        });
        result
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
        if self.tunnel.deadline().is_some_and(|due| due.at <= now) {
            self.wake(now, Wake::Timeout)?;
        }
        if self.report_at.is_some_and(|at| at <= now) {
            self.report_at = Some(next_second(now));
            let stats = self.count(now);
            self.write(&stats)?;
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        for taken in 0..budget {
            let (at, input) = if token == TUN {
                match self.ports.read_packet()? {
                    Some(packet) => (now, Input::Packet(packet)),
                    None => return Ok(taken),
                }
            } else {
                let path = u8::try_from(token.0).unwrap_or(u8::MAX);
                match self.ports.read_datagram(PathId(path))? {
                    Some(read) => read,
                    None => return Ok(taken),
                }
            };
            self.wake(at, Wake::Input(input))?;
        }
        Ok(budget)
    }
}
