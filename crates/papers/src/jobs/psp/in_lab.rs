//! Spaced senders on real sockets, beside the kernel's TCP, through an emulated gateway.

use polypath_claims::{JobError, LabJob, LabOutcome, LabRun};
use polypath_core::rng::Seed;
use polypath_core::spacing::{AdaptiveConfig, ControlConfig, SenderConfig};
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use polypath_report::spaced::{SpacedOutcome, SpacedRun, SpacedSenderOutcome};
use polypath_scenario::Scenario;
use polypath_scenario::network::traffic::spaced::Control;
use serde::{Deserialize, Serialize};

use super::arrivals::Moments;
use super::merge::{Media, Merge, Protocol, Starts};
use super::steady::{Flow, Flows};
use super::trace::{BIN, RateTrace};

/// The one-way delay of a sender's link and of the shared link in ms (3.1).
const DELAY: u32 = 42;
/// The span within which fixed senders start, and the largest error of their clocks.
const SPREAD: f64 = 0.1;
const DRIFT: f64 = 0.005;
/// The congestion control of the transfers, by the kernel's name.
pub(crate) const CONGESTION_CONTROL: &str = "reno";

/// A run over the topology of Fig. 6: the link of each sender is its line rate, and the windows of
/// the transfers are the kernel's, which are not limited.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InLab(pub(crate) Merge);

/// The result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LabFlows {
    pub(crate) flows: Flows,
    pub(crate) traces: Vec<RateTrace>,
    /// The gaps of the first sender at the receiver, in microseconds, from the end of a packet to the
    /// start of the next; without a loss in between.
    pub(crate) gaps: Option<Moments>,
}

impl InLab {
    fn run(&self) -> Result<SpacedRun, JobError> {
        let merge = &self.0;
        let span = |seconds: u32| Duration::from_secs(u64::from(seconds));
        Ok(SpacedRun {
            scenario: self.scenario()?,
            senders: self.senders(),
            reordering: 0,
            transfers: merge.tcp.map_or(0, |tcp| tcp.count),
            congestion_control: CONGESTION_CONTROL.to_owned(),
            warm_up: span(merge.span.warm_up),
            measured: span(merge.span.seconds - merge.span.warm_up),
            bin: BIN,
            seed: merge.seed,
        })
    }

    fn scenario(&self) -> Result<Scenario, JobError> {
        let Merge { shared, buffer, .. } = self.0;
        let text = format!(
            "schema = 1\nname = \"packet-spacing\"\nschemes = [\"tcp\"]\n\
             transfer = {{ size = \"1 MB\", count = 1 }}\n\
             [[path]]\nname = \"gateway\"\n\
             link = [{{ rate = \"{shared} Mbit/s\", delay = \"{DELAY} ms\", queue = \"{buffer} packets\" }}]\n"
        );
        Ok(Scenario::parse(&text, "packet-spacing.toml", &[])?)
    }

    fn senders(&self) -> Vec<(SenderConfig, Duration)> {
        let merge = &self.0;
        let mut stream = Seed(merge.seed).stream("psp/lab");
        let packet = Bytes(u64::from(merge.packet));
        let transmission = Duration::from_secs_f64(merge.interval(0.0) * 1e-6);
        let sender = |control| SenderConfig {
            line_rate: Rate::average(packet, transmission),
            ..SenderConfig::new(control, packet)
        };
        let mut all = Vec::new();
        for number in 0..merge.senders() {
            let phase = SPREAD * stream.uniform();
            let clock = 1.0 + DRIFT * (2.0 * stream.uniform() - 1.0);
            let (config, after) = match merge.media {
                Media::Fixed {
                    spacing, starts, ..
                } => {
                    let clock = if starts == Starts::Drift { clock } else { 1.0 };
                    let interval = merge.interval(f64::from(spacing)) * clock;
                    let spacing = interval - merge.interval(0.0);
                    let spacing = Duration::from_secs_f64(spacing.max(0.0) * 1e-6);
                    let phase = if starts == Starts::Simul { 0.0 } else { phase };
                    (sender(ControlConfig::Fixed { spacing }), phase)
                }
                Media::Adaptive { protocol, late, .. } => {
                    let late = if number == 1 { f64::from(late) } else { 0.0 };
                    let config = SenderConfig {
                        counting: protocol.counting,
                        ..sender(control(protocol))
                    };
                    (config, phase + late)
                }
            };
            all.push((config, Duration::from_secs_f64(after)));
        }
        all
    }
}

fn control(protocol: Protocol) -> ControlConfig {
    let adaptive = AdaptiveConfig {
        attribution: protocol.attribution,
        ..AdaptiveConfig::default()
    };
    match protocol.control {
        Control::Fixed => ControlConfig::Fixed {
            spacing: Duration::ZERO,
        },
        Control::AdHoc => ControlConfig::AdHoc(adaptive),
        Control::Damped => ControlConfig::Damped(adaptive),
        Control::Cubic => ControlConfig::Cubic(polypath_core::spacing::CubicConfig::default()),
    }
}

impl LabJob for InLab {
    type Output = LabFlows;

    const KIND: &'static str = "psp.lab";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        Ok(vec![LabRun::Spaced(Box::new(self.run()?))])
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<LabFlows, JobError> {
        match outcomes {
            [LabOutcome::Spaced(outcome)] => Ok(self.flows(outcome)),
            _ => Err(JobError::Other(
                "the outcome is not that of spaced packets".to_owned(),
            )),
        }
    }
}

impl InLab {
    fn flows(&self, outcome: &SpacedOutcome) -> LabFlows {
        let first = outcome.senders.first();
        let last_bit = f64::from(self.0.packet) * 8.0 / f64::from(self.0.shared);
        LabFlows {
            flows: Flows {
                media: outcome.senders.iter().map(flow).collect(),
                tcp: outcome
                    .transfers
                    .iter()
                    .map(|&rate| transfer(rate))
                    .collect(),
            },
            traces: outcome
                .senders
                .iter()
                .map(|sender| self.trace(sender))
                .collect(),
            gaps: first
                .and_then(|sender| sender.gaps)
                .map(|(mean, deviation)| Moments {
                    mean: mean * 1e6 - last_bit,
                    deviation: deviation * 1e6,
                }),
        }
    }

    /// The trace of a sender; its deviation is that of the rates of whole intervals.
    fn trace(&self, sender: &SpacedSenderOutcome) -> RateTrace {
        let rates: Vec<f64> = sender.rates.iter().map(|rate| rate / 1e6).collect();
        let warm_up = Duration::from_secs(u64::from(self.0.span.warm_up));
        let skipped = usize::try_from(warm_up.0 / BIN.0).unwrap_or(usize::MAX);
        let measured = || rates.iter().skip(skipped);
        let count = measured().count().max(1) as f64;
        let mean = measured().sum::<f64>() / count;
        let squares: f64 = measured().map(|rate| (rate - mean).powi(2)).sum();
        RateTrace {
            mean: sender.sent / 1e6,
            deviation: (squares / count).sqrt(),
            received: sender.received / 1e6,
            loss: lost(sender),
            rates,
            first: Vec::new(),
        }
    }
}

fn lost(sender: &SpacedSenderOutcome) -> f64 {
    if sender.sent > 0.0 {
        (1.0 - sender.received / sender.sent).max(0.0)
    } else {
        0.0
    }
}

fn flow(sender: &SpacedSenderOutcome) -> Flow {
    Flow {
        sent: sender.sent / 1e6,
        received: sender.received / 1e6,
        packets: sender.packets,
        dropped: sender.packets.saturating_sub(sender.arrived),
    }
}

/// A transfer, of which the lab counts neither packets nor losses.
fn transfer(rate: f64) -> Flow {
    Flow {
        sent: rate / 1e6,
        received: rate / 1e6,
        packets: 0,
        dropped: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge::Span;
    use super::*;

    const SPAN: Span = Span {
        seconds: 20,
        warm_up: 5,
    };

    #[test]
    fn a_run_has_the_senders_and_the_gateway_of_the_simulation() {
        let merge = Merge::fixed(16, 1000, SPAN, 3).with_tcp(10, 800);
        let run = InLab(merge.clone()).run().unwrap();
        assert_eq!((run.senders.len(), run.transfers), (16, 10));
        assert_eq!(run.measured, Duration::from_secs(15));
        for (config, after) in &run.senders {
            let ControlConfig::Fixed { spacing } = config.control else {
                panic!("{config:?}")
            };
            let micros = spacing.as_secs_f64() * 1e6;
            assert!((micros - 1000.0).abs() < 6.0, "{micros}");
            assert!(*after < Duration::from_millis(100));
        }
        assert_eq!(
            InLab(merge).run().unwrap().senders,
            run.senders,
            "by the seed"
        );
    }

    #[test]
    fn rates_and_losses_are_those_of_the_outcome() {
        let merge = Merge::fixed(1, 1000, SPAN, 3);
        let sender = SpacedSenderOutcome {
            sent: 10e6,
            received: 9e6,
            packets: 1000,
            arrived: 900,
            rates: vec![1e6; 40],
            gaps: Some((0.0016, 0.0001)),
            delay: Some(0.084),
        };
        let flows = InLab(merge).flows(&SpacedOutcome {
            senders: vec![sender],
            transfers: vec![5e6],
        });
        assert_eq!(flows.flows.media[0].dropped, 100);
        assert!((flows.flows.tcp[0].received - 5.0).abs() < 1e-9);
        assert!(flows.traces[0].deviation.abs() < 1e-9);
        let gaps = flows.gaps.unwrap();
        assert!(
            (gaps.mean - (1600.0 - 1400.0 * 8.0 / 155.0)).abs() < 1e-6,
            "{gaps:?}"
        );
    }
}
