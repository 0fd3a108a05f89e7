//! Senders of spaced packets on real sockets, beside the kernel's TCP, through one emulated link: the
//! gateway of the packet-spacing paper (Fig. 6).
//!
//! The senders are those of [`polypath_live::spaced`], whose line rate stands for the Ethernet of each.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::spacing::SenderConfig;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::priority;
use polypath_live::spaced::{
    ArrivedPackets, SentPackets, SpacedReceivers, SpacedSenders, SpacedSendersConfig, StartedSender,
};
use polypath_report::media::LabConditions;
use polypath_report::spaced::{SpacedOutcome, SpacedRun, SpacedSenderOutcome};
use polypath_sim::Side;

use crate::LabError;
use crate::addressing::{STREAM_PORT, path_address};
use crate::connections::{Connections, Sending, Totals};
use crate::emulation::Emulation;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::node_pair::PRIORITY;
use crate::preflight::preflight;
use crate::running::{Running, join};
use crate::tcp;

/// The interval at which the programs are checked.
const POLL: Duration = Duration::from_millis(50);
/// The time for the threads to start.
const LEAD: Duration = Duration::from_millis(200);

/// A lab for spaced packets; signals to stop are caught until it is dropped.
#[derive(Debug)]
pub struct SpacedLab {
    interrupt: Interrupt,
}

impl SpacedLab {
    /// Prepares the lab.
    ///
    /// # Errors
    /// If the lab or the congestion control, by the kernel's name, is not available, with the
    /// remedy.
    pub fn open(congestion_control: &str) -> Result<Self, LabError> {
        preflight()?;
        tcp::preflight(congestion_control)?;
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        Ok(Self { interrupt })
    }

    /// Runs all senders and transfers.
    ///
    /// # Errors
    /// If the scenario makes no network, or a sender, the receiver or a transfer fails; and with
    /// [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(&mut self, run: &SpacedRun) -> Result<(SpacedOutcome, LabConditions), LabError> {
        let (network, endpoints) = Network::open(&run.scenario, Seed(run.seed))?;
        let clock = Clock::starting_now();
        let mut emulation = Emulation::start(vec![network], clock).map_err(LabError::Emulation)?;
        let of_run = |source| LabError::of_carrier(&run.scenario.name, source);
        let transfers = connect(run, &endpoints).map_err(of_run)?;
        let start = clock.now() + LEAD;
        emulation.start_counting().map_err(LabError::Emulation)?;
        let times = Times {
            start,
            measured: start + run.warm_up,
            end: start + run.warm_up + run.measured,
        };
        let programs = Programs::start(run, &endpoints, times, clock).map_err(of_run)?;
        let totals = self.carry(transfers.as_ref(), &mut emulation, &programs, times, clock)?;
        let (sent, arrived) = programs.finish().map_err(of_run)?;
        emulation.stop_counting().map_err(LabError::Emulation)?;
        drop(transfers);
        let emulated = emulation.finish().map_err(LabError::Emulation)?;
        let outcome = SpacedOutcome {
            senders: sender_outcomes(run, start, &sent, &arrived),
            transfers: totals.map_or_else(Vec::new, |totals| goodput(&totals, run.measured)),
        };
        Ok((outcome, emulated.conditions()))
    }

    /// Serves the transfers until the end, and returns their totals at the start and the end of the
    /// measurement.
    fn carry(
        &self,
        transfers: Option<&Connections>,
        emulation: &mut Emulation,
        programs: &Programs,
        times: Times,
        clock: Clock,
    ) -> Result<Option<Vec<Totals>>, LabError> {
        let is_over = AtomicBool::new(false);
        let check = || {
            // The emulation or a program has failed, which is the error of the run.
            if is_over.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        };
        let serve = |connections: &Connections| {
            let _ = priority::realtime(PRIORITY);
            let sending = Sending {
                from: times.start,
                until: Time::MAX,
            };
            let each = vec![sending; connections.len()];
            connections.serve(&each, &[times.measured, times.end], clock, check)
        };
        let (totals, watched) = thread::scope(|scope| {
            let serving = transfers.map(|connections| scope.spawn(|| serve(connections)));
            let watched = self.watch(emulation, programs, times.end, clock);
            is_over.store(watched.is_err(), Ordering::Relaxed);
            (serving.map(join), watched)
        });
        watched?;
        let totals = totals.transpose();
        totals.map_err(|source| LabError::of_carrier("transfers", source))
    }

    /// Waits for the end; fails as soon as the emulation or a program ends before.
    fn watch(
        &self,
        emulation: &mut Emulation,
        programs: &Programs,
        end: Time,
        clock: Clock,
    ) -> Result<(), LabError> {
        while clock.now() < end {
            emulation.check().map_err(LabError::Emulation)?;
            if programs.have_ended(clock, end) {
                return Ok(());
            }
            self.interrupt
                .sleep_until(clock, end.min(clock.now() + POLL))?;
        }
        Ok(())
    }
}

/// The times of a run.
#[derive(Clone, Copy)]
struct Times {
    start: Time,
    measured: Time,
    end: Time,
}

/// The senders and the receiver.
struct Programs {
    senders: Running<(Vec<SentPackets>, Vec<SocketAddr>)>,
    receiver: Running<Vec<ArrivedPackets>>,
}

impl Programs {
    fn start(
        run: &SpacedRun,
        endpoints: &Endpoints,
        times: Times,
        clock: Clock,
    ) -> io::Result<Self> {
        let remote = SocketAddr::new(path_address(PathId(0), Side::Client).addr(), STREAM_PORT);
        let mut receivers = endpoints
            .at(Side::Client)
            .run(|| SpacedReceivers::open(remote, run.reordering, times.measured, clock))?;
        let started = |&(config, after): &(SenderConfig, Duration)| StartedSender {
            config,
            start: times.start + after,
        };
        let config = SpacedSendersConfig {
            senders: run.senders.iter().map(started).collect(),
            local: path_address(PathId(0), Side::Server).addr(),
            remote,
            measured_from: times.measured,
            bin: run.bin,
        };
        let mut senders = endpoints
            .at(Side::Server)
            .run(|| SpacedSenders::open(&config, clock))?;
        let (stop_receivers, stop_senders) = (receivers.stop_handle(), senders.stop_handle());
        Ok(Self {
            receiver: Running::start("receiver", stop_receivers, move || receivers.run())?,
            senders: Running::start("senders", stop_senders, move || {
                let sent = senders.run_until(times.end)?;
                Ok((sent, senders.addresses()?))
            })?,
        })
    }

    /// Whether one has ended before `end`: its error is found when it is joined.
    fn have_ended(&self, clock: Clock, end: Time) -> bool {
        clock.now() < end && (self.senders.is_over() || self.receiver.is_over())
    }

    /// The packets that each sender has sent, and those of them that arrived, in the order of the
    /// senders.
    fn finish(mut self) -> io::Result<(Vec<SentPackets>, Vec<Option<ArrivedPackets>>)> {
        let (sent, addresses) = self.senders.join()?;
        // What is in the network still arrives.
        thread::sleep(std::time::Duration::from_millis(200));
        self.receiver.stop();
        let arrived = self.receiver.join()?;
        let of = |from: &SocketAddr| {
            arrived
                .iter()
                .find(|arrived| arrived.from == *from)
                .copied()
        };
        Ok((sent, addresses.iter().map(of).collect()))
    }
}

/// The connections of the transfers, established before the start.
fn connect(run: &SpacedRun, endpoints: &Endpoints) -> io::Result<Option<Connections>> {
    if run.transfers == 0 {
        return Ok(None);
    }
    let to = SocketAddr::new(path_address(PathId(0), Side::Client).addr(), STREAM_PORT);
    Connections::open(endpoints, to, run.transfers, &run.congestion_control).map(Some)
}

/// The goodput of each transfer between two totals, in bits per second.
fn goodput(totals: &[Totals], span: Duration) -> Vec<f64> {
    let [begin, end] = totals else {
        return Vec::new();
    };
    let pairs = begin.iter().zip(end);
    pairs
        .map(|(begin, end)| (end - begin) * 8.0 / span.as_secs_f64())
        .collect()
}

fn sender_outcomes(
    run: &SpacedRun,
    start: Time,
    sent: &[SentPackets],
    arrived: &[Option<ArrivedPackets>],
) -> Vec<SpacedSenderOutcome> {
    let outcome = |((config, _), (sent, arrived)): (
        &(SenderConfig, Duration),
        (&SentPackets, &Option<ArrivedPackets>),
    )| {
        let bits = config.packet.0 as f64 * 8.0;
        let rate = |packets: u64, span: Duration| packets as f64 * bits / span.as_secs_f64();
        // The bins begin at time zero of the clock.
        let before = usize::try_from(start.0 / run.bin.0.max(1)).unwrap_or(usize::MAX);
        let in_run = sent.bins.iter().skip(before);
        SpacedSenderOutcome {
            sent: rate(sent.packets, run.measured),
            received: rate(arrived.map_or(0, |arrived| arrived.packets), run.measured),
            packets: sent.packets,
            arrived: arrived.map_or(0, |arrived| arrived.packets),
            rates: in_run.map(|&packets| rate(packets, run.bin)).collect(),
            gaps: arrived.and_then(|arrived| arrived.gaps.mean_and_deviation()),
            delay: arrived.and_then(|arrived| arrived.mean_delay()),
        }
    };
    run.senders
        .iter()
        .zip(sent.iter().zip(arrived))
        .map(outcome)
        .collect()
}

#[cfg(test)]
mod tests;
