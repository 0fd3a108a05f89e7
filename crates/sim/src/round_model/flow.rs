//! A flow and its window.

use super::config::{Response, RoundModelConfig};

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    window: u32,
    threshold: u32,
    begins: u32,
    limit: u32,
    response: Response,
    marked: bool,
    sent: u64,
    delivered: u64,
}

impl Flow {
    pub(super) fn new(config: &RoundModelConfig, number: u32) -> Self {
        let is_late = number + 1 == config.flows;
        Self {
            window: 0,
            // Without slow start the window exceeds the threshold from the start.
            threshold: if config.slow_start { u32::MAX } else { 0 },
            begins: if is_late { config.late } else { 0 },
            limit: u32::try_from(config.packets()).unwrap_or(u32::MAX),
            response: config.response,
            marked: false,
            sent: 0,
            delivered: 0,
        }
    }

    /// The window: the packets sent in a round; 0 before the flow begins.
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// The packets sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// The packets that arrived.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Starts the flow with a window of 1 in its round.
    pub(super) const fn begin(&mut self, round: u32) {
        if self.window == 0 && round >= self.begins {
            self.window = 1;
        }
    }

    /// Sets the window of the next round, in packets.
    pub(super) const fn set_window(&mut self, window: u32) {
        self.window = window;
    }

    /// A packet of the round carries a congestion mark.
    pub(super) const fn mark(&mut self) {
        self.marked = true;
    }

    /// Ends a round in which the flow lost `lost` packets.
    pub(super) fn end(&mut self, lost: u32) {
        if self.window == 0 {
            return;
        }
        self.sent += u64::from(self.window);
        self.delivered += u64::from(self.window - lost);
        if lost > 0 {
            self.reduce(self.response);
        } else if self.marked {
            self.reduce(Response::Halve);
        } else if self.window < self.threshold {
            self.window = self.window.saturating_mul(2).min(self.threshold);
            self.window = self.window.min(self.limit);
        } else {
            self.window = (self.window + 1).min(self.limit);
        }
        self.marked = false;
    }

    fn reduce(&mut self, response: Response) {
        let half = self.window / 2;
        if self.threshold > 0 {
            self.threshold = half.max(2);
        }
        self.window = match response {
            Response::Reset => 1,
            Response::Halve => half.max(1),
        };
    }
}
