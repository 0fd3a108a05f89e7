//! One run of a group of streams, each over a network of its own.

use std::io;
use std::net::SocketAddr;
use std::thread;

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_report::media::LabConditions;
use polypath_report::streams::{StreamCarrier, StreamOutcome, StreamsRun};
use polypath_sim::Side;
use tokio::sync::watch;

use super::programs::Programs;
use crate::LabError;
use crate::addressing::{STREAM_PORT, path_address};
use crate::connections::{Connections, Sending, Totals};
use crate::emulation::Emulation;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::running::join;

/// The interval at which the emulation is checked.
const POLL: Duration = Duration::from_millis(50);
/// The time for the threads to start.
const LEAD: Duration = Duration::from_millis(200);
/// The interval of all values.
const SECOND: Duration = Duration::from_secs(1);

/// One run of a group of streams.
pub(super) struct GroupRun<'a> {
    run: &'a StreamsRun,
    streams: &'a [StreamCarrier],
    programs: Vec<Programs>,
    clock: Clock,
    // Drop order: connections, then the networks and their namespaces.
    transfers: Vec<Option<Connections>>,
    emulation: Emulation,
    endpoints: Vec<Endpoints>,
}

impl<'a> GroupRun<'a> {
    pub(super) fn start(
        run: &'a StreamsRun,
        streams: &'a [StreamCarrier],
    ) -> Result<Self, LabError> {
        let open = |_| Network::open(&run.scenario, Seed(run.seed));
        let opened = streams.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (networks, endpoints): (Vec<Network>, Vec<Endpoints>) = opened.into_iter().unzip();
        let clock = Clock::starting_now();
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let (mut programs, mut transfers) = (Vec::new(), Vec::new());
        for (stream, endpoints) in streams.iter().zip(&endpoints) {
            let of_stream = |source| LabError::of_carrier(&stream.name, source);
            programs.push(Programs::prepare(run, stream).map_err(of_stream)?);
            transfers.push(connect(run, endpoints).map_err(of_stream)?);
        }
        Ok(Self {
            run,
            streams,
            programs,
            clock,
            transfers,
            emulation,
            endpoints,
        })
    }

    /// Runs to the end, and collects the outcomes.
    pub(super) fn finish(
        mut self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<StreamOutcome>, LabConditions), LabError> {
        let start = self.clock.now() + LEAD;
        let end = start + self.run.duration;
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        let (over, is_over) = watch::channel(false);
        let carriers = self
            .programs
            .iter()
            .zip(&self.endpoints)
            .zip(&self.transfers);
        let carriers = carriers.map(|((programs, endpoints), transfers)| Carrier {
            run: self.run,
            clock: self.clock,
            start,
            programs,
            endpoints,
            transfers: transfers.as_ref(),
        });
        let (carried, watched) = thread::scope(|scope| {
            let running: Vec<_> = carriers
                .map(|carrier| {
                    let is_over = is_over.clone();
                    scope.spawn(move || carrier.carry(&is_over))
                })
                .collect();
            let is_finished = || running.iter().all(thread::ScopedJoinHandle::is_finished);
            let watched = await_end(&mut self.emulation, self.clock, end, interrupt, is_finished);
            // A failed run ends all threads at once.
            let _ = over.send(watched.is_err());
            let carried: Vec<_> = running.into_iter().map(join).collect();
            (carried, watched)
        });
        watched?;
        self.emulation
            .stop_counting()
            .map_err(LabError::Emulation)?;
        let outcomes = self.streams.iter().zip(carried).map(|(stream, carried)| {
            carried.map_err(|source| LabError::of_carrier(&stream.name, source))
        });
        let outcomes = outcomes.collect::<Result<Vec<_>, LabError>>()?;
        drop(self.transfers);
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        Ok((outcomes, emulated.conditions()))
    }
}

/// Waits for the end of a run; fails as soon as a signal asks for it, or the emulation ends.
fn await_end(
    emulation: &mut Emulation,
    clock: Clock,
    end: Time,
    interrupt: &Interrupt,
    is_finished: impl Fn() -> bool,
) -> Result<(), LabError> {
    while clock.now() < end && !is_finished() {
        emulation.check().map_err(LabError::Emulation)?;
        let next = end.min(clock.now() + POLL);
        interrupt.sleep_until(clock, next)?;
    }
    Ok(())
}

/// A stream that runs, with its transfers.
struct Carrier<'a> {
    run: &'a StreamsRun,
    clock: Clock,
    start: Time,
    programs: &'a Programs,
    endpoints: &'a Endpoints,
    transfers: Option<&'a Connections>,
}

impl Carrier<'_> {
    fn carry(&self, is_over: &watch::Receiver<bool>) -> io::Result<StreamOutcome> {
        let (programs, endpoints) = (self.programs, self.endpoints);
        let span = std::time::Duration::from(self.run.duration);
        // The last report is due at the end.
        let span = span + std::time::Duration::from_millis(100);
        let (served, is_served) = watch::channel(false);
        thread::scope(|scope| {
            let (source_host, sink_host) = (endpoints.at(Side::Server), endpoints.at(Side::Client));
            let serving = scope.spawn(move || source_host.run(|| programs.serve(is_served)));
            let stopped = is_over.clone();
            let receiving = scope.spawn(move || sink_host.run(|| programs.receive(span, stopped)));
            let totals = self.transfer(is_over);
            let outcome = join(receiving);
            let _ = served.send(true);
            join(serving)?;
            Ok(StreamOutcome {
                transfers: rates(&totals?),
                ..outcome?
            })
        })
    }

    /// Runs the transfers.
    fn transfer(&self, is_over: &watch::Receiver<bool>) -> io::Result<Vec<Totals>> {
        let Some(connections) = self.transfers else {
            return Ok(Vec::new());
        };
        let times = self.run.transfers.iter().map(|time| Sending {
            from: self.start + time.from,
            until: self.start + time.until,
        });
        let seconds = 0..=self.run.duration.0 / SECOND.0;
        let seconds = seconds.map(|second| self.start + SECOND * second);
        let check = || {
            if *is_over.borrow() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        };
        connections.serve(
            &times.collect::<Vec<_>>(),
            &seconds.collect::<Vec<_>>(),
            self.clock,
            check,
        )
    }
}

/// The rate of all transfers in each second, from the bytes at the ends of the seconds.
fn rates(totals: &[Totals]) -> Vec<f64> {
    let all = |of: &[f64]| of.iter().sum::<f64>();
    let seconds = totals.windows(2);
    seconds
        .map(|pair| (all(&pair[1]) - all(&pair[0])) * 8.0)
        .collect()
}

/// The connections of the transfers, established before the start.
fn connect(run: &StreamsRun, endpoints: &Endpoints) -> io::Result<Option<Connections>> {
    let number = u32::try_from(run.transfers.len()).unwrap_or(u32::MAX);
    if number == 0 {
        return Ok(None);
    }
    let to = SocketAddr::new(path_address(PathId(0), Side::Client).addr(), STREAM_PORT);
    Connections::open(endpoints, to, number, &run.congestion_control).map(Some)
}
