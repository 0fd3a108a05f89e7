//! The congestion window of Reno (RFC 5681), in segments.

use super::TcpConfig;

/// Least slow start threshold after a loss, in segments (RFC 5681, equation 4).
const LEAST_SSTHRESH: f64 = 2.0;

/// Congestion window and slow start threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    receiver: f64,
    /// Segments that duplicate ACKs have shown to have left the network during fast recovery.
    inflation: u32,
}

impl Window {
    /// The initial window, or one segment if the first is a SYN.
    pub(super) fn new(config: &TcpConfig) -> Self {
        let receiver = f64::from(config.receiver_window);
        let initial = if config.syn { 1 } else { config.initial_window };
        Self {
            cwnd: f64::from(initial),
            ssthresh: receiver,
            receiver,
            inflation: 0,
        }
    }

    pub(super) const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// What may be outstanding, in whole segments.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a window is a small positive number"
    )]
    pub(super) fn segments(&self) -> u32 {
        (self.cwnd.floor() + f64::from(self.inflation)).min(self.receiver) as u32
    }

    /// The SYN is acknowledged; one that was lost leaves a window of one segment (RFC 5681, 3.1).
    pub(super) fn open(&mut self, config: &TcpConfig, syn_was_lost: bool) {
        let initial = if syn_was_lost {
            1
        } else {
            config.initial_window
        };
        self.cwnd = f64::from(initial);
    }

    /// Slow start below the threshold, congestion avoidance from it on (RFC 5681, 3.1).
    pub(super) fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh {
            1.0
        } else {
            1.0 / self.cwnd
        };
    }

    /// Answers a fast retransmit (RFC 5681, 3.2).
    pub(super) fn halve(&mut self) {
        let half = self.half();
        self.ssthresh = half.max(LEAST_SSTHRESH);
        self.cwnd = half.max(1.0);
    }

    /// Answers a timeout (RFC 5681, 3.1).
    pub(super) fn restart(&mut self) {
        self.deflate();
        self.ssthresh = self.half().max(LEAST_SSTHRESH);
        self.cwnd = 1.0;
    }

    pub(super) fn inflate(&mut self, segments: u32) {
        self.inflation += segments;
    }

    pub(super) fn deflate(&mut self) {
        self.inflation = 0;
    }

    /// Half of what may be outstanding, in whole segments.
    fn half(&self) -> f64 {
        f64::from(self.segments() / 2)
    }
}
