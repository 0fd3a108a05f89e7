//! The congestion window and the slow start threshold, in segments.

use polypath_core::time::{Duration, Time};

use super::config::TcpConfig;
use super::congestion::{Congestion, CongestionControl, DeliverySample, MIN_SSTHRESH};

/// The window of one connection; never below one segment.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    control: Congestion,
}

impl Window {
    /// The initial window, or one segment if the first is a SYN; the threshold is the receiver
    /// window, or the least if a model sets the window.
    pub(super) fn new(config: &TcpConfig) -> Self {
        let initial = if config.syn { 1 } else { config.initial_window };
        let control = Congestion::new(config.variant);
        let ssthresh = match control {
            Congestion::Bbr(_) => MIN_SSTHRESH,
            Congestion::Reno(_) | Congestion::Cubic(_) => f64::from(config.receiver_window),
        };
        Self {
            cwnd: f64::from(initial.max(1)),
            ssthresh,
            control,
        }
    }

    #[inline]
    pub(super) const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    pub(super) const fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The congestion window in whole segments.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` truncates, which is what is wanted of a small positive number"
    )]
    #[inline]
    pub(super) const fn whole(&self) -> u32 {
        self.cwnd as u32
    }

    /// Opens the initial window when the SYN is acknowledged.
    pub(super) fn open(&mut self, segments: u32) {
        self.cwnd = f64::from(segments.max(1));
    }

    /// Grows by slow start below the threshold and by congestion avoidance above it (RFC 5681,
    /// 3.1).
    #[inline]
    pub(super) fn grow(&mut self, now: Time, acked: u32) {
        self.cwnd = if self.cwnd < self.ssthresh {
            self.cwnd + 1.0
        } else {
            self.control.avoid(now, self.cwnd, acked)
        };
    }

    /// Reacts to a fast retransmit (RFC 5681, 3.2) or a congestion mark (RFC 3168, 6.1.2).
    pub(super) fn reduce(&mut self, in_use: f64) {
        let reduced = self.control.reduce(in_use);
        self.cwnd = reduced.cwnd;
        self.ssthresh = reduced.ssthresh;
    }

    /// Reacts to a timeout (RFC 5681, 3.1), and to any loss without fast recovery.
    pub(super) fn restart(&mut self, in_use: f64) {
        self.ssthresh = self.control.restart(in_use);
        self.cwnd = 1.0;
    }

    /// Deflates the window by segments that have left the network (RFC 6582, 3.2, step 3).
    pub(super) fn deflate(&mut self, segments: u32) {
        self.cwnd = (self.cwnd - f64::from(segments)).max(1.0);
    }

    /// Conserves packets, with `in_flight` of them, if a model sets the window.
    pub(super) fn conserve(&mut self, in_flight: u32) {
        if let Congestion::Bbr(bbr) = &mut self.control {
            self.cwnd = bbr.enter_recovery(in_flight, self.cwnd);
        }
    }

    /// Restores the window before a recovery, if a model sets it.
    pub(super) fn leave_recovery(&mut self) {
        if let Congestion::Bbr(bbr) = &mut self.control {
            self.cwnd = bbr.leave_recovery(self.cwnd);
        }
    }

    /// Processes the delivery of segments, if a model sets the window.
    pub(super) fn on_delivery(&mut self, now: Time, sample: &DeliverySample) {
        if let Congestion::Bbr(bbr) = &mut self.control {
            self.cwnd = bbr.on_ack(now, sample, self.cwnd);
        }
    }

    /// Whether a model keeps the window almost empty for a measurement.
    pub(super) fn is_probing_rtt(&self) -> bool {
        matches!(&self.control, Congestion::Bbr(bbr) if bbr.is_probing_rtt())
    }

    /// Notes that the application sends again after a pause, if a model sets the window.
    pub(super) fn restart_from_idle(&mut self) {
        if let Congestion::Bbr(bbr) = &mut self.control {
            bbr.restart_from_idle();
        }
    }

    /// The pacing rate in segments per second; `None` if segments are not paced, or not yet.
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        match &self.control {
            Congestion::Bbr(bbr) => bbr.pacing_rate(),
            Congestion::Reno(_) | Congestion::Cubic(_) => None,
        }
    }

    /// Processes a measured round-trip time.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration) {
        self.control.sample(rtt);
    }
}
