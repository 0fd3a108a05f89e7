//! The experiments over the Internet, on modelled access links (Figs. 6, 7, 8).
//!
//! The paper states neither rates nor delays. The rate of each link is chosen so that an equal
//! share of it is what the paper's single connection gets with the transfers; nothing else is
//! fitted.

mod fixed;
mod varied;

use polypath_claims::{ClaimRemark, FigureTable, Pending, Study};
use polypath_core::connections::ControllerConfig;
use polypath_report::plot::Plot;

use super::runs::{Period, Runs, Scheme, lab_seeds, seeds};
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, seconds};
use crate::jobs::multitcp::parameters::SEGMENT;
use crate::jobs::multitcp::setting::{
    CrossKind, CrossTraffic, Hosts, Links, Queue, Setting, Stream, StreamCarrier, Wire,
};

pub(super) use fixed::FIG_6;
pub(super) use varied::{FIG_7, FIG_8};

/// The interval in seconds over which curves over time are averaged.
const STEP: usize = 10;

/// An experiment.
#[derive(Clone, Copy)]
struct Experiment {
    /// The rates of the media and of the access link, and the server's limit for a connection, in
    /// kb/s.
    target: u32,
    access: u32,
    limit: Option<u32>,
    /// The transfers that start with each period, and the periods in seconds.
    transfers: [u32; 2],
    periods: [Period; 2],
    /// The round-trip time in ms and the queue of the access link in packets.
    rtt: u32,
    queue: u32,
}

impl Experiment {
    fn setting(self, stream: Stream, seed: u64) -> Setting {
        // The access link has a seventh of the delay.
        let delay = self.rtt / 2;
        let far = Wire {
            kbits: 100_000,
            delay: delay - delay / 7,
        };
        let [(from, _), (next, end)] = self.periods;
        let cross = |count, from: usize| CrossTraffic {
            what: CrossKind::Tcp(count),
            from: u32::try_from(from * 1000).unwrap_or(u32::MAX),
            to: u32::try_from(end * 1000).unwrap_or(u32::MAX),
        };
        Setting {
            links: Links {
                sender: far,
                generator: far,
                receiver: Wire {
                    kbits: self.access,
                    delay: delay / 7,
                },
                queue: Queue::DropTail(self.queue),
            },
            stream,
            cross: vec![
                cross(self.transfers[0], from),
                cross(self.transfers[1], next),
            ],
            hosts: Hosts::reno(self.access),
            seconds: 1000,
            seed,
        }
    }

    fn stream(self, controller: ControllerConfig) -> Stream {
        Stream {
            kbits: self.target,
            by: StreamCarrier::Controller(controller),
            limit: self.limit,
            play: None,
        }
    }

    /// The period from the start of the first transfers.
    fn congested(self) -> Period {
        (self.periods[0].0, self.periods[1].1)
    }

    fn runs(self, study: &mut Study<'_>, schemes: &[Scheme]) -> Result<Runs, Pending> {
        let seeds = seeds(study);
        Runs::of(study, schemes, &seeds, |stream, seed| {
            self.setting(stream, seed)
        })
    }

    /// The runs in the lab; `None` without one.
    fn in_lab(self, study: &mut Study<'_>, schemes: &[Scheme]) -> Result<Option<Runs>, Pending> {
        let seeds = lab_seeds(study);
        Runs::in_lab(study, schemes, &seeds, |stream, seed| {
            self.setting(stream, seed)
        })
    }

    /// Other settings, each named by its difference.
    fn others(self) -> Vec<(&'static str, Self)> {
        let change = |rate: u32| self.access * rate / 100;
        vec![
            ("as chosen", self),
            (
                "access link of 0.8 times its rate",
                Self {
                    access: change(80),
                    ..self
                },
            ),
            (
                "access link of 1.25 times its rate",
                Self {
                    access: change(125),
                    ..self
                },
            ),
            (
                "access link of twice its rate",
                Self {
                    access: change(200),
                    ..self
                },
            ),
            ("round-trip time of 40 ms", Self { rtt: 40, ..self }),
            ("round-trip time of 150 ms", Self { rtt: 150, ..self }),
            ("queue of 20 packets", Self { queue: 20, ..self }),
            ("queue of 100 packets", Self { queue: 100, ..self }),
        ]
    }

    fn parameters(self, control: &str) -> Vec<[String; 2]> {
        let limit = self.limit.map_or("none".to_owned(), |limit| {
            format!("{limit} kb/s for a connection; stated (5.2.1, footnote)")
        });
        [
            ("access link", format!("{} kb/s: the rate at which an equal share is the throughput of \
                                     the paper's single connection; fitted", self.access)),
            ("round-trip time", format!("{} ms without queues, for the stream and for the transfers; chosen{}", self.rtt, if self.rtt > 133 { ", above 133 ms, with which eight windows of one segment carry the target" } else { "" })),
            ("queues", format!("drop-tail, {} packets; chosen", self.queue)),
            ("transfers", format!("{} from {} s on, {} more from {} s on; stated", self.transfers[0], self.periods[0].0, self.transfers[1], self.periods[1].0)),
            ("server's limit", limit),
            ("target", format!("{} kb/s; stated", self.target)),
            ("controller", control.to_owned()),
            ("segment", format!("{SEGMENT} B; stated (4.1)")),
            ("TCP", "Reno as in ns-2, window of the transfers 20 segments, send overhead up to the time of a packet on the access link; chosen".to_owned()),
        ]
        .map(|(name, value)| [name.to_owned(), value])
        .to_vec()
    }
}

const FITTED: &str = "The rate of the access link is fitted to the throughput of the paper's single \
                      connection with the transfers.";

fn caveat(claim: &'static str, more: &str) -> ClaimRemark {
    ClaimRemark {
        claim,
        text: format!("{FITTED}{more}"),
    }
}

/// The runs in other settings.
type Others = Vec<(&'static str, Runs)>;

fn in_others(
    study: &mut Study<'_>,
    experiment: Experiment,
    schemes: &[Scheme],
) -> Result<Others, Pending> {
    let others = experiment.others().into_iter();
    let asked: Vec<_> = others
        .map(|(name, other)| (name, other.runs(study, schemes)))
        .collect();
    asked
        .into_iter()
        .map(|(name, runs)| Ok((name, runs?)))
        .collect()
}

fn rates(id: &str, runs: &Runs, names: &[(&str, &str)]) -> Plot {
    let series = names.iter();
    let series =
        series.map(|(scheme, name)| runs.series(scheme, name, STEP, |run| &run.throughput));
    Plot {
        id: id.to_owned(),
        title: "Throughput of the stream, means over 10 s".to_owned(),
        x: seconds(),
        y: axis("throughput", "kb/s"),
        series: series.collect(),
        ..Plot::default()
    }
}

fn sums_of(id: &str, runs: &Runs, names: &[(&str, &str)]) -> Plot {
    let series = names.iter();
    let series = series.map(|(scheme, name)| runs.series(scheme, name, STEP, |run| &run.windows));
    Plot {
        id: id.to_owned(),
        title: "Sum of the receiver windows, means over 10 s".to_owned(),
        x: seconds(),
        y: axis("sum of windows", "segments"),
        series: series.collect(),
        ..Plot::default()
    }
}

/// The throughput and the windows in the lab beside those of the simulation.
fn beside(
    lab: &Runs,
    runs: &Runs,
    names: &[(&str, &str)],
    [mid, late]: [Period; 2],
) -> FigureTable {
    let row = |(scheme, name): &(&str, &str)| {
        let mut row = vec![(*name).to_owned()];
        for period in [(20, mid.0), mid, late] {
            for site in [runs, lab] {
                row.push(text(&site.throughput(scheme, period), 0));
            }
        }
        for site in [runs, lab] {
            row.push(text(&site.windows(scheme, late), 1));
        }
        row
    };
    figure_table(
        "lab",
        "The deployed server and receiver beside transfers of the kernel's TCP, and the simulation",
        &[
            "connections",
            "alone kb/s, simulated",
            "in the lab",
            "first transfers kb/s, simulated",
            "in the lab",
            "all transfers kb/s, simulated",
            "in the lab",
            "windows with all, simulated",
            "in the lab",
        ],
        names.iter().map(row).collect(),
    )
}

/// The throughput in both periods in all settings, and that of the transfers.
fn settings(others: &Others, names: &[(&str, &str)], [mid, late]: [Period; 2]) -> FigureTable {
    let row = |what: &str, runs: &Runs, (scheme, name): (&str, &str)| {
        let mean = |samples: &[_]| text(samples, 0);
        vec![
            what.to_owned(),
            name.to_owned(),
            mean(&runs.throughput(scheme, (20, mid.0))),
            mean(&runs.throughput(scheme, mid)),
            mean(&runs.throughput(scheme, late)),
            text(&runs.windows(scheme, mid), 1),
            text(&runs.windows(scheme, late), 1),
            mean(&runs.cross(scheme, mid)),
            mean(&runs.cross(scheme, late)),
        ]
    };
    let rows = others
        .iter()
        .flat_map(|(what, runs)| names.iter().map(move |name| row(what, runs, *name)));
    figure_table(
        "settings",
        "Throughput, windows and total throughput of the transfers, by setting",
        &[
            "setting",
            "connections",
            "alone kb/s",
            "first transfers kb/s",
            "all transfers kb/s",
            "windows, first transfers",
            "windows, all transfers",
            "transfers have, first, kb/s",
            "transfers have, all, kb/s",
        ],
        rows.collect(),
    )
}
