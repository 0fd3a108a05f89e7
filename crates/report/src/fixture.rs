//! A small experiment for tests.

use polypath_core::event::DropReason;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use crate::record::{
    Content, DelayQuantiles, DirectionRecord, ExperimentRecord, Lateness, Mode, OverlayRecord,
    PathRecord, Progress, SchemeRecord, Source, Switch, Totals, Transfer,
};
use polypath_core::rng::Seed;
use polypath_scenario::Network;
use polypath_sim::{Side, run_network};

use crate::network::NetworkRecord;

/// A name that is markup where it is not escaped.
pub(crate) const HOSTILE: &str = "<b>x</b>&\"";

/// Asserts that a page shows [`HOSTILE`] in its text and in its pictures, and nowhere as markup.
pub(crate) fn assert_escaped(page: &str) {
    for markup in ["<b>", "</b>", "&\""] {
        assert!(!page.contains(markup), "{markup}");
    }
    let pictures = page.split("<svg").skip(1);
    let mut pictures = pictures.filter_map(|rest| rest.split("</svg>").next());
    let is_drawn = pictures.any(|picture| picture.contains("&lt;b&gt;x&lt;/b&gt;&amp;"));
    assert!(is_drawn, "no picture has the name");
    let text = page.replace("&#x2f;", "/");
    assert!(text.contains("&lt;b&gt;x&lt;/b&gt;&amp;&quot;"), "{text}");
}

/// A link of 2 Mbit/s from `a` to `b`, for networks.
pub(crate) const NARROW: &str = r#"[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
queue = "10 packets"
"#;

/// The result of `read` for a network that is run with each seed.
pub(crate) fn with_network<T>(
    text: &str,
    seeds: &[u64],
    read: impl FnOnce(NetworkRecord<'_>) -> T,
) -> T {
    with_runs(&parsed(text), seeds, read)
}

/// The network of a text.
pub(crate) fn parsed(text: &str) -> Network {
    Network::parse(text, "small.toml", &[]).unwrap()
}

/// The result of `read` for a network that is run with each seed.
pub(crate) fn with_runs<T>(
    network: &Network,
    seeds: &[u64],
    read: impl FnOnce(NetworkRecord<'_>) -> T,
) -> T {
    let run = |seed: &u64| (*seed, run_network(network, Seed(*seed), &mut ()).unwrap());
    let replicas: Vec<_> = seeds.iter().map(run).collect();
    read(NetworkRecord {
        network,
        replicas: &replicas,
    })
}

/// Two schemes, three rounds, one timeout of plain TCP, one switch.
pub(crate) fn experiment() -> ExperimentRecord {
    ExperimentRecord {
        name: "small".to_owned(),
        title: "A small <experiment>".to_owned(),
        mode: Mode::Lab,
        seed: 7,
        parameters: vec![("transfer.size".to_owned(), "100 kB".to_owned())],
        timeout: Duration::from_secs(10),
        content: Content {
            source: Source::Clip {
                name: "film.ts".to_owned(),
                size: Bytes(110_000),
                wanted: Bytes(100_000),
            },
            size: Bytes(100_000),
        },
        schemes: vec![
            scheme("tcp", &[Some(4000), Some(5000), None], 1),
            scheme("ppd-tcp3", &[Some(2000), Some(3500), Some(2500)], 2),
        ],
        lateness: Some(Lateness {
            p50: Duration::from_micros(40),
            p99: Duration::from_micros(800),
            max: Duration::from_micros(2500),
            bound: Duration::from_millis(2),
        }),
    }
}

fn scheme(name: &str, times: &[Option<u64>], copies: u64) -> SchemeRecord {
    let transfers = (0_u32..).zip(times).map(|(round, ms)| transfer(round, *ms));
    SchemeRecord {
        name: name.to_owned(),
        transfers: transfers.collect(),
        overlay: overlay(copies),
        background_goodput: Some(Rate(20_000_000 - 300_000 * copies)),
    }
}

fn transfer(round: u32, ms: Option<u64>) -> Transfer {
    let progress = (1..=10).map(|part| Progress {
        at: Duration::from_millis((100 - (10 - part) * (10 - part)) * ms.unwrap_or(9000) / 100),
        bytes: Bytes(part * 10_000),
    });
    Transfer {
        round,
        started: Time(20_000_000_000 + u64::from(round) * 10_000_000_000),
        duration: ms.map(Duration::from_millis),
        size: Bytes(100_000),
        intact: ms.is_some(),
        progress: progress.take(if ms.is_some() { 10 } else { 6 }).collect(),
        background: Some(Bytes(
            25_000_000 - u64::from(round) * ms.unwrap_or(9000) * 10,
        )),
    }
}

fn overlay(copies: u64) -> OverlayRecord {
    let paths = (0..2).map(|path| PathRecord {
        name: format!("path{}", path + 1),
        forward: direction(if path < copies { 300 } else { 0 }, 4 * path),
        backward: direction(150 * copies, path),
    });
    let switch = Switch {
        at: Time(31_000_000_000),
        end: Side::Server,
        from: PathId(0),
        to: PathId(1),
    };
    OverlayRecord {
        totals: Totals {
            packets_in: 450,
            bytes_in: Bytes(330_000),
            wire_bytes: Bytes(360_000 * copies),
            delivered: 440,
            dropped: [(DropReason::Duplicate, 100 * (copies - 1))].into(),
        },
        paths: paths.collect(),
        switches: if copies > 1 { vec![switch] } else { Vec::new() },
        active_path: PathId(u8::from(copies > 1)),
    }
}

fn direction(frames: u64, lost: u64) -> DirectionRecord {
    let arrived = frames.saturating_sub(lost);
    DirectionRecord {
        frames_out: frames,
        bytes_out: Bytes(frames * 1000),
        frames_in: arrived,
        bytes_in: Bytes(arrived * 1000),
        delay: (arrived > 0).then(|| DelayQuantiles {
            p50: Duration::from_millis(104),
            p95: Duration::from_millis(150),
            p99: Duration::from_millis(180),
            max: Duration::from_millis(210),
        }),
        arrivals: (0..50)
            .map(|s| Bytes(if s < 20 { 0 } else { arrived * 1000 / 30 }))
            .collect(),
        load: Some(0.81),
    }
}
