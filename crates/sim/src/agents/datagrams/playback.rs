//! Recorded times and sizes.

use std::sync::Arc;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_scenario::TracePacket;
use polypath_scenario::network::traffic::datagrams::Recording;

use super::source::SendTimes;

/// Plays a recording once or repeatedly.
#[derive(Clone, Debug)]
pub struct Playback {
    packets: Arc<[TracePacket]>,
    /// The time from the start of the recording to its next start.
    repeat: Option<Duration>,
    /// The position of the next datagram.
    next: usize,
}

impl Playback {
    /// The recording of `packets`, in order of time, which restarts every `repeat`. That is
    /// not shorter than the recording; if it is as long, the time from the last datagram to the
    /// first of the next round is that from the start to the first.
    #[must_use]
    pub const fn new(packets: Arc<[TracePacket]>, repeat: Option<Duration>) -> Self {
        Self {
            packets,
            repeat,
            next: 0,
        }
    }
}

impl Playback {
    /// The recording of a flow of a graph.
    pub(in crate::agents) fn of_flow(config: &Recording) -> Self {
        Self::new(config.file.entries.clone(), config.repeat)
    }

    /// The size of the largest datagram of a recording.
    pub(in crate::agents) fn largest(config: &Recording) -> Bytes {
        let sizes = config.file.entries.iter().map(|packet| packet.bytes);
        Bytes(sizes.max().unwrap_or(0).into())
    }
}

impl SendTimes for Playback {
    fn first(&mut self) -> Duration {
        let first = self.packets.first();
        first.map_or(Duration::MAX, |packet| packet.at)
    }

    /// [`Duration::MAX`] after the last datagram of a recording that is played once.
    fn interval(&mut self) -> Duration {
        let Some(sent) = self.packets.get(self.next) else {
            return Duration::MAX;
        };
        self.next += 1;
        if let Some(next) = self.packets.get(self.next) {
            return next.at - sent.at;
        }
        let Some(repeat) = self.repeat else {
            return Duration::MAX;
        };
        self.next = 0;
        repeat - sent.at + self.packets[0].at
    }

    fn size(&self) -> Option<u32> {
        self.packets.get(self.next).map(|packet| packet.bytes)
    }
}
