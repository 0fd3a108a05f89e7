//! Sources and a responder on threads of this process, in the namespaces of an emulated network.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_live::clock::Clock;
use polypath_live::sources::{
    Responder, ResponderReport, SourceChange, SourcePath, Sources, SourcesConfig, SourcesReport,
};
use polypath_scenario::network::{Multihomed, Senders};
use polypath_sim::Side;

use super::SourceRun;
use crate::addressing::{STREAM_PORT, path_address};
use crate::endpoints::Endpoints;
use crate::running::Running;

/// The sources of a run and their responder; both are stopped on drop.
#[derive(Debug)]
pub(super) struct RunningSources {
    sources: Running<SourcesReport>,
    responder: Running<ResponderReport>,
    changes: Receiver<SourceChange>,
}

/// The results of a run.
pub(super) struct SourcesResult {
    pub(super) report: SourcesReport,
    pub(super) responder: ResponderReport,
    pub(super) changes: Vec<SourceChange>,
}

impl RunningSources {
    /// Starts the sources of a run, which begins at time zero of `clock`, and their responder.
    pub(super) fn start(
        run: SourceRun<'_>,
        senders: Senders<'_>,
        traffic: &Multihomed,
        endpoints: &Endpoints,
        clock: Clock,
    ) -> io::Result<Self> {
        let paths = u8::try_from(traffic.ways.len()).unwrap_or(u8::MAX);
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let remotes: Vec<SocketAddr> = (0..paths).map(|path| remote(PathId(path))).collect();
        let ack = Some(size(traffic.ack.0));
        let mut responder = endpoints
            .at(Side::Client)
            .run(|| Responder::open(&remotes, ack, clock).map_err(io::Error::other))?;
        let path = |(path, remote): (u8, &SocketAddr)| SourcePath {
            name: traffic.ways[usize::from(path)].join("+"),
            local: (path_address(PathId(path), Side::Server).addr(), 0).into(),
            remote: *remote,
        };
        let config = SourcesConfig {
            sources: senders.sources(Seed(run.seed), Time::MAX),
            paths: (0..).zip(&remotes).map(path).collect(),
            packet: size(traffic.packet.0),
            heartbeat: size(traffic.heartbeat_size().0),
            session: 0,
            measured_from: Time::ZERO + run.network.run.warm_up,
            due_until: run.network.due_span()[1],
            has_one_clock: true,
        };
        let (sender, changes) = channel();
        // The receiver lives as long as the thread.
        let on_change = move |change| {
            let _ = sender.send(change);
        };
        let mut sources = endpoints
            .at(Side::Server)
            .run(|| Sources::open(config, clock, on_change).map_err(io::Error::other))?;
        let end = Time::ZERO + run.network.run.duration;
        let (stop_responder, stop_sources) = (responder.stop_handle(), sources.stop_handle());
        Ok(Self {
            responder: Running::start("responder", stop_responder, move || {
                responder.run().map_err(io::Error::other)
            })?,
            sources: Running::start("sources", stop_sources, move || {
                sources.run_until(end).map_err(io::Error::other)
            })?,
            changes,
        })
    }

    /// Whether the sources have ended; fails if the responder has.
    pub(super) fn is_over(&self) -> io::Result<bool> {
        if self.responder.is_over() {
            return Err(io::Error::other("the responder has ended"));
        }
        Ok(self.sources.is_over())
    }

    /// Waits for the end of the sources and returns the results; fails with the error that ended
    /// one of the threads.
    pub(super) fn finish(mut self) -> io::Result<SourcesResult> {
        let report = self.sources.join()?;
        self.responder.stop();
        let responder = self.responder.join()?;
        Ok(SourcesResult {
            report,
            responder,
            changes: self.changes.try_iter().collect(),
        })
    }
}

/// The address of the responder on a path.
fn remote(path: PathId) -> SocketAddr {
    (path_address(path, Side::Client).addr(), STREAM_PORT).into()
}
