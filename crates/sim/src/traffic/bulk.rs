//! One TCP connection with a file to send, or with data without end.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::Time;

use crate::tcp::{Overhead, Rto, Segment, Sender, TcpConfig, TcpOutput};

/// Sends one file from its start on; takes the ACKs.
#[derive(Clone, Debug)]
pub struct Bulk {
    sender: Sender,
    /// When the sender is to start; nothing once it has.
    starts: Option<Time>,
    /// From when on it sends no new data.
    stop: Time,
}

impl Bulk {
    /// The source, taking a random time before it sends.
    #[must_use]
    pub fn with_overhead(mut self, overhead: Overhead) -> Self {
        self.sender = self.sender.with_overhead(overhead);
        self
    }

    /// A source that sends `segments` of data, [`u32::MAX`] for data without end, from `start` on, and nothing
    /// new from `stop` on; [`Time::MAX`] for no stop.
    #[must_use]
    pub fn new(tcp: TcpConfig, segments: u32, start: Time, stop: Time) -> Self {
        let total = segments.saturating_add(u32::from(tcp.syn));
        Self {
            sender: Sender::new(1, total, tcp, Rto::new(tcp.rto)),
            starts: Some(start),
            stop,
        }
    }

    /// Makes the sender say events, or no longer.
    pub fn observe(&mut self, observed: bool) {
        self.sender.observe(observed);
    }

    /// True while it has data that is not acknowledged.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.starts.is_none() && !self.sender.is_finished()
    }

    /// The connection.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }
}

impl Machine for Bulk {
    type Input = Segment;
    type Output = TcpOutput;

    #[inline]
    fn handle_input(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(TcpOutput)) {
        if now >= self.stop {
            self.sender.truncate();
        }
        self.sender.handle_input(now, ack, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if self.starts.is_some_and(|at| at <= now) {
            self.starts = None;
            self.sender.start(now, out);
        } else if self.starts.is_none() {
            self.sender.handle_timeout(now, out);
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match self.starts {
            Some(at) => Some(Deadline {
                at,
                why: "start of a connection",
            }),
            None => self.sender.deadline(),
        }
    }
}
