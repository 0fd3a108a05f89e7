//! The output of frames.

use super::super::io::Output;
use crate::event::Event;
use crate::frame::{Encapsulation, Frame, Payload};
use crate::policy::{PathSet, Paths};

/// The paths, and the sizes of frames on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) paths: Paths,
    pub(super) encapsulation: Encapsulation,
}

impl Outgoing {
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
