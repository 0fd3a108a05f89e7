//! A source of TCP sessions, one after another.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::files::Files;
use crate::tcp::{Overhead, Rto, Segment, Sender, SenderStats, TcpConfig, TcpOutput};

/// The configuration of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionConfig {
    /// The mean of the exponential time between the end of a session and the start of the next.
    pub idle: Duration,
    /// Mean of the logarithm of a file's size in bytes.
    pub mu: f64,
    /// Standard deviation of the logarithm of a file's size.
    pub sigma: f64,
    /// The hosts.
    pub tcp: TcpConfig,
    /// The maximum random send overhead.
    pub overhead: Duration,
}

/// Sends files of log-normal size, each over a new connection, and receives the ACKs.
#[derive(Clone, Debug)]
pub struct Sessions {
    config: SessionConfig,
    stream: Stream,
    opened: u32,
    /// The totals of the finished sessions.
    finished: SenderStats,
    /// The current session; `None` while idle.
    sender: Option<Sender>,
    idle_until: Time,
    stop: Time,
    /// The files, if their durations are measured.
    files: Option<Files>,
    observed: bool,
}

impl Sessions {
    /// A source that is idle at `now`.
    #[must_use]
    pub fn new(config: SessionConfig, mut stream: Stream, now: Time) -> Self {
        let idle_until = now + pause(&config, &mut stream);
        Self {
            config,
            stream,
            opened: 0,
            finished: SenderStats::default(),
            sender: None,
            idle_until,
            stop: Time::MAX,
            files: None,
            observed: false,
        }
    }

    /// The source with a stop time: it starts no session at `stop` or later, and the current one
    /// sends no new data.
    #[must_use]
    pub const fn until(mut self, stop: Time) -> Self {
        self.stop = stop;
        self
    }

    /// The source, measuring the durations of its files.
    #[must_use]
    pub fn noting_files(mut self) -> Self {
        let tcp = &self.config.tcp;
        self.files = Some(Files::new(tcp.segment, tcp.syn));
        self
    }

    /// The durations of the files that were finished since the last call, in order.
    pub fn take_finished(&mut self) -> Vec<Duration> {
        let files = self.files.as_mut();
        files.map_or_else(Vec::new, Files::take_finished)
    }

    /// Whether a file is being sent and has not been cut off; false if durations are not measured.
    #[must_use]
    pub fn has_file_under_way(&self) -> bool {
        let present = self.files.as_ref().zip(self.sender.as_ref());
        present.is_some_and(|(files, sender)| files.is_under_way(sender))
    }

    /// Starts or stops reporting events of the senders.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
        if let Some(files) = &mut self.files {
            files.observe(observed);
        }
        if let Some(sender) = &mut self.sender {
            sender.observe(observed);
        }
    }

    /// The totals of all sessions.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        let present = self.sender.as_ref().map(Sender::stats);
        self.finished + present.unwrap_or_default()
    }

    /// The congestion window of the current session in segments.
    #[must_use]
    pub fn congestion_window(&self) -> Option<f64> {
        self.sender.as_ref().map(Sender::congestion_window)
    }

    /// The number of the current session; `None` while idle.
    #[must_use]
    pub fn connection(&self) -> Option<u32> {
        self.sender.is_some().then_some(self.opened)
    }

    /// Sets the receiver window of later sessions, in segments.
    pub fn set_receiver_window(&mut self, segments: u32) {
        self.config.tcp.receiver_window = segments;
    }

    fn start(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.opened += 1;
        let bytes = self.stream.log_normal(self.config.mu, self.config.sigma);
        let tcp = self.config.tcp;
        let total = tcp
            .segments(whole_bytes(bytes))
            .saturating_add(u32::from(tcp.syn));
        let mut sender = Sender::new(self.opened, total, tcp, Rto::new(tcp.rto));
        if let Some(overhead) = Overhead::of_connection(self.config.overhead, &mut self.stream) {
            sender = sender.with_overhead(overhead);
        }
        sender.observe(self.observed);
        if let Some(files) = &mut self.files {
            files.begin(now, total);
        }
        sender.start(now, out);
        self.sender = Some(sender);
    }

    fn end_if_finished(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if let Some(sender) = self.sender.take_if(|sender| sender.is_finished()) {
            self.finished += sender.stats();
            if let Some(files) = &mut self.files {
                files.end(now, self.opened, &sender, out);
            }
            self.idle_until = now + pause(&self.config, &mut self.stream);
        }
    }
}

impl Machine for Sessions {
    type Input = Segment;
    type Output = TcpOutput;

    fn handle_input(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(TcpOutput)) {
        if let Some(sender) = &mut self.sender {
            if now >= self.stop {
                sender.truncate();
            }
            sender.handle_input(now, ack, out);
            self.end_if_finished(now, out);
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        match &mut self.sender {
            Some(sender) => {
                if now >= self.stop {
                    sender.truncate();
                }
                sender.handle_timeout(now, out);
                self.end_if_finished(now, out);
            }
            None if self.idle_until <= now && self.idle_until < self.stop => self.start(now, out),
            None => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match &self.sender {
            Some(sender) => sender.deadline(),
            None => (self.idle_until < self.stop).then_some(Deadline {
                at: self.idle_until,
                why: "next TCP session",
            }),
        }
    }
}

fn pause(config: &SessionConfig, stream: &mut Stream) -> Duration {
    Duration::from_secs_f64(stream.exponential(config.idle.as_secs_f64()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates; a size is positive"
)]
fn whole_bytes(bytes: f64) -> u64 {
    bytes.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::tcp::stopping::new_data_after;
    use crate::tcp::SegmentKind;
    use polypath_core::machine::{Wake, step};
    use polypath_core::rng::Seed;

    /// Acknowledges everything immediately; returns when sessions began and the lengths of their
    /// files.
    fn sessions(count: usize) -> Vec<(Time, u32)> {
        let config = SessionConfig {
            idle: Duration::from_millis(600),
            mu: 9.357,
            sigma: 1.318,
            tcp: TcpConfig::default(),
            overhead: Duration::ZERO,
        };
        let mut source = Sessions::new(config, Seed(3).stream("host"), Time::ZERO);
        let mut seen: Vec<(Time, u32)> = Vec::new();
        while seen.len() < count {
            let now = source.deadline().unwrap().at;
            let mut sent = Vec::new();
            step(&mut source, now, Wake::Timeout, &mut |o| {
                sent.extend(o.segment());
            });
            seen.push((now, 0));
            while let Some(data) = sent.pop() {
                let length = &mut seen.last_mut().unwrap().1;
                *length = (*length).max(data.number + 1);
                let ack = Segment {
                    kind: SegmentKind::Ack,
                    window: config.tcp.receiver_window,
                    number: data.number + 1,
                    ..data
                };
                source.handle_input(now, ack, &mut |o| sent.extend(o.segment()));
            }
        }
        seen
    }

    #[test]
    fn the_current_session_sends_nothing_new_after_the_stop() {
        let stop = Time(1_000_000_000);
        for overhead in [Duration::ZERO, Duration::from_millis(40)] {
            let config = SessionConfig {
                idle: Duration::from_millis(1),
                mu: 16.0,
                sigma: 0.1,
                tcp: TcpConfig::default(),
                overhead,
            };
            let stream = Seed(3).stream("host");
            let mut source = Sessions::new(config, stream, Time::ZERO).until(stop);
            let (before, after) = new_data_after(&mut source, stop);
            assert!(before > 10 && after == 0, "{before} before, {after} after");
            assert_eq!(source.congestion_window(), None, "the session is over");
        }
    }

    #[test]
    fn pauses_and_sizes_have_their_means() {
        let seen = sessions(20_000);
        let mean_pause = seen.last().unwrap().0.as_secs_f64() / seen.len() as f64;
        assert!((mean_pause - 0.6).abs() < 0.02, "{mean_pause}");
        let mean_size = seen.iter().map(|s| f64::from(s.1)).sum::<f64>() / seen.len() as f64;
        // exp(mu + sigma^2 / 2) = 27.6 kB, and half a segment on the average for the last one.
        assert!((mean_size - 28.1).abs() < 1.5, "{mean_size}");
    }
}
