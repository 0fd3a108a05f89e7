//! The control unit at the receiver (the paper's Fig. 1): samples the throughput and
//! publishes the wanted state.

use alloc::boxed::Box;

use super::config::ControllerConfig;
use super::controller::{ConnectionController, Sample};
use super::parameters::{ControlConfig, Target};
use super::throughput_meter::ThroughputMeter;
use super::windows::Windows;
use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// Drives a [`ConnectionController`]: its deadlines are the ends of the sampling intervals delta.
///
/// Sampling starts with the first round-trip time; until then [`ControlUnit::wanted`] returns the
/// initial state.
#[derive(Clone, Debug)]
pub struct ControlUnit {
    controller: Box<dyn ConnectionController>,
    config: ControlConfig,
    /// The rate of the media.
    rate: Rate,
    /// Whether the sender waited for its source in this interval, and whether it does now.
    is_application_limited: bool,
    is_idle: bool,
    meter: ThroughputMeter,
    rtt: Option<Duration>,
    next: Option<Time>,
}

/// An input of a control unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlInput {
    /// The connections have delivered this many more bytes, each in its own order.
    Delivered(Bytes),
    /// The receiver's new estimate of the round-trip time.
    Rtt(Duration),
    /// The sender could have sent more in this interval, and waited for its source.
    ApplicationLimited {
        /// Whether it still does: then the next intervals are application-limited, too.
        is_idle: bool,
    },
}

/// The wanted state from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlDecision {
    /// The sample that led to it; `None` for the first round-trip time.
    pub sample: Option<Sample>,
    /// The wanted connections and windows.
    pub wanted: Windows,
}

impl ControlUnit {
    /// Creates a control unit for a stream that has not started.
    #[must_use]
    pub fn new(controller: ControllerConfig, target: Target) -> Self {
        let config = controller.control();
        Self {
            controller: controller.build(target),
            config,
            rate: target.rate,
            is_application_limited: false,
            is_idle: false,
            meter: ThroughputMeter::new(&config, Time::ZERO),
            rtt: None,
            next: None,
        }
    }

    /// The wanted connections and windows now.
    #[must_use]
    pub fn wanted(&self) -> Windows {
        self.controller.wanted()
    }

    /// Uses at most `most` connections from now on.
    pub fn limit(&mut self, most: u32) {
        self.controller.limit(most);
    }

    /// Sets the desired throughput, from the next sample on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.controller.set_rate(rate);
    }

    fn start(&mut self, now: Time, rtt: Duration) -> ControlDecision {
        self.controller.initialize(now, rtt);
        self.meter = ThroughputMeter::new(&self.config, now);
        self.next = Some(now + self.config.interval_at(rtt));
        ControlDecision {
            sample: None,
            wanted: self.controller.wanted(),
        }
    }
}

impl Machine for ControlUnit {
    type Input = ControlInput;
    type Output = ControlDecision;

    fn handle_input(
        &mut self,
        now: Time,
        input: ControlInput,
        out: &mut impl FnMut(ControlDecision),
    ) {
        match input {
            ControlInput::Delivered(size) => self.meter.add(size),
            ControlInput::ApplicationLimited { is_idle } => {
                (self.is_application_limited, self.is_idle) = (true, is_idle);
            }
            ControlInput::Rtt(rtt) => {
                if self.rtt.replace(rtt).is_none() {
                    out(self.start(now, rtt));
                }
            }
        }
    }

    /// A late wake gives one sample over the longer interval, not several samples.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ControlDecision)) {
        let (Some(rtt), Some(_)) = (self.rtt, self.next.filter(|at| *at <= now)) else {
            return;
        };
        self.next = Some(now + self.config.interval_at(rtt));
        let is_application_limited =
            core::mem::replace(&mut self.is_application_limited, self.is_idle);
        // What the source did not give does not count as missing afterwards.
        let at_least = is_application_limited.then_some(self.rate);
        let Some(throughput) = self.meter.sample(now, at_least) else {
            return;
        };
        let sample = Sample {
            throughput,
            rtt,
            is_application_limited,
        };
        self.controller.handle_sample(now, &sample);
        out(ControlDecision {
            sample: Some(sample),
            wanted: self.controller.wanted(),
        });
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = self.next?;
        Some(Deadline {
            at,
            why: "end of a sampling interval",
        })
    }
}
