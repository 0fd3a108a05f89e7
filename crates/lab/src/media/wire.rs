//! The packets on the wire during a stream.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};

use polypath_core::event::Event;
use polypath_core::time::Time;
use polypath_report::recorder::read_events;
use polypath_sim::{Side, WireCount, WireKind, WireUse};

use crate::LabError;
use crate::addressing::SIDES;
use crate::network::Snapshot;

/// The packets that both sides sent in `span`: by the networks' totals at its start and its end, and
/// by the files with the events of the server's node and of the client's, if there are any, those of
/// them that are frames. The bytes of the paths are those of the networks.
pub(super) fn of(
    events: Option<&[PathBuf; 2]>,
    span: Range<Time>,
    totals: (&Snapshot, &Snapshot),
) -> Result<WireUse, LabError> {
    let mut wire = WireUse::of_paths(totals.1.sent.len());
    for side in SIDES {
        for (path, (before, after)) in totals.0.sent.iter().zip(&totals.1.sent).enumerate() {
            let [before, after] = [before, after].map(|of| of[side as usize].bytes);
            wire.add_to_path(side, path, after - before);
        }
        let path = events.map(|paths| &paths[side as usize]);
        let frames = path.map(|path| add_frames(&mut wire, side, path, &span));
        let frames = frames.transpose()?.unwrap_or_default();
        let [before, after] = [totals.0, totals.1].map(|snapshot| snapshot.sent_by(side));
        // Handshakes of nodes, or all packets of other transports.
        let others = WireCount {
            frames: (after.packets - before.packets).saturating_sub(frames.frames),
            bytes: (after.bytes - before.bytes).saturating_sub(frames.bytes),
        };
        wire.add_all(side, WireKind::Other, others);
    }
    Ok(wire)
}

/// Counts the frames that a node sent in `span`, by its events in the file `path`; returns all of
/// them.
fn add_frames(
    wire: &mut WireUse,
    side: Side,
    path: &Path,
    span: &Range<Time>,
) -> Result<WireCount, LabError> {
    let mut frames = WireCount::default();
    let file = File::open(path).map_err(LabError::Files)?;
    read_events(BufReader::new(file), |stamped| {
        if let Event::FrameOut { kind, len, .. } = stamped.event
            && span.contains(&stamped.at)
        {
            wire.add(side, WireKind::Frame(kind), len);
            frames.frames += 1;
            frames.bytes += u64::from(len);
        }
    })
    .map_err(|source| LabError::Events {
        path: path.to_owned(),
        source,
    })?;
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::event::Stamped;
    use polypath_core::frame::{FrameKind, PathId};
    use polypath_live::stats::Volume;
    use polypath_sim::PathBytes;
    use polypath_sim::world::BackgroundBytes;

    use crate::network::BoundaryCounters;

    /// The totals of a network with these packets of the server's side and the client's, of 100 B each,
    /// on each of two paths.
    fn totals(packets: [u64; 2]) -> Snapshot {
        let volumes = packets.map(|packets| Volume {
            packets,
            bytes: packets * 100,
        });
        Snapshot {
            at: Time::ZERO,
            background: BackgroundBytes::default(),
            sent: vec![volumes; 2],
            boundary: BoundaryCounters::default(),
            links: Vec::new(),
        }
    }

    fn count(frames: u64, bytes: u64) -> WireCount {
        WireCount { frames, bytes }
    }

    #[test]
    fn without_nodes_all_packets_of_both_paths_are_of_other_protocols() {
        let (before, after) = (totals([1, 2]), totals([11, 7]));
        let wire = of(None, Time::ZERO..Time(1), (&before, &after)).unwrap();
        assert_eq!(wire.forward, [(WireKind::Other, count(20, 2000))].into());
        assert_eq!(wire.backward, [(WireKind::Other, count(10, 1000))].into());
        let of_path = PathBytes {
            forward: 1000,
            backward: 500,
        };
        assert_eq!(wire.paths, [of_path; 2]);
    }

    #[test]
    fn frames_within_the_span_have_their_kind_and_the_rest_is_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, events: &[(u64, FrameKind, u32)]| {
            let line = |(at, kind, len): &(u64, FrameKind, u32)| {
                let event = Event::FrameOut {
                    path: PathId(0),
                    kind: *kind,
                    len: *len,
                };
                serde_json::json!(Stamped {
                    at: Time(*at),
                    event
                })
                .to_string()
            };
            let lines: Vec<String> = events.iter().map(line).collect();
            let path = folder.path().join(name);
            std::fs::write(&path, lines.join("\n")).unwrap();
            path
        };
        let data = FrameKind::Data;
        let server = [
            (9, data, 500),
            (10, data, 300),
            (19, FrameKind::Copy, 400),
            (20, data, 1),
        ];
        let files = [write("server", &server), write("client", &[])];
        let (before, after) = (totals([0, 3]), totals([5, 3]));
        let wire = of(Some(&files), Time(10)..Time(20), (&before, &after)).unwrap();
        let expected = [
            (WireKind::Frame(data), count(1, 300)),
            (WireKind::Frame(FrameKind::Copy), count(1, 400)),
            (WireKind::Other, count(8, 300)),
        ];
        assert_eq!(wire.forward, expected.into());
        assert!(wire.backward.is_empty());
        let missing = [folder.path().join("none"), folder.path().join("none")];
        assert!(of(Some(&missing), Time(0)..Time(1), (&before, &after)).is_err());
    }
}
