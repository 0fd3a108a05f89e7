//! One scheme's simulation: a network of its own, a server and a client, each behind an endpoint.

use polypath_core::endpoint::EndpointConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};

use crate::error::RunError;
use crate::flow::BackgroundBytes;
use crate::host_pairs::{LinkFrame, Listener};
use crate::network::{build, foreground_tcp};
use crate::observer::SimEvent;
use crate::tcp::{Client, ClientInput, Segment, Server};
use crate::transfer_hosts::TransferPairs;
use crate::world::{Overflow, World};

/// The file that every transfer carries.
#[derive(Clone, Copy, Debug)]
struct File {
    bytes: u64,
    segments: u32,
    segment: u32,
}

/// The current transfer, or the last one.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    round: u32,
    in_order: u32,
    finished: Option<Time>,
}

/// The simulation of one scheme.
#[derive(Debug)]
pub(crate) struct SchemeRun {
    pairs: TransferPairs,
    file: File,
    transfer: Transfer,
}

/// Receives the events of one scheme.
pub(crate) type Report<'a> = dyn FnMut(Time, &SimEvent) + 'a;

/// The only pair of hosts.
const PAIR: u32 = 0;

/// Forwards events, and tracks the progress of the transfer.
struct ProgressListener<'a, 'b> {
    report: &'a mut Report<'b>,
    file: File,
    transfer: &'a mut Transfer,
}

impl Listener<Client> for ProgressListener<'_, '_> {
    fn on_event(&mut self, now: Time, _: u32, event: &SimEvent) {
        (self.report)(now, event);
    }

    fn on_client(&mut self, now: Time, _: u32, client: &Client) {
        let in_order = client.in_order();
        if in_order <= self.transfer.in_order || self.transfer.finished.is_some() {
            return;
        }
        self.transfer.in_order = in_order;
        let round = self.transfer.round;
        let bytes = (u64::from(in_order) * u64::from(self.file.segment)).min(self.file.bytes);
        (self.report)(now, &SimEvent::Progress { round, bytes });
        if in_order >= self.file.segments {
            self.transfer.finished = Some(now);
            (self.report)(now, &SimEvent::TransferFinished { round, ok: true });
        }
    }
}

impl SchemeRun {
    pub(crate) fn new(scenario: &Scenario, scheme: Scheme, seed: Seed) -> Result<Self, RunError> {
        let tcp = foreground_tcp(scenario);
        let endpoint = EndpointConfig {
            seed: seed.child("overlay"),
            ..scenario.endpoint(scheme)
        };
        let file = File {
            bytes: scenario.transfer.size.0,
            segments: tcp.segments(scenario.transfer.size.0),
            segment: tcp.segment,
        };
        let overhead = seed.stream("server/overhead");
        let server = Server::new(tcp, file.segments);
        let server = server.with_overhead(scenario.tcp.overhead, overhead);
        let mut pairs = TransferPairs::new(build(scenario, seed)?, &endpoint);
        pairs.add(server, Client::new(tcp), &endpoint)?;
        Ok(Self {
            pairs,
            file,
            transfer: Transfer {
                round: 0,
                in_order: 0,
                finished: None,
            },
        })
    }

    pub(crate) const fn network(&self) -> &World<LinkFrame<Segment>> {
        self.pairs.network()
    }

    /// Fails if the network holds more packets than the memory bound.
    pub(crate) fn fits_memory(&self) -> Result<(), Overflow> {
        self.pairs.fits_memory()
    }

    pub(crate) fn background(&self) -> BackgroundBytes {
        self.network().background()
    }

    /// Runs one transfer from `start`, which the scheme has reached; returns the time at which it
    /// was complete, or `None` if it timed out after `timeout`.
    pub(crate) fn transfer(
        &mut self,
        round: u32,
        start: Time,
        timeout: Duration,
        report: &mut Report<'_>,
    ) -> Option<Time> {
        self.transfer = Transfer {
            round,
            in_order: 0,
            finished: None,
        };
        report(start, &SimEvent::TransferStarted { round });
        self.input_to_client(start, ClientInput::Open(round + 1), report);
        let limit = start + timeout;
        while self.transfer.finished.is_none() && self.wake_next(limit, report) {}
        if self.transfer.finished.is_none() {
            self.input_to_client(limit, ClientInput::Close, report);
            report(limit, &SimEvent::TransferFinished { round, ok: false });
        }
        self.transfer.finished
    }

    /// Runs until `limit`, events due at `limit` included.
    pub(crate) fn run_until(&mut self, limit: Time, report: &mut Report<'_>) {
        while self.wake_next(limit, report) {}
    }

    fn wake_next(&mut self, limit: Time, report: &mut Report<'_>) -> bool {
        let (pairs, mut listener) = self.listener(report);
        pairs.wake_next(limit, &mut listener)
    }

    fn input_to_client(&mut self, now: Time, input: ClientInput, report: &mut Report<'_>) {
        let (pairs, mut listener) = self.listener(report);
        pairs.input_to_client(now, PAIR, input, &mut listener);
    }

    fn listener<'a, 'b>(
        &'a mut self,
        report: &'a mut Report<'b>,
    ) -> (&'a mut TransferPairs, ProgressListener<'a, 'b>) {
        let listener = ProgressListener {
            report,
            file: self.file,
            transfer: &mut self.transfer,
        };
        (&mut self.pairs, listener)
    }
}
