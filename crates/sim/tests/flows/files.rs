//! The completion of files.

use polypath_core::time::Time;
use polypath_sim::tcp::SegmentKind;

use crate::recorder::{Recorder, network, network_set};

/// Two files take as long as calculated by hand: with three segments, no set-up and an initial
/// window of two, two round trips (the first and third segment take 50.8 ms, their ACKs 50.032 ms).
#[test]
fn a_file_takes_from_its_start_to_its_last_ack_as_long_as_by_hand() {
    let file = "{ kind = \"file\", size = \"3 kB\" }";
    let keys = "start = \"1 s\"\ntcp = { set_up = false }";
    let (recorder, outcome) = Recorder::of(&network(file, keys));
    let finished = recorder.finished();
    let (at, connection, size, took) = finished[0];
    assert_eq!((finished.len(), connection, size), (1, 1, 3000));
    assert_eq!(took, 2 * (50_800_000 + 50_032_000));
    assert_eq!(at, 1_000_000_000 + took);
    let files = outcome.flows[0].files.iter();
    let files: Vec<usize> = files.map(|files| files.finished.len()).collect();
    assert_eq!(files.iter().sum::<usize>(), 1);
    assert_eq!(files[4], 1, "1.2 s are in the fifth of 20 spans of 0.25 s");
    let cut = format!("{keys}\nstop = \"1050 ms\"");
    let (recorder, outcome) = Recorder::of(&network(file, &cut));
    assert!(
        recorder.finished().is_empty(),
        "a transfer that was cut off does not count as a file"
    );
    let files = &outcome.flows[0].files;
    assert!(files.iter().all(|files| files.finished.is_empty()));
}

/// It begins at 1 s and is finished at 1.2017 s.
#[test]
fn files_that_were_finished_in_the_warm_up_are_left_out() {
    let file = "{ kind = \"file\", size = \"3 kB\" }";
    let keys = "start = \"1 s\"\ntcp = { set_up = false }";
    let counted = |warm_up: &str| {
        let network = network_set(file, keys, &[warm_up]);
        let outcome = Recorder::of(&network).1;
        let finished = outcome.flows[0].files.iter().flat_map(|f| &f.finished);
        finished.map(|took| took.as_nanos()).collect::<Vec<_>>()
    };
    let whole = 2 * (50_800_000 + 50_032_000);
    assert_eq!(counted("run.warm_up=1100 ms"), [whole]);
    assert_eq!(counted("run.warm_up=1300 ms"), [0; 0]);
}

#[test]
fn a_file_that_is_unfinished_at_the_end_of_the_run_is_reported() {
    let file = "{ kind = \"file\", size = \"10 MB\" }";
    let keys = "start = \"3 s\"\ntcp = { receiver_window = 120 }";
    let (_, outcome) = Recorder::of(&network(file, keys));
    let files = &outcome.flows[0].files;
    assert!(files[..11].iter().all(|files| !files.under_way));
    assert!(files[12..].iter().all(|files| files.under_way));
    assert!(files.iter().all(|files| files.finished.is_empty()));
    let cut = format!("{keys}\nstop = \"4950 ms\"");
    let (recorder, outcome) = Recorder::of(&network(file, &cut));
    let last = recorder.arrived(SegmentKind::Data).last().unwrap().0;
    assert!(last > Time(4_950_000_000), "no ACK of {last:?} is back");
    let files = &outcome.flows[0].files;
    assert!(files[18].under_way && !files[19].under_way, "it is cut off");
}

#[test]
fn every_session_is_finished_or_in_progress() {
    let traffic = "{ kind = \"sessions\", idle = \"50 ms\", file = { mu = 9.5, sigma = 1.0 } }";
    let (recorder, outcome) = Recorder::of(&network(traffic, "count = 20"));
    let mut opened = [0; 20];
    for (_, packet) in recorder.arrived(SegmentKind::Data) {
        let connection = packet.segment.unwrap().connection;
        let newest = &mut opened[packet.flow as usize];
        *newest = connection.max(*newest);
    }
    let mut under_way = 0;
    for (flow, opened) in outcome.flows.iter().zip(opened) {
        let finished: usize = flow.files.iter().map(|files| files.finished.len()).sum();
        let last = usize::from(flow.files[19].under_way);
        // The SYN of the last one may still be in flight.
        assert!((0..=last).contains(&(finished + last - opened as usize)));
        under_way += last;
    }
    assert!((3..20).contains(&under_way), "{under_way}");
}

#[test]
fn the_files_of_sessions_add_up_to_their_goodput() {
    let traffic = "{ kind = \"sessions\", idle = \"100 ms\", file = { mu = 9.0, sigma = 1.0 } }";
    let network = network(traffic, "stop = \"3 s\"");
    let (recorder, outcome) = Recorder::of(&network);
    let finished = recorder.finished();
    let goodput: u64 = outcome.flows[0].spans.iter().map(|span| span.goodput).sum();
    let size: u64 = finished.iter().map(|(_, _, size, _)| size).sum();
    assert!(finished.len() > 5, "{finished:?}");
    assert!(
        size <= goodput && goodput - size < 60_000,
        "{size} of {goodput}"
    );
    let files = outcome.flows[0].files.iter();
    let kept: usize = files.map(|files| files.finished.len()).sum();
    assert_eq!(kept, finished.len());
    assert!(
        finished
            .iter()
            .zip(1..)
            .all(|(file, number)| file.1 == number)
    );
}
