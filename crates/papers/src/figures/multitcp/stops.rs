//! The stalls of a player among a varying number of transfers (Fig. 9).

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_core::rng::Seed;
use polypath_report::plot::{Plot, Point, Series};

use super::fig4::topology;
use super::runs::{GROUP, Runs, Scheme, lab_seeds, seeds};
use crate::figures::estimates::{estimate, point, text};
use crate::figures::pictures::{axis, figure_table, stated};
use crate::jobs::multitcp::parameters::{adjust, chosen, table_1, varied};
use crate::jobs::multitcp::setting::{
    CrossKind, CrossTraffic, Hosts, Links, Queue, Setting, Stream, StreamCarrier,
};

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.fig9",
    title: "Stalls of the player with 1 to 5 connections and a varying number",
    claims: &[CLAIM],
    make,
};

const CLAIM: &str = "multitcp.fig9.stops";
/// The duration of the media in seconds (5.3).
const SECONDS: u32 = 200;
/// The maximum number of concurrent transfers (5.3).
const MOST: u32 = 8;
/// The mean time in seconds between changes of the number of transfers.
const HOLDING: f64 = 20.0;
const NAMES: [&str; 6] = ["c1", "c2", "c3", "c4", "c5", "varied"];

/// A setting in which the media is streamed.
#[derive(Clone, Copy)]
struct Playing {
    /// The rate of the last link in kb/s.
    kbits: u32,
    holding: f64,
    queue: Queue,
}

/// The last link is fitted: a single connection stops about as often as in the paper.
const CHOSEN: Playing = Playing {
    kbits: 2500,
    holding: HOLDING,
    queue: Queue::Red(50),
};

fn schemes() -> [Scheme; 6] {
    let stream = |by| Stream {
        kbits: 720,
        by: StreamCarrier::Controller(by),
        limit: None,
        play: Some([10, 5]),
    };
    let mut number = 0;
    NAMES.map(|name| {
        number += 1;
        let controller = if name == "varied" {
            varied(chosen())
        } else {
            adjust(number, table_1())
        };
        (name, stream(controller))
    })
}

impl Playing {
    fn setting(self, stream: Stream, seed: u64) -> Setting {
        let links = topology(20);
        let mut last = links.receiver;
        last.kbits = self.kbits;
        let mut hosts = Hosts::reno(self.kbits);
        if let Queue::Red(_) | Queue::RedInBytes(_) = self.queue {
            // Random drops break the phase effects.
            hosts.overhead = 0;
        }
        Setting {
            links: Links {
                receiver: last,
                queue: self.queue,
                ..links
            },
            stream,
            cross: transfers(self.holding, seed),
            hosts,
            seconds: SECONDS,
            seed,
        }
    }
}

/// Transfers whose number is redrawn from 0 to 8 after exponential times.
fn transfers(holding: f64, seed: u64) -> Vec<CrossTraffic> {
    let mut stream = Seed(seed).stream("fig9/transfers");
    let mut running: Vec<u32> = Vec::new();
    let mut all = Vec::new();
    let mut now = 0;
    let end = SECONDS * 1000;
    while now < end {
        let wanted = stream.below(u64::from(MOST) + 1);
        while (running.len() as u64) < wanted {
            running.push(now);
        }
        while running.len() as u64 > wanted {
            // The oldest transfer stops.
            all.extend(transfer(running.remove(0), now));
        }
        now = now.saturating_add(whole(stream.exponential(holding) * 1e3).max(1));
    }
    all.extend(running.into_iter().filter_map(|from| transfer(from, end)));
    all.sort_by_key(|cross| (cross.from, cross.to));
    all
}

/// A transfer that is long enough to start.
fn transfer(from: u32, to: u32) -> Option<CrossTraffic> {
    (to > from).then_some(CrossTraffic {
        what: CrossKind::Tcp(1),
        from,
        to,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and a time is positive"
)]
fn whole(milliseconds: f64) -> u32 {
    milliseconds as u32
}

/// The settings of the table.
fn settings() -> Vec<(&'static str, Playing)> {
    let with = |kbits| Playing { kbits, ..CHOSEN };
    let stay = |holding| Playing { holding, ..CHOSEN };
    let queue = |queue| Playing { queue, ..CHOSEN };
    vec![
        ("as chosen", CHOSEN),
        ("last link of 6 Mb/s, as in Fig. 3", with(6000)),
        ("last link of 5 Mb/s", with(5000)),
        ("last link of 4 Mb/s", with(4000)),
        ("last link of 3 Mb/s", with(3000)),
        ("last link of 2 Mb/s", with(2000)),
        ("numbers stay for 5 s", stay(5.0)),
        ("numbers stay for 60 s", stay(60.0)),
        ("queue of 20 packets", queue(Queue::Red(20))),
        ("queue of 100 packets", queue(Queue::Red(100))),
        ("RED that counts bytes", queue(Queue::RedInBytes(50))),
        (DROP_TAIL, queue(Queue::DropTail(50))),
    ]
}

/// The row in which the transfers keep the last queue full.
const DROP_TAIL: &str = "drop-tail queues and a send overhead";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let seeds = seeds(study);
    let of_lab = lab_seeds(study);
    let lab = Runs::in_lab(study, &schemes(), &of_lab, |stream, seed| {
        CHOSEN.setting(stream, seed)
    });
    let asked: Vec<_> = settings()
        .into_iter()
        .map(|(name, playing)| {
            let setting = |stream, seed| playing.setting(stream, seed);
            (name, Runs::of(study, &schemes(), &seeds, setting))
        })
        .collect();
    let all = asked.into_iter().map(|(name, runs)| Ok((name, runs?)));
    let all: Vec<(&str, Runs)> = all.collect::<Result<_, Pending>>()?;
    let runs = &all[0].1;
    let known: Vec<f64> = (0..NAMES.len())
        .map(|index| study.stated(CLAIM, index).unwrap_or_default())
        .collect();
    let lab = lab?;
    let rows: Vec<(&str, &Runs)> = all.iter().map(|(name, runs)| (*name, runs)).collect();
    let mut tables = vec![table(&rows)];
    tables.extend(lab.as_ref().map(|lab| FigureTable {
        id: "lab".to_owned(),
        title: "The same by the deployed server and receiver, and the kernel's TCP".to_owned(),
        ..table(&[("simulated", runs), ("in the lab", lab)])
    }));
    Ok(Findings {
        plots: vec![picture(runs, &known)],
        tables,
        measurements: measurements(runs),
        in_lab: lab.as_ref().map_or_else(Vec::new, measurements),
        reasons: vec![reason(&all)],
        caveats: vec![ClaimRemark {
            claim: CLAIM,
            text: "The rate of the last link is fitted to the stops of a single connection; what \
                   the others have is predicted. RED that counts packets is chosen, as in Fig. 4; \
                   table `settings` has drop-tail queues and RED that counts bytes."
                .to_owned(),
        }],
        parameters: parameters(),
        ..Findings::default()
    })
}

fn measurements(runs: &Runs) -> Vec<Measurement> {
    let measurement = |name: &&str| {
        let quantity = format!("stops.{name}");
        Measurement::of(CLAIM, &quantity, "stops", GROUP, &stops(runs, name))
    };
    NAMES.iter().map(measurement).collect()
}

fn stops(runs: &Runs, scheme: &str) -> Vec<Sample> {
    runs.samples(scheme, |run| Some(f64::from(run.stops)))
}

fn picture(runs: &Runs, known: &[f64]) -> Plot {
    let points = (1..=5)
        .zip(&NAMES[..5])
        .filter_map(|(number, name)| point(f64::from(number), &stops(runs, name)));
    let name = "fixed number of connections";
    let varied = Series {
        name: "varied number, at its mean".to_owned(),
        points: varied_point(runs).into_iter().collect(),
        ..Series::default()
    };
    Plot {
        id: "fig9".to_owned(),
        title: "Stalls of the player in 200 s".to_owned(),
        x: axis("connections", ""),
        y: axis("stops", ""),
        series: vec![
            Series {
                name: name.to_owned(),
                points: points.collect(),
                ..Series::default()
            },
            varied,
        ],
        stated: (1..=5)
            .zip(known)
            .map(|(x, y)| stated(name, f64::from(x), *y))
            .collect(),
        ..Plot::default()
    }
}

/// The stalls with a varying number of connections, at the mean number.
fn varied_point(runs: &Runs) -> Option<Point> {
    let numbers = runs.connections("varied", (0, SECONDS as usize));
    point(estimate(&numbers)?.mean, &stops(runs, "varied"))
}

fn table(all: &[(&str, &Runs)]) -> FigureTable {
    let row = |(what, runs): &(&str, &Runs)| {
        let mut row = vec![(*what).to_owned()];
        row.extend(NAMES.iter().map(|name| text(&stops(runs, name), 1)));
        row.extend(["c1", "c5"].map(|name| text(&runs.throughput(name, (10, 200)), 0)));
        row
    };
    figure_table(
        "settings",
        "Stalls of the player in 200 s, by setting",
        &[
            "setting",
            "1 connection",
            "2",
            "3",
            "4",
            "5",
            "varied",
            "throughput with 1 connection, kb/s",
            "throughput with 5 connections, kb/s",
        ],
        all.iter().map(row).collect(),
    )
}

fn reason(all: &[(&str, Runs)]) -> ClaimRemark {
    let line = |index: usize| {
        let (what, runs) = &all[index];
        let each: Vec<String> = NAMES
            .iter()
            .map(|name| text(&stops(runs, name), 1))
            .collect();
        format!("{what}: {}", each.join(", "))
    };
    let tail = all.iter().position(|(what, _)| *what == DROP_TAIL);
    let lines: Vec<String> = (0..6).chain(tail).map(line).collect();
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The paper states neither the link nor the time for which a number of transfers stays. \
             Stalls of 1 to 5 connections and of a varying number: {}.",
            lines.join("; ")
        ),
    }
}

fn parameters() -> Vec<[String; 2]> {
    [
        (
            "last link",
            "2.5 Mb/s: the rate at which a single connection stops about as often as in the paper; \
             fitted, as those of Figs. 6 to 8 are"
                .to_owned(),
        ),
        (
            "other links, TCP",
            "as in Fig. 4: not stated for Fig. 9".to_owned(),
        ),
        (
            "media",
            "720 kb/s for 200 s, pre-buffer of 10 s of media, stops of 5 s; stated (5.3)"
                .to_owned(),
        ),
        (
            "transfers",
            format!(
                "their number is drawn from 0 to {MOST}, stated; redrawn after \
                               exponential times with a mean of {HOLDING} s: chosen"
            ),
        ),
        ("1 to 5 connections", "Algorithm 1 with Table I".to_owned()),
        (
            "varied",
            "Algorithm 3 with Table III; alpha .9, f 4 as in Figs. 7 and 8".to_owned(),
        ),
    ]
    .map(|(name, value)| [name.to_owned(), value])
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_transfers_run_than_are_drawn_and_each_within_the_media() {
        for seed in 0..20 {
            let all = transfers(HOLDING, seed);
            assert!(
                all.iter()
                    .all(|one| one.from < one.to && one.to <= SECONDS * 1000)
            );
            let most = (0..SECONDS * 1000).step_by(500).map(|at| {
                let running = all.iter().filter(|one| one.from <= at && at < one.to);
                running.count()
            });
            let most = most.max().unwrap();
            assert!(most <= MOST as usize, "{most}");
        }
        assert_ne!(transfers(HOLDING, 1), transfers(HOLDING, 2));
    }
}
