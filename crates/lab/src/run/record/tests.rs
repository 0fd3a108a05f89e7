use polypath_core::time::Time;
use polypath_link::Counters;
use polypath_report::{Content, Source};
use polypath_sim::world::{BackgroundBytes, LinkName};

use super::*;
use crate::network::{BoundaryCounters, LinkTotals};

/// The totals at `at` seconds of a network with an access link and an inner link towards the
/// client.
fn totals(at: u64, background: u64, [access, inner]: [u64; 2]) -> Snapshot {
    let link = |inner, bytes_transmitted| {
        let name = LinkName {
            name: String::new(),
            path: Some(PathId(0)),
            towards: Some(Side::Client),
            inner,
        };
        let counters = Counters {
            bytes_transmitted,
            ..Counters::default()
        };
        LinkTotals {
            name,
            rate: Rate::from_mbits(8),
            counters,
        }
    };
    Snapshot {
        at: Time(at * 1_000_000_000),
        background: BackgroundBytes {
            tcp: background,
            udp: 0,
        },
        sent: Vec::new(),
        boundary: BoundaryCounters::default(),
        links: vec![link(false, access), link(true, inner)],
    }
}

fn fetched(digest: u8) -> FetchResult {
    FetchResult {
        started: Time(5),
        duration: Some(Duration(7)),
        digest: [digest; 32],
        progress: vec![(Duration(7), 100)],
    }
}

const TRANSFER_FILE: TransferFile = TransferFile {
    content: Content {
        source: Source::Random,
        size: Bytes(100),
    },
    digest: [1; 32],
};

#[test]
fn each_round_has_its_own_background() {
    let snapshots = [
        totals(1, 10, [0; 2]),
        totals(2, 30, [0; 2]),
        totals(4, 90, [0; 2]),
    ];
    let (good, bad) = (fetched(1), fetched(2));
    let view = SchemeView {
        fetched: vec![&good, &bad],
        totals: snapshots.iter().collect(),
    };
    let transfers = view.transfers(&TRANSFER_FILE);
    let background: Vec<_> = transfers.iter().map(|t| t.background).collect();
    assert_eq!(background, [Some(Bytes(20)), Some(Bytes(60))]);
    assert_eq!([transfers[0].intact, transfers[1].intact], [true, false]);
    // 80 bytes in 3 seconds.
    assert_eq!(view.background_goodput(), Some(Rate(213)));
}

#[test]
fn without_background_traffic_there_is_no_goodput() {
    let snapshots = [totals(1, 0, [0; 2]), totals(2, 0, [0; 2])];
    let good = fetched(1);
    let view = SchemeView {
        fetched: vec![&good],
        totals: snapshots.iter().collect(),
    };
    assert_eq!(view.transfers(&TRANSFER_FILE)[0].background, None);
    assert_eq!(view.background_goodput(), None);
}

#[test]
fn the_load_of_a_path_is_the_load_of_its_inner_links() {
    let (before, after) = (totals(1, 0, [5; 2]), totals(3, 0, [5, 500_005]));
    assert_eq!(load(&before, &after, PathId(0), Side::Client), Some(0.25));
    assert_eq!(load(&before, &after, PathId(0), Side::Server), None);
    assert_eq!(load(&before, &after, PathId(1), Side::Client), None);
}

#[test]
fn a_lab_without_transfers_has_a_record() {
    let view = SchemeView {
        fetched: vec![],
        totals: vec![],
    };
    let mut overlay = OverlayRecord::default();
    view.add_loads(&mut overlay);
    assert_eq!(view.transfers(&TRANSFER_FILE), []);
    assert_eq!(view.background_goodput(), None);
}

#[test]
fn the_bound_is_wider_without_a_real_time_priority() {
    let text = include_str!("../../../../../scenarios/demo.toml");
    let scenario = Scenario::parse(text, "demo.toml", &[]).unwrap();
    let bound = scenario.lab.lateness_bound;
    assert_eq!(lateness_bound(&scenario, true), bound);
    assert_eq!(lateness_bound(&scenario, false), bound * 5);
}
