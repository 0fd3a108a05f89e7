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

    /// The paths that are ahead of their ceilings.
    pub(super) const fn full(&self) -> PathSet {
        self.blocked.full
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
    pub(super) fn send<P: Payload>(&self, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        let len = self.encapsulation.size(&frame.body);
        let (path, kind) = (frame.path, frame.body.kind());
        out(Output::Event(Event::FrameOut { path, kind, len }));
        out(Output::Transmit(frame));
    }

    /// Sends the frame on each of `paths`; the original goes last, so that a single copy needs no
    /// clone.
    pub(super) fn send_copies<P: Payload>(
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
