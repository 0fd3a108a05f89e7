//! The output of frames.

use super::super::io::Output;
use crate::event::Event;
use crate::frame::{Encapsulation, Frame, Payload};
use crate::policy::{PathSet, Paths};

/// The paths, and the sizes of frames on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// The paths that may carry packets.
    pub(super) paths: Paths,
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

    /// Whether a path would carry packets if it were not ahead of its ceiling.
    pub(super) const fn is_full(&self) -> bool {
        !self.blocked.full.is_empty()
    }

    fn select(&mut self) {
        let BlockedPaths { closed, full } = self.blocked;
        // With all live paths closed, the others may carry something.
        let live = if self.live.copies.without(closed).is_empty() {
            Paths::trusted(self.all)
        } else {
            self.live
        };
        self.open = live.copies.without(closed);
        self.paths = live.without(closed, full);
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
