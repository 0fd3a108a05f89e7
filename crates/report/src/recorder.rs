//! Folds the events of both endpoints of an overlay into its record.

use std::io::BufRead;

use hdrhistogram::Histogram;
use polypath_core::event::{Event, Stamped, VERSION};
use polypath_core::frame::PathId;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_sim::Side;

use crate::record::{DelayQuantiles, DirectionRecord, OverlayRecord, PathRecord, Switch};

/// Width of a bin of the throughput series.
const BIN: Duration = Duration::from_secs(1);

/// No bin is kept later than this after the start of the run (a day), whatever an event's time.
const MAX_BINS: u64 = 86_400;

/// Folds events, in the order of their times at each end, into an [`OverlayRecord`].
#[derive(Clone, Debug)]
pub struct Recorder {
    record: OverlayRecord,
    delays: Vec<[Histogram<u64>; 2]>,
}

/// An error in reading an event stream.
#[derive(Debug, thiserror::Error)]
pub enum ReadEventsError {
    /// A line is not an event of this version.
    #[error("line {line} is not an event: {source}")]
    NotAnEvent {
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
    /// The stream is of a version that this program does not read.
    #[error("line {line}: event stream of version {version}, this program reads version {VERSION}")]
    Version {
        /// The line, from 1.
        line: usize,
        /// The version in the file.
        version: u32,
    },
    /// The stream ended in an error.
    #[error("line {line} could not be read: {source}")]
    Io {
        /// The line, from 1.
        line: usize,
        /// The error of the reader.
        source: std::io::Error,
    },
}

/// The first line of an event stream.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamHeader {
    version: u32,
}

impl Recorder {
    /// A recorder for paths with these names, in the order of their numbers.
    pub fn new(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let path = |name: String| PathRecord {
            name,
            forward: DirectionRecord::default(),
            backward: DirectionRecord::default(),
        };
        let paths: Vec<PathRecord> = paths.into_iter().map(|name| path(name.into())).collect();
        Self {
            delays: paths.iter().map(|_| [histogram(), histogram()]).collect(),
            record: OverlayRecord {
                paths,
                ..OverlayRecord::default()
            },
        }
    }

    /// Records an event of one end; frames on an unknown path are ignored.
    pub fn record(&mut self, end: Side, stamped: &Stamped) {
        let totals = &mut self.record.totals;
        match stamped.event {
            Event::PacketIn { len, .. } => {
                totals.packets_in += 1;
                totals.bytes_in.0 += u64::from(len);
            }
            Event::FrameOut { path, len, .. } => {
                totals.wire_bytes.0 += u64::from(len);
                if let Some(direction) = self.direction(end, path) {
                    direction.frames_out += 1;
                    direction.bytes_out.0 += u64::from(len);
                }
            }
            Event::FrameIn {
                path, len, delay, ..
            } => self.record_arrival(end, path, len, delay, stamped),
            Event::Delivered { .. } => totals.delivered += 1,
            Event::Dropped { reason, .. } => *totals.dropped.entry(reason).or_default() += 1,
            Event::Switched { from, to, .. } => {
                if end == Side::Server {
                    self.record.active_path = to;
                }
                self.record.switches.push(Switch {
                    at: stamped.at,
                    end,
                    from,
                    to,
                });
            }
            Event::DeltaT { .. }
            | Event::CongestionMarked { .. }
            | Event::SwitchWanted { .. }
            | Event::PathSilent { .. }
            | Event::PathSilentAgain { .. }
            | Event::PathMtu { .. }
            | Event::PathBack { .. }
            | Event::PathClosed { .. }
            | Event::PathOpened { .. }
            | Event::QuotaUnenforceable
            | Event::RepairUnavailable
            | Event::SpacingFeedback { .. }
            | Event::SpacingUnavailable => {}
        }
    }

    /// Records the events that a node wrote ([`read_events`]).
    ///
    /// # Errors
    /// The first line that cannot be read; the lines before it are recorded.
    pub fn record_lines(&mut self, end: Side, lines: impl BufRead) -> Result<(), ReadEventsError> {
        read_events(lines, |stamped| self.record(end, stamped))
    }

    /// The record of all events so far.
    #[must_use]
    pub fn finish(mut self) -> OverlayRecord {
        for (path, [forward, backward]) in self.record.paths.iter_mut().zip(&self.delays) {
            path.forward.delay = quantiles(forward);
            path.backward.delay = quantiles(backward);
        }
        self.record
            .switches
            .sort_by_key(|switch| (switch.at, switch.end));
        self.record
    }

    fn record_arrival(
        &mut self,
        end: Side,
        path: PathId,
        len: u32,
        delay: Duration,
        stamped: &Stamped,
    ) {
        let from = end.other();
        let Some(direction) = self.direction(from, path) else {
            return;
        };
        direction.frames_in += 1;
        direction.bytes_in.0 += u64::from(len);
        let bin = (stamped.at.0 / BIN.as_nanos()).min(MAX_BINS - 1);
        let bin = usize::try_from(bin).unwrap_or(usize::MAX);
        if direction.arrivals.len() <= bin {
            direction.arrivals.resize(bin + 1, Bytes(0));
        }
        direction.arrivals[bin].0 += u64::from(len);
        if let Some(delays) = self.delays.get_mut(path.index()) {
            delays[from as usize].saturating_record(delay.as_nanos() / 1000);
        }
    }

    /// The direction of a path in which an end sends.
    fn direction(&mut self, sender: Side, path: PathId) -> Option<&mut DirectionRecord> {
        let path = self.record.paths.get_mut(path.index())?;
        Some(match sender {
            Side::Server => &mut path.forward,
            Side::Client => &mut path.backward,
        })
    }
}

/// Reads the events that a node wrote as lines of JSON, preceded by the stream's version
/// (`{"version":1}`); empty lines are skipped.
///
/// # Errors
/// The first line that cannot be read, after the events of the lines before it.
pub fn read_events(
    lines: impl BufRead,
    mut on_event: impl FnMut(&Stamped),
) -> Result<(), ReadEventsError> {
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        let text = text.map_err(|source| ReadEventsError::Io { line, source })?;
        if text.trim().is_empty() {
            continue;
        }
        if line == 1
            && let Ok(StreamHeader { version }) = serde_json::from_str(&text)
        {
            if version == VERSION {
                continue;
            }
            return Err(ReadEventsError::Version { line, version });
        }
        let stamped = serde_json::from_str(&text)
            .map_err(|source| ReadEventsError::NotAnEvent { line, source })?;
        on_event(&stamped);
    }
    Ok(())
}

/// Delays in microseconds up to an hour, to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are valid")
}

fn quantiles(delays: &Histogram<u64>) -> Option<DelayQuantiles> {
    let at = |quantile| Duration::from_micros(delays.value_at_quantile(quantile));
    (!delays.is_empty()).then(|| DelayQuantiles {
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: Duration::from_micros(delays.max()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::event::DropReason;
    use polypath_core::frame::{Epoch, FrameKind};
    use polypath_core::packet::Kind;
    use polypath_core::time::Time;

    fn at(ms: u64, event: Event) -> Stamped {
        Stamped {
            at: Time(ms * 1_000_000),
            event,
        }
    }

    fn frame_out(path: u8, len: u32) -> Event {
        Event::FrameOut {
            path: PathId(path),
            kind: FrameKind::Data,
            len,
        }
    }

    fn frame_in(path: u8, len: u32, delay_ms: u64) -> Event {
        Event::FrameIn {
            path: PathId(path),
            kind: FrameKind::Data,
            len,
            delay: Duration::from_millis(delay_ms),
        }
    }

    fn events() -> Vec<(Side, Stamped)> {
        let packet = Event::PacketIn {
            kind: Kind::Data,
            len: 1000,
        };
        let duplicate = Event::Dropped {
            reason: DropReason::Duplicate,
            len: 1000,
        };
        let switched = Event::Switched {
            from: PathId(0),
            to: PathId(1),
            epoch: Epoch(1),
        };
        vec![
            (Side::Server, at(10, packet)),
            (Side::Server, at(10, frame_out(0, 1060))),
            (Side::Server, at(10, frame_out(1, 1060))),
            (Side::Client, at(1100, frame_in(1, 1060, 90))),
            (Side::Client, at(1110, frame_in(0, 1060, 100))),
            (Side::Client, at(1110, duplicate)),
            (Side::Client, at(1120, frame_out(1, 100))),
            (Side::Server, at(2300, switched)),
        ]
    }

    #[test]
    fn events_become_totals_and_directions() {
        let mut recorder = Recorder::new(["a", "b"]);
        for (end, stamped) in events() {
            recorder.record(end, &stamped);
        }
        let record = recorder.finish();
        assert_eq!(record.totals.overhead(), Bytes(2 * 1060 + 100 - 1000));
        assert_eq!(record.totals.duplicates_discarded(), 1);
        assert_eq!(record.active_path, PathId(1));
        assert_eq!(record.server_switches().count(), 1);
        let path = &record.paths[1];
        assert_eq!(path.forward.arrivals, [Bytes(0), Bytes(1060)]);
        assert_eq!(path.forward.lost(), 0);
        assert_eq!(path.backward.loss(), Some(1.0));
        assert_eq!(path.backward.delay, None);
        let median = path.forward.delay.unwrap().p50.as_secs_f64();
        assert!((median - 0.090).abs() < 1e-4, "{median}");
        assert_eq!(record.paths[0].backward.loss(), None);
    }

    #[test]
    fn lines_of_json_record_the_same() {
        let (mut direct, mut read) = (Recorder::new(["a", "b"]), Recorder::new(["a", "b"]));
        for (end, stamped) in events() {
            direct.record(end, &stamped);
            let line = format!("{}\n\n", serde_json::to_string(&stamped).unwrap());
            read.record_lines(end, line.as_bytes()).unwrap();
        }
        assert_eq!(direct.finish(), read.finish());
    }

    #[test]
    fn a_broken_line_is_named() {
        let mut recorder = Recorder::new(["a"]);
        let good = serde_json::to_string(&at(1, frame_out(0, 5))).unwrap();
        let lines = format!("{good}\n{{\"at\": 3, \"event\": \"fraem-out\"}}\n");
        let error = recorder
            .record_lines(Side::Server, lines.as_bytes())
            .unwrap_err();
        assert!(
            error.to_string().starts_with("line 2 is not an event"),
            "{error}"
        );
        assert_eq!(recorder.finish().totals.wire_bytes, Bytes(5));
    }

    #[test]
    fn a_stream_of_another_version_is_refused() {
        let mut recorder = Recorder::new(["a"]);
        let read = |recorder: &mut Recorder, text: &str| {
            recorder.record_lines(Side::Server, text.as_bytes())
        };
        read(&mut recorder, "{\"version\":1}\n").unwrap();
        let error = read(&mut recorder, "{\"version\":7}\n").unwrap_err();
        assert!(error.to_string().contains("of version 7"), "{error}");
    }

    #[test]
    fn unknown_paths_and_extreme_times_are_harmless() {
        let mut recorder = Recorder::new(["a"]);
        recorder.record(Side::Client, &at(1, frame_in(9, 100, 1)));
        let late = Stamped {
            at: Time::MAX,
            event: frame_in(0, 100, 1),
        };
        recorder.record(Side::Client, &late);
        let record = recorder.finish();
        assert_eq!(record.paths[0].forward.frames_in, 1);
        assert_eq!(record.paths[0].forward.arrivals.len(), 86_400);
    }
}
