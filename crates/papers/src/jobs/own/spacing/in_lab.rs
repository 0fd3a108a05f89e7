//! The senders on real sockets, beside the kernel's TCP, through one emulated link.

use polypath_claims::{JobError, LabJob, LabOutcome, LabRun};
use polypath_core::rng::Seed;
use polypath_core::spacing::SenderConfig;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_report::spaced::{SpacedOutcome, SpacedRun, SpacedSenderOutcome};
use polypath_scenario::Scenario;
use polypath_scenario::network::traffic::Traffic;
use serde::Serialize;

use super::{ACCESS, CAPACITY, Shares, Sharing};

/// The interval of the rates over time, which nobody reads.
const BIN: Duration = Duration::from_secs(1);

/// A run whose senders all have the first of the round-trip times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SharingInLab(pub(crate) Sharing);

impl SharingInLab {
    /// The name of the TCP in the kernel, whose Reno uses selective acknowledgments.
    fn congestion_control(&self) -> &'static str {
        match self.0.tcp {
            None | Some("sack") => "reno",
            Some(variant) => variant,
        }
    }

    fn run(&self) -> Result<SpacedRun, JobError> {
        let sharing = &self.0;
        let span = |seconds: u32| Duration::from_secs(seconds.into());
        Ok(SpacedRun {
            scenario: self.scenario()?,
            senders: self.senders()?,
            reordering: 0,
            transfers: sharing.tcp.map_or(0, |_| sharing.senders),
            congestion_control: self.congestion_control().to_owned(),
            warm_up: span(sharing.span.warm_up),
            measured: span(sharing.span.seconds - sharing.span.warm_up),
            bin: BIN,
            seed: sharing.seed,
        })
    }

    fn scenario(&self) -> Result<Scenario, JobError> {
        let (buffer, delay) = (self.0.buffer, self.0.round_trip(0) / 2);
        let text = format!(
            "schema = 1\nname = \"sharing\"\nschemes = [\"tcp\"]\n\
             transfer = {{ size = \"1 MB\", count = 1 }}\n\
             [[path]]\nname = \"shared\"\n\
             link = [{{ rate = \"{CAPACITY} Mbit/s\", delay = \"{delay} ms\", queue = \"{buffer} packets\" }}]\n"
        );
        Ok(Scenario::parse(&text, "sharing.toml", &[])?)
    }

    /// The senders of the simulation.
    fn senders(&self) -> Result<Vec<(SenderConfig, Duration)>, JobError> {
        let mut senders = Vec::new();
        for flow in &self.0.network()?.flows {
            let Traffic::Spaced(spaced) = &flow.traffic else {
                continue;
            };
            let simulated = spaced.sender(Some(Rate::from_mbits(ACCESS)));
            let simulated =
                simulated.ok_or_else(|| JobError::Other("a sender has no line rate".to_owned()))?;
            let config = SenderConfig {
                // A sender on sockets can be late.
                catch_up: SenderConfig::new(simulated.control, simulated.packet).catch_up,
                ..simulated
            };
            let [start, _] = flow.span(Seed(self.0.seed), &flow.name);
            senders.push((config, start.since(Time::ZERO)));
        }
        Ok(senders)
    }

    fn shares(&self, outcome: &SpacedOutcome) -> Shares {
        let base = f64::from(self.0.round_trip(0)) / 2.0;
        let total =
            |of: fn(&SpacedSenderOutcome) -> u64| outcome.senders.iter().map(of).sum::<u64>();
        let (sent, arrived) = (total(|of| of.packets), total(|of| of.arrived));
        let delays: Vec<f64> = outcome.senders.iter().filter_map(|of| of.delay).collect();
        let queueing = delays.iter().map(|delay| delay * 1e3 - base).sum::<f64>();
        Shares {
            media: outcome.senders.iter().map(|of| of.received / 1e6).collect(),
            tcp: outcome.transfers.iter().map(|rate| rate / 1e6).collect(),
            lost: (1.0 - arrived as f64 / sent.max(1) as f64).max(0.0),
            queueing: queueing / delays.len().max(1) as f64,
        }
    }
}

impl LabJob for SharingInLab {
    type Output = Shares;

    const KIND: &'static str = "own.spacing.lab";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        Ok(vec![LabRun::Spaced(Box::new(self.run()?))])
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<Shares, JobError> {
        match outcomes {
            [LabOutcome::Spaced(outcome)] => Ok(self.shares(outcome)),
            _ => Err(JobError::Other(
                "the outcome is not that of spaced packets".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_core::spacing::ControlConfig;
    use polypath_scenario::network::traffic::spaced::Control;

    use super::*;
    use crate::jobs::psp::merge::Span;

    fn sharing() -> SharingInLab {
        SharingInLab(Sharing {
            control: Control::Cubic,
            senders: 2,
            round_trips: vec![40],
            tcp: Some("sack"),
            buffer: 20,
            halved_at: None,
            span: Span {
                seconds: 20,
                warm_up: 12,
            },
            seed: 1,
        })
    }

    #[test]
    fn the_lab_has_the_senders_and_the_bottleneck_of_the_simulation() {
        let run = sharing().run().unwrap();
        assert_eq!((run.transfers, &run.congestion_control[..]), (2, "reno"));
        let initial = |at: usize| match run.senders[at].0.control {
            ControlConfig::Cubic(config) => config.initial,
            other => panic!("{other:?}"),
        };
        assert_eq!(initial(0), Duration::from_micros(300));
        assert_eq!(initial(1), Duration::from_millis(30));
        let second = Duration::from_secs(1);
        assert!(run.senders[0].1 <= second);
        assert!((second * 10..=second * 11).contains(&run.senders[1].1));
        let link = &run.scenario.paths[0].links[0];
        assert_eq!(link.delay, Duration::from_millis(20));
    }

    #[test]
    fn the_time_in_queues_is_the_delay_beyond_that_of_the_link() {
        let sender = |received, delay| SpacedSenderOutcome {
            received,
            delay: Some(delay),
            packets: 1000,
            arrived: 990,
            ..SpacedSenderOutcome::default()
        };
        let shares = sharing().shares(&SpacedOutcome {
            senders: vec![sender(4e6, 0.030), sender(6e6, 0.026)],
            transfers: vec![5e6, 5e6],
        });
        assert_eq!((shares.media, shares.tcp), (vec![4.0, 6.0], vec![5.0, 5.0]));
        assert!((shares.queueing - 8.0).abs() < 1e-9, "{}", shares.queueing);
        assert!((shares.lost - 0.01).abs() < 1e-9);
    }
}
