//! The packets on the wire during a stream.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::Path;

use polypath_core::event::Event;
use polypath_core::time::Time;
use polypath_report::recorder::read_events;
use polypath_sim::{Side, WireCount, WireKind, WireUse};

use crate::LabError;
use crate::addressing::SIDES;
use crate::network::Snapshot;
use crate::node_pair::FinishedPair;

/// The packets that both sides sent in `span`: by the networks' totals at its start and its end, and
/// by the events of the nodes, if there are any, those of them that are frames.
pub(super) fn of(
    nodes: Option<&FinishedPair>,
    span: Range<Time>,
    totals: (&Snapshot, &Snapshot),
) -> Result<WireUse, LabError> {
    let mut wire = WireUse::default();
    for (side, index) in SIDES.into_iter().zip(0..) {
        let path = nodes.map(|nodes| nodes.files[index].events());
        let frames = path.map(|path| add_frames(&mut wire, side, &path, &span));
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
