//! A source of spaced packets: the sender of [`polypath_core::spacing`] at a link that takes what
//! it sends.

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::spacing::{SenderConfig, SenderInput, SenderOutput, SpacedSender};
use polypath_core::time::Time;

/// A sender with a start and a stop time; it passes each packet to its link immediately.
#[derive(Clone, Debug)]
pub struct SpacedSource {
    sender: SpacedSender,
    /// The start time; `None` once started.
    start: Option<Time>,
    stop: Time,
}

impl SpacedSource {
    /// A source that starts at `start` and sends nothing at `stop` or later; [`Time::MAX`] for no
    /// stop.
    #[must_use]
    pub fn new(config: &SenderConfig, start: Time, stop: Time) -> Self {
        Self {
            sender: SpacedSender::new(config, start),
            start: Some(start),
            stop,
        }
    }

    fn wake(&mut self, now: Time, wake: Wake<SenderInput>, out: &mut impl FnMut(SenderOutput)) {
        let mut wake = Some(wake);
        while let Some(what) = wake.take() {
            step(&mut self.sender, now, what, &mut |output| {
                if matches!(output, SenderOutput::Transmit(_)) {
                    wake = Some(Wake::Input(SenderInput::Writable));
                }
                out(output);
            });
        }
    }
}

impl Machine for SpacedSource {
    type Input = SenderInput;
    type Output = SenderOutput;

    fn handle_input(&mut self, now: Time, input: SenderInput, out: &mut impl FnMut(SenderOutput)) {
        if now < self.stop {
            self.wake(now, Wake::Input(input), out);
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(SenderOutput)) {
        if self.start.is_none_or(|start| start <= now) && now < self.stop {
            if self.start.take().is_some() {
                self.wake(now, Wake::Input(SenderInput::Writable), out);
            }
            self.wake(now, Wake::Timeout, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let start = self.start.map(|at| Deadline { at, why: "start" });
        let next = start.or_else(|| self.sender.deadline());
        next.filter(|deadline| deadline.at < self.stop)
    }
}
