//! The limits of the paths of an endpoint ([`crate::metering`]): counts its frames, and holds back
//! those of closed paths.

use alloc::boxed::Box;

use super::Endpoint;
use super::config::EndpointConfig;
use super::io::{Input, Output};
use super::sender::BlockedPaths;
use crate::event::Event;
use crate::frame::{Body, Encapsulation, Frame, FrameKind, Payload};
use crate::machine::Wake;
use crate::metering::Meters;
use crate::policy::PathSet;
use crate::tariff::Tariffs;
use crate::time::Time;

/// The meters of an endpoint, if a path is limited.
pub(super) fn meters(config: &EndpointConfig) -> Option<Box<Meters>> {
    let is_limited = config.tariffs.is_limited();
    is_limited.then(|| Box::new(Meters::new(config.paths, &config.tariffs)))
}

/// Whether an endpoint without limits needs meters from this input on.
#[inline]
pub(super) const fn concerns<P>(input: &Input<P>) -> bool {
    matches!(
        input,
        Input::Adjust(_)
            | Input::Frame(Frame {
                body: Body::PathClosed { .. },
                ..
            })
    )
}

impl<P: Payload> Endpoint<P> {
    /// Handles a wake within the limits of the paths.
    pub(super) fn run_metered(
        &mut self,
        now: Time,
        wake: Wake<Input<P>>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let paths = u8::try_from(self.paths.len()).unwrap_or(PathSet::CAPACITY);
        let new = || Box::new(Meters::new(paths, &Tariffs::default()));
        let mut meters = self.meters.take().unwrap_or_else(new);
        let before = meters.closed();
        if let Wake::Input(input) = &wake {
            note(&mut meters, now, input, self.encapsulation, self.paths);
        }
        self.block(now, &meters);
        let (encapsulation, closed) = (self.encapsulation, meters.closed());
        let mut within_limits = |output| {
            if admits(&mut meters, now, &output, closed, encapsulation) {
                out(output);
            }
        };
        self.run(now, wake, &mut (&mut within_limits as &mut dyn FnMut(_)));
        self.end_metered(now, meters, before, out);
    }

    /// Sends notices of paths that closed, and reports those that closed or opened since `before`.
    fn end_metered(
        &mut self,
        now: Time,
        mut meters: Box<Meters>,
        before: PathSet,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.block(now, &meters);
        let (encapsulation, closed) = (self.encapsulation, meters.closed());
        for notice in meters.take_notices(now) {
            let mut within_limits = |output| {
                if admits(&mut meters, now, &output, closed, encapsulation) {
                    out(output);
                }
            };
            self.sender
                .send_path_closed(now, notice, &mut within_limits);
        }
        // After the notices, which may use up the quota of another path.
        for (path, by_peer) in meters.closed_since(before) {
            out(Output::Event(Event::PathClosed { path, by_peer }));
        }
        let opened = before.without(meters.closed());
        for path in opened {
            out(Output::Event(Event::PathOpened { path }));
        }
        if !opened.is_empty() {
            // Heartbeats were held back, and the path counts as silent.
            self.sender.on_reachable(now, opened);
        }
        self.block(now, &meters);
        self.meters = (!meters.is_idle()).then_some(meters);
    }

    /// Keeps packets off the paths that have reached their limits.
    fn block(&mut self, now: Time, meters: &Meters) {
        let blocked = BlockedPaths {
            closed: meters.closed(),
            full: meters.full(now),
        };
        self.sender.block(blocked, meters.cell_rates());
    }
}

/// Takes note of an input.
fn note<P: Payload>(
    meters: &mut Meters,
    now: Time,
    input: &Input<P>,
    encapsulation: Encapsulation,
    paths: PathSet,
) {
    match input {
        Input::Frame(frame) if paths.contains(frame.path) => {
            let len = encapsulation.size(&frame.body);
            meters.on_received(now, frame.path, len, frame.sent);
            if let Body::PathClosed { path } = frame.body {
                meters.on_closed_by_peer(path, frame.sent);
            }
        }
        Input::PathUsed {
            path,
            used,
            is_renewed,
        } => meters.set_used(now, *path, *used, *is_renewed),
        Input::Adjust(to) => meters.adjust(now, &to.tariffs),
        Input::PeerRestarted => meters.on_peer_restarted(),
        _ => {}
    }
}

/// Counts a frame that is sent. Returns false if a path must not carry the frame, and for events
/// about a frame or path that is kept back. The paths `closed` were closed before the wake.
fn admits<P: Payload>(
    meters: &mut Meters,
    now: Time,
    output: &Output<P>,
    closed: PathSet,
    encapsulation: Encapsulation,
) -> bool {
    match output {
        Output::Transmit(frame) => {
            let len = encapsulation.size(&frame.body);
            let is_notice = frame.body.kind() == FrameKind::PathClosed;
            let is_admitted = is_notice || meters.admits(frame.path, closed, len);
            if is_admitted {
                meters.on_sent(now, frame.path, len);
            }
            is_admitted
        }
        Output::Event(Event::FrameOut { path, kind, len }) => {
            *kind == FrameKind::PathClosed || meters.admits(*path, closed, *len)
        }
        Output::Event(
            Event::PathSilent { path, .. }
            | Event::PathSilentAgain { path, .. }
            | Event::PathBack { path, .. },
        ) => !meters.closed().contains(*path),
        _ => true,
    }
}
