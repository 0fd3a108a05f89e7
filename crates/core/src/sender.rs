//! The sending half of an endpoint: numbers packets and sends copies, probes and pairs as its policy says.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::event::{DropReason, Event};
use crate::frame::{Body, Encapsulation, Frame, PROBE_LEN, PathId, Payload};
use crate::machine::Deadline;
use crate::overlay::{EndpointConfig, Output};
use crate::packet::PacketMeta;
use crate::policy::{Action, Feedback, PathPolicy, PathSet, Paths};
use crate::time::Time;

/// Numbers an application's packets and sends them over the paths that the policy picks.
#[derive(Debug)]
pub struct Sender {
    policy: Box<dyn PathPolicy>,
    link: Outgoing,
    sequence: u64,
    pair_len: u16,
    /// The number of the next pair on each path; like `sequence` ahead of those before a restart.
    pairs: Vec<u64>,
}

/// What every frame needs: the paths, and what a frame measures on them.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    paths: Paths,
    encapsulation: Encapsulation,
}

impl Sender {
    /// A sender for a checked configuration.
    pub(crate) fn new(config: &EndpointConfig) -> Self {
        Self {
            policy: config.policy.build(config.probing.pair_interval),
            link: Outgoing {
                paths: Paths {
                    usable: PathSet::first(config.paths),
                },
                encapsulation: config.encapsulation,
            },
            sequence: config.first_sequence,
            pair_len: config.probing.pair_len,
            pairs: vec![config.first_sequence; usize::from(config.paths)],
        }
    }

    /// Sends one packet of an application.
    pub fn on_packet<P: Payload>(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        out(Output::Event(Event::PacketIn {
            kind: meta.kind,
            len: meta.size,
        }));
        let mut pairs = PathSet::EMPTY;
        let plan = self
            .policy
            .route(now, meta, &self.link.paths, &mut |action| {
                if let Action::SendPair(path) = action {
                    pairs = pairs.with(path);
                }
            });
        self.send_pairs(now, pairs, out);
        if plan.copies.is_empty() {
            out(Output::Event(Event::Dropped {
                reason: DropReason::NoPath,
                len: meta.size,
            }));
            return;
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let frame = Frame {
            path: PathId::default(),
            epoch: self.policy.epoch(),
            sequence,
            sent: now,
            body: Body::Data(payload),
        };
        let data_len = u16::try_from(meta.size).unwrap_or(u16::MAX);
        for path in plan.probes {
            self.link
                .send(frame.carrying(path, Body::Probe { data_len }), out);
        }
        self.link.send_copies(plan.copies, frame, out);
    }

    /// Takes a request of the other end to switch.
    pub fn on_feedback<P>(
        &mut self,
        now: Time,
        feedback: Feedback,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Feedback::Switch { to, epoch } = feedback else {
            return;
        };
        if !self.link.paths.usable.contains(to) {
            out(Output::Event(Event::Dropped {
                reason: DropReason::UnknownPath,
                len: 0,
            }));
            return;
        }
        self.policy.feedback(now, feedback, &mut |action| {
            if let Action::Switched { from, to } = action {
                out(Output::Event(Event::Switched { from, to, epoch }));
            }
        });
    }

    /// Does what the policy has due.
    pub fn on_deadline<P: Payload>(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let mut pairs = PathSet::EMPTY;
        self.policy
            .on_deadline(now, &self.link.paths, &mut |action| {
                if let Action::SendPair(path) = action {
                    pairs = pairs.with(path);
                }
            });
        self.send_pairs(now, pairs, out);
    }

    /// When the policy next wants to act.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Deadline> {
        self.policy.next_deadline()
    }

    /// Sends a frame without a payload of its own on every path; for what the receiver has to say.
    pub(crate) fn broadcast<P: Payload>(&self, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        self.link.send_copies(self.link.paths.usable, frame, out);
    }

    fn send_pairs<P: Payload>(&mut self, now: Time, on: PathSet, out: &mut impl FnMut(Output<P>)) {
        for path in on {
            let number = &mut self.pairs[path.index()];
            let sequence = core::mem::replace(number, *number + 1);
            for (trailing, len) in [(false, PROBE_LEN), (true, self.pair_len)] {
                let body = Body::Pair { trailing, len };
                let epoch = self.policy.epoch();
                self.link.send(
                    Frame {
                        path,
                        epoch,
                        sequence,
                        sent: now,
                        body,
                    },
                    out,
                );
            }
        }
    }
}

impl Outgoing {
    fn send<P: Payload>(&self, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        let len = self.encapsulation.size(&frame.body);
        let (path, kind) = (frame.path, frame.body.kind());
        out(Output::Event(Event::FrameOut { path, kind, len }));
        out(Output::Transmit(frame));
    }

    /// Sends the frame on each of `paths`; the last one takes the original, so that one copy clones nothing.
    fn send_copies<P: Payload>(
        &self,
        paths: PathSet,
        frame: Frame<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let mut paths = paths.into_iter();
        let Some(first) = paths.next() else { return };
        for path in paths {
            self.send(
                Frame {
                    path,
                    ..frame.clone()
                },
                out,
            );
        }
        self.send(
            Frame {
                path: first,
                ..frame
            },
            out,
        );
    }
}
