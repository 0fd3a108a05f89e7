//! The output of frames.

use super::super::io::Output;
use crate::event::Event;
use crate::frame::{Encapsulation, Frame, PathId, Payload};
use crate::packet::PacketMeta;
use crate::pmtu::{Discovery, TooLong};
use crate::policy::{PathSet, Paths};

/// The paths, and the sizes of frames on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// The paths that may carry packets, apart from their ceilings.
    paths: Paths,
    /// The paths that may carry reports and requests, which do not wait for a ceiling.
    pub(super) open: PathSet,
    pub(super) encapsulation: Encapsulation,
    all: PathSet,
    /// The paths as the liveness monitor sees them.
    live: Paths,
    /// Those that carry nothing, and those that carry no packets for now ([`crate::metering`]).
    blocked: BlockedPaths,
}

/// The paths whose traffic is limited, and has reached the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BlockedPaths {
    /// They carry nothing.
    pub(in super::super) closed: PathSet,
    /// They are ahead of their ceilings.
    pub(in super::super) full: PathSet,
}

impl Outgoing {
    /// All of `paths` paths, none of them blocked.
    pub(super) const fn new(paths: u8, encapsulation: Encapsulation) -> Self {
        let all = PathSet::first(paths);
        Self {
            paths: Paths::trusted(all),
            open: all,
            encapsulation,
            all,
            live: Paths::trusted(all),
            blocked: BlockedPaths {
                closed: PathSet::EMPTY,
                full: PathSet::EMPTY,
            },
        }
    }

    /// Sets the paths as the liveness monitor sees them; `None` if there is none.
    pub(super) fn set_live(&mut self, live: Option<Paths>) {
        self.live = live.unwrap_or(Paths::trusted(self.all));
        self.select();
    }

    /// Sets the blocked paths.
    pub(super) fn block(&mut self, blocked: BlockedPaths) {
        if blocked != self.blocked {
            self.blocked = blocked;
            self.select();
        }
    }

    /// Also blocks the paths that what was sent in this wake has put ahead of their ceilings.
    pub(super) fn block_further(&mut self, full: PathSet) {
        let blocked = BlockedPaths {
            full: self.blocked.full.or(full),
            ..self.blocked
        };
        self.block(blocked);
    }

    /// The paths that may carry packets.
    pub(super) const fn paths(&self) -> Paths {
        self.paths.with_full(self.blocked.full)
    }

    /// The paths that may carry a packet, and are wide enough for it. A path that is ahead of its
    /// ceiling for a moment does not make the packet too long for the others.
    ///
    /// Fails if the packet is too long for all paths.
    pub(super) fn carriers(&self, sizes: &Discovery, meta: &PacketMeta) -> Result<Paths, TooLong> {
        let paths = sizes.carriers(self.paths, meta)?;
        Ok(paths.with_full(self.blocked.full))
    }

    /// The paths that carry the notice that `path` is closed: those that work, or else all of which
    /// one may, and `path` itself, since the peer has to receive it.
    pub(super) const fn notice_paths(&self, path: PathId) -> PathSet {
        let closed = self.blocked.closed;
        let live = self.live.copies.without(closed);
        if live.is_empty() {
            self.all.without(closed).with(path)
        } else {
            live
        }
    }

    fn select(&mut self) {
        let closed = self.blocked.closed;
        // With all live paths closed, the others may carry something.
        let live = if self.live.copies.without(closed).is_empty() {
            Paths::trusted(self.all)
        } else {
            self.live
        };
        self.paths = live.without(closed);
        self.open = self.paths.copies;
    }

    /// Sends the frame on its path.
    #[expect(
        clippy::inline_always,
        reason = "the frame is written where it is needed"
    )]
    #[inline(always)]
    pub(super) fn send<P: Payload>(&self, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        let len = self.encapsulation.size(&frame.body);
        let (path, kind) = (frame.path, frame.body.kind());
        out(Output::Event(Event::FrameOut { path, kind, len }));
        out(Output::Transmit(frame));
    }

    /// Sends `payload` on each of `paths`, in the frame that `frame` returns for a path. The
    /// original goes last, on the first path, so that a single copy needs no clone.
    ///
    /// Each packet passes here: a frame that is written where it is needed costs half of one that is
    /// moved, since wide loads of what was just written in parts wait for it.
    #[expect(
        clippy::inline_always,
        reason = "the frame is written where it is needed"
    )]
    #[inline(always)]
    pub(super) fn send_packet<P: Payload>(
        &self,
        paths: PathSet,
        payload: P,
        frame: impl Fn(PathId, P) -> Frame<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Some(first) = paths.into_iter().next() else {
            return;
        };
        for path in paths.without(PathSet::only(first)) {
            self.send(frame(path, payload.clone()), out);
        }
        self.send(frame(first, payload), out);
    }

    /// Sends a frame without a packet on each of `paths`, in the same order.
    pub(super) fn send_all<P: Payload>(
        &self,
        paths: PathSet,
        frame: &Frame<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let first: PathSet = paths.into_iter().take(1).collect();
        for path in paths.without(first).into_iter().chain(first) {
            let copy = frame.clone();
            self.send(Frame { path, ..copy }, out);
        }
    }
}
