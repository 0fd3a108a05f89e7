//! The kinds of TCP sources as one machine.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use polypath_scenario::network::activity::receiver_window_at;
use polypath_scenario::network::traffic::tcp::{self, SingleFile};

use super::{Bulk, SessionConfig, Sessions};
use crate::agents::setup::{FlowSetup, Span};
use crate::tcp::{Overhead, Segment, Sender, SenderStats, TcpConfig, TcpOutput};

/// A source of TCP traffic.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a connection lies in the array of the sources: a pointer would cost a cache line for each ACK"
)]
pub enum TcpSource {
    /// One connection.
    Bulk(Bulk),
    /// One connection after another.
    Sessions(Box<Sessions>),
}

impl TcpSource {
    /// The source of one connection with endless data.
    pub(in crate::agents) fn endless(setup: &FlowSetup<'_>) -> Self {
        Self::bulk(Sender::ENDLESS, setup, |bulk, _| bulk)
    }

    /// The source of one file.
    pub(in crate::agents) fn file(file: SingleFile, setup: &FlowSetup<'_>) -> Self {
        let segments = TcpConfig::from(setup.hosts).segments(file.size.0);
        Self::bulk(segments, setup, Bulk::noting_files)
    }

    fn bulk(
        segments: u32,
        setup: &FlowSetup<'_>,
        adjust: impl FnOnce(Bulk, &TcpConfig) -> Bulk,
    ) -> Self {
        let Span { start, stop } = setup.span;
        let tcp = TcpConfig::from(setup.hosts);
        let changes = &setup.flow.receiver_window;
        let tcp = TcpConfig {
            receiver_window: receiver_window_at(
                changes,
                start.since(Time::ZERO),
                tcp.receiver_window,
            ),
            ..tcp
        };
        let bulk = adjust(Bulk::new(tcp, segments, start, stop), &tcp);
        let mut stream = setup.stream("traffic");
        let overhead = Overhead::of_connection(setup.hosts.overhead, &mut stream);
        Self::Bulk(match overhead {
            Some(overhead) => bulk.with_overhead(overhead),
            None => bulk,
        })
    }

    /// The source of files one after another.
    pub(in crate::agents) fn sessions(config: &tcp::Sessions, setup: &FlowSetup<'_>) -> Self {
        let config = SessionConfig {
            idle: config.idle,
            mu: config.file.mu,
            sigma: config.file.sigma,
            tcp: TcpConfig::from(setup.hosts),
            overhead: setup.hosts.overhead,
        };
        let Span { start, stop } = setup.span;
        let sessions = Sessions::new(config, setup.stream("traffic"), start);
        Self::Sessions(Box::new(sessions.until(stop).noting_files()))
    }

    /// The totals of all its connections.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        match self {
            Self::Bulk(bulk) => bulk.sender().stats(),
            Self::Sessions(sessions) => sessions.stats(),
        }
    }

    /// Starts or stops reporting events of its senders.
    pub fn observe(&mut self, observed: bool) {
        match self {
            Self::Bulk(bulk) => bulk.observe(observed),
            Self::Sessions(sessions) => sessions.observe(observed),
        }
    }

    /// The durations of the files that were finished since the last call; empty for a source that
    /// does not measure them.
    pub fn take_finished(&mut self) -> Vec<Duration> {
        match self {
            Self::Bulk(bulk) => bulk.take_finished(),
            Self::Sessions(sessions) => sessions.take_finished(),
        }
    }

    /// Whether a file is being sent and has not been cut off; false for a source that does not
    /// measure files.
    #[must_use]
    pub fn has_file_under_way(&self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.has_file_under_way(),
            Self::Sessions(sessions) => sessions.has_file_under_way(),
        }
    }

    /// The number of its connection; `None` without one.
    #[must_use]
    pub fn connection(&self) -> Option<u32> {
        match self {
            Self::Bulk(bulk) => bulk.is_open().then_some(Bulk::CONNECTION),
            Self::Sessions(sessions) => sessions.connection(),
        }
    }

    /// Sets the receiver window of later connections, in segments.
    pub fn set_receiver_window(&mut self, segments: u32) {
        if let Self::Sessions(sessions) = self {
            sessions.set_receiver_window(segments);
        }
    }

    /// The congestion window of its connection in segments; `None` without one.
    #[must_use]
    pub fn congestion_window(&self) -> Option<f64> {
        match self {
            Self::Bulk(bulk) => bulk.is_open().then(|| bulk.sender().congestion_window()),
            Self::Sessions(sessions) => sessions.congestion_window(),
        }
    }
}

impl Machine for TcpSource {
    type Input = Segment;
    type Output = TcpOutput;

    #[inline]
    fn handle_input(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(TcpOutput)) {
        match self {
            Self::Bulk(bulk) => bulk.handle_input(now, ack, out),
            Self::Sessions(sessions) => sessions.handle_input(now, ack, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        match self {
            Self::Bulk(bulk) => bulk.handle_timeout(now, out),
            Self::Sessions(sessions) => sessions.handle_timeout(now, out),
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Bulk(bulk) => bulk.deadline(),
            Self::Sessions(sessions) => sessions.deadline(),
        }
    }
}
