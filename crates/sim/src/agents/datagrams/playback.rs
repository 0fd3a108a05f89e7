//! Recorded times and sizes.

use std::sync::Arc;

use polypath_core::time::Duration;
use polypath_scenario::TracePacket;

use super::source::Traffic;

/// Plays a recording, once or again and again.
#[derive(Clone, Debug)]
pub struct Playback {
    packets: Arc<[TracePacket]>,
    /// From the start of the recording to its next start.
    repeat: Option<Duration>,
    /// The position of the next datagram.
    next: usize,
}

impl Playback {
    /// The recording of `packets`, in the order of time, which begins anew every `repeat`; that is not shorter than it
    /// lasts (if it is as long, the first datagram follows the last one by the time at which the first stands).
    #[must_use]
    pub const fn new(packets: Arc<[TracePacket]>, repeat: Option<Duration>) -> Self {
        Self {
            packets,
            repeat,
            next: 0,
        }
    }
}

impl Traffic for Playback {
    fn first(&mut self) -> Duration {
        let first = self.packets.first();
        first.map_or(Duration::MAX, |packet| packet.at)
    }

    /// Without end after the last datagram of a recording that is played once.
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
