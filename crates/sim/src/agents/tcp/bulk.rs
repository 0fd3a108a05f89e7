//! One TCP connection with a file to send, or with data without end.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use super::files::Files;
use crate::tcp::{Overhead, Rto, Segment, Sender, TcpConfig, TcpOutput};

/// Sends one file, and receives the ACKs.
#[derive(Clone, Debug)]
pub struct Bulk {
    sender: Sender,
    /// The start time of the sender; `None` once started.
    starts: Option<Time>,
    /// The time after which no new data is sent.
    stop: Time,
    /// The file, if its duration is measured.
    file: Option<Box<Files>>,
}

impl Bulk {
    /// The number of its only connection.
    pub(super) const CONNECTION: u32 = 1;

    /// The source with a random send overhead.
    #[must_use]
    pub fn with_overhead(mut self, overhead: Overhead) -> Self {
        self.sender = self.sender.with_overhead(overhead);
        self
    }

    /// A source that sends `segments` of data, [`u32::MAX`] for endless data, from `start`,
    /// and no new data or SYN at `stop` or later; [`Time::MAX`] for no stop.
    #[must_use]
    pub fn new(tcp: TcpConfig, segments: u32, start: Time, stop: Time) -> Self {
        let total = segments.saturating_add(u32::from(tcp.syn));
        Self {
            sender: Sender::new(Self::CONNECTION, total, tcp, Rto::new(tcp.rto)),
            starts: Some(start),
            stop,
            file: None,
        }
    }

    /// The source, measuring the duration of its file.
    #[must_use]
    pub fn noting_files(mut self, tcp: &TcpConfig) -> Self {
        self.file = Some(Box::new(Files::new(tcp.segment, tcp.syn)));
        self
    }

    /// The duration of the file, if it was finished since the last call.
    pub fn take_finished(&mut self) -> Vec<Duration> {
        let file = self.file.as_mut();
        file.map_or_else(Vec::new, |file| file.take_finished())
    }

    /// Whether the file is being sent and has not been cut off; false if its duration is not
    /// measured.
    #[must_use]
    pub fn has_file_under_way(&self) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.is_under_way(&self.sender))
    }

    fn end_file(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if let Some(file) = &mut self.file
            && self.sender.is_finished()
        {
            file.end(now, Self::CONNECTION, &self.sender, out);
        }
    }

    /// Starts or stops reporting events of the sender.
    pub fn observe(&mut self, observed: bool) {
        self.sender.observe(observed);
        if let Some(file) = &mut self.file {
            file.observe(observed);
        }
    }

    /// Whether it has unacknowledged data.
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
        self.end_file(now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if now >= self.stop {
            self.sender.truncate();
        }
        match self.starts {
            None => self.sender.handle_timeout(now, out),
            Some(at) if at <= now && at < self.stop => {
                self.starts = None;
                if let Some(file) = &mut self.file {
                    file.begin(now, self.sender.total());
                }
                self.sender.start(now, out);
            }
            Some(_) => {}
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match self.starts {
            Some(at) => (at < self.stop).then_some(Deadline {
                at,
                why: "start of a connection",
            }),
            None => self.sender.deadline(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::tcp::stopping::new_data_after;
    use polypath_core::rng::Seed;

    const STOP: Time = Time(1_000_000_000);

    fn source(start: Time) -> Bulk {
        Bulk::new(TcpConfig::default(), Sender::ENDLESS, start, STOP)
    }

    #[test]
    fn sends_nothing_new_after_its_stop_with_an_overhead_or_without() {
        let stream = |number: u64| Seed(number).stream("overhead");
        let (before, after) = new_data_after(&mut source(Time::ZERO), STOP);
        assert!(before > 100 && after == 0, "{before} before, {after} after");
        for number in 0..20 {
            let overhead = Overhead::new(Duration::from_millis(40), stream(number));
            let mut source = source(Time::ZERO).with_overhead(overhead);
            let (before, after) = new_data_after(&mut source, STOP);
            assert!(before > 10 && after == 0, "{before} before, {after} after");
            assert!(!source.is_open());
        }
    }

    #[test]
    fn a_start_that_was_drawn_after_the_stop_does_not_happen() {
        for late in [0, 1, 5_000_000] {
            let mut source = source(Time(STOP.0 + late));
            assert_eq!(source.deadline(), None);
            assert_eq!(new_data_after(&mut source, STOP), (0, 0));
        }
    }
}
