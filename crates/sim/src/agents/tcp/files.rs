//! The durations of files.

use polypath_core::time::{Duration, Time};

use crate::tcp::{Sender, TcpEvent, TcpOutput};

/// The files of a source one after another: from the start of each, with its SYN or first segment,
/// to the ACK of its last.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// Bytes of a segment.
    segment: u32,
    /// Segments of a connection that carry no data: its SYN.
    without_data: u32,
    /// The start of the current file, and one past its last segment.
    present: Option<(Time, u32)>,
    /// The durations of the finished files that have not been read.
    finished: Vec<Duration>,
    observed: bool,
}

impl Files {
    pub(super) fn new(segment: u32, syn: bool) -> Self {
        Self {
            segment,
            without_data: u32::from(syn),
            present: None,
            finished: Vec::new(),
            observed: false,
        }
    }

    pub(super) fn observe(&mut self, observed: bool) {
        self.observed = observed;
    }

    pub(super) fn begin(&mut self, now: Time, total: u32) {
        self.present = Some((now, total));
    }

    /// Ends the current file; one that was cut off does not count.
    pub(super) fn end(
        &mut self,
        now: Time,
        connection: u32,
        sender: &Sender,
        out: &mut impl FnMut(TcpOutput),
    ) {
        let Some((began, total)) = self.present.take() else {
            return;
        };
        if sender.total() < total {
            return;
        }
        let took = now.since(began);
        self.finished.push(took);
        if self.observed {
            let segments = total - self.without_data;
            let size = u64::from(segments) * u64::from(self.segment);
            let event = TcpEvent::FileFinished { size, took };
            out(TcpOutput::Event { connection, event });
        }
    }

    /// Whether `sender` is sending a file that was not cut off.
    pub(super) fn is_under_way(&self, sender: &Sender) -> bool {
        self.present
            .is_some_and(|(_, total)| sender.total() >= total)
    }

    pub(super) fn take_finished(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.finished)
    }
}
