//! The same streams by the deployed server and receiver over emulated links, beside transfers of the
//! kernel's TCP.

use polypath_claims::{JobError, LabJob, LabOutcome, LabRun};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_report::streams::{
    StreamCarrier, StreamMedia, StreamOutcome, StreamTransport, StreamsRun, TransferTime,
};
use polypath_scenario::Scenario;
use serde::Serialize;

use super::setting::{self, CrossKind, Queue, Setting};
use super::time_series::TimeSeries;

/// The streams of several settings that differ in the controller only, all at the same time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StreamingInLab {
    /// The settings, of which the first one has the link, the transfers, and the rate.
    pub(crate) settings: Vec<Setting>,
    /// The congestion control, by the kernel's name.
    pub(crate) congestion_control: &'static str,
}

impl StreamingInLab {
    fn run(&self) -> Result<StreamsRun, JobError> {
        let invalid = |why: &str| JobError::Other(why.to_owned());
        let first = self.settings.first().ok_or_else(|| invalid("no stream"))?;
        let streams = self.settings.iter().zip(1..).map(|(setting, number)| {
            let setting::StreamCarrier::Controller(controller) = setting.stream.by else {
                return Err(invalid("a stream without a controller"));
            };
            Ok(StreamCarrier {
                name: format!("stream {number}"),
                transport: StreamTransport::Connections(controller),
            })
        });
        Ok(StreamsRun {
            scenario: scenario(first)?,
            media: StreamMedia::Endless,
            streams: streams.collect::<Result<_, _>>()?,
            rate: kbits(first.stream.kbits),
            connection_limit: first.stream.limit.map(kbits),
            play_out: first.play_out(),
            transfers: transfers(first),
            congestion_control: self.congestion_control.to_owned(),
            duration: Duration::from_secs(u64::from(first.seconds)),
            seed: first.seed,
        })
    }
}

fn kbits(kbits: u32) -> Rate {
    Rate(u64::from(kbits) * 1000)
}

/// The last link, with the delay of the whole path: the links before it are never full.
fn scenario(setting: &Setting) -> Result<Scenario, JobError> {
    let (sender, receiver) = (setting.links.sender, setting.links.receiver);
    let queue = match setting.links.queue {
        Queue::DropTail(limit) => format!("\"{limit} packets\""),
        Queue::Red(limit) => format!("{{ kind = \"red\", limit = \"{limit} packets\" }}"),
        Queue::RedInBytes(_) => {
            return Err(JobError::Other("no such queue in the lab".to_owned()));
        }
    };
    let text = format!(
        "schema = 1\nname = \"multitcp\"\nschemes = [\"tcp\"]\n\
         transfer = {{ size = \"1 MB\", count = 1 }}\n\
         [[path]]\nname = \"access\"\n\
         link = [{{ rate = \"{} kbit/s\", delay = \"{} ms\", queue = {queue} }}]\n",
        receiver.kbits,
        sender.delay + receiver.delay,
    );
    Ok(Scenario::parse(&text, "multitcp.toml", &[])?)
}

/// The TCP transfers, each by itself.
fn transfers(setting: &Setting) -> Vec<TransferTime> {
    let of_cross = setting.cross.iter().flat_map(|cross| {
        let CrossKind::Tcp(count) = cross.what else {
            return Vec::new();
        };
        let at = |ms: u32| Duration::from_millis(u64::from(ms));
        let time = TransferTime {
            from: at(cross.from),
            until: at(cross.to),
        };
        vec![time; count as usize]
    });
    of_cross.collect()
}

impl LabJob for StreamingInLab {
    type Output = Vec<TimeSeries>;

    const KIND: &'static str = "multitcp.streaming.lab";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        Ok(vec![LabRun::Streams(Box::new(self.run()?))])
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<Vec<TimeSeries>, JobError> {
        match outcomes {
            [LabOutcome::Streams(outcomes)] => Ok(outcomes.iter().map(series).collect()),
            _ => Err(JobError::Other(
                "the outcome is not that of streams".to_owned(),
            )),
        }
    }
}

/// The series of a stream; the lab reports no steps of windows.
fn series(outcome: &StreamOutcome) -> TimeSeries {
    let kbits = |rates: &[f64]| rates.iter().map(|rate| rate / 1e3).collect();
    TimeSeries {
        throughput: kbits(&outcome.throughput),
        windows: outcome.windows.clone(),
        connections: outcome.connections.clone(),
        cross: kbits(&outcome.transfers),
        stops: outcome.stops,
        peak: None,
        difference: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{adjust, table_2};
    use super::super::setting::{CrossTraffic, Hosts, Links, Stream, Wire};
    use super::*;

    #[test]
    fn a_setting_is_a_run_over_its_last_link_with_the_whole_delay() {
        let wire = |kbits, delay| Wire { kbits, delay };
        let setting = Setting {
            links: Links {
                sender: wire(100_000, 60),
                generator: wire(100_000, 60),
                receiver: wire(840, 10),
                queue: Queue::DropTail(50),
            },
            stream: Stream {
                kbits: 480,
                by: setting::StreamCarrier::Controller(adjust(4, table_2())),
                limit: Some(480),
                play: Some([10, 5]),
            },
            cross: vec![CrossTraffic {
                what: CrossKind::Tcp(2),
                from: 401_000,
                to: 1_000_000,
            }],
            hosts: Hosts::reno(840),
            seconds: 1000,
            seed: 3,
        };
        let job = StreamingInLab {
            settings: vec![setting.clone(), setting],
            congestion_control: "reno",
        };
        let run = job.run().unwrap();
        let link = &run.scenario.paths[0].links[0];
        assert_eq!(link.delay, Duration::from_millis(70));
        assert_eq!(
            (run.rate, run.connection_limit),
            (kbits(480), Some(kbits(480)))
        );
        assert_eq!((run.streams.len(), run.transfers.len()), (2, 2));
        assert_eq!(run.transfers[0].from, Duration::from_secs(401));
        assert!(run.play_out.is_some());
    }
}
