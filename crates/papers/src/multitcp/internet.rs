//! The experiments over the Internet, on modelled access links (Figs. 6, 7, 8).
//!
//! The paper says neither rates nor delays. The rate of each link is that of which an equal share is what the paper's single
//! connection has left beside the transfers; all else is not fitted.

use polypath_core::connections::ControllerConfig;
use polypath_report::plot::Plot;

use super::parameters::{SEGMENT, adjust, chosen, table_2, table_3, varied};
use super::runs::{GROUP, Period, Runs, Scheme, kbits, seeds, segments};
use super::setting::{By, Cross, Hosts, Links, Setting, Stream, What, Wire};
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::pictures::{axis, seconds, sheet};
use crate::estimates::{estimate, text};
use crate::study::{Pending, Study};

pub(super) const FIG_6: Figure = Figure {
    id: "multitcp.fig6",
    title: "1, 4 and 8 connections towards 480 kb/s over a modelled access link",
    claims: &[HELD, SUMS],
    make: fig6,
};
pub(super) const FIG_7: Figure = Figure {
    id: "multitcp.fig7",
    title: "A varied number of connections towards 800 kb/s over a modelled access link",
    claims: &[VARIED],
    make: fig7,
};
pub(super) const FIG_8: Figure = Figure {
    id: "multitcp.fig8",
    title: "A varied number of connections of at most 480 kb/s each towards 1.6 Mb/s",
    claims: &[LIMITED],
    make: fig8,
};

const HELD: &str = "multitcp.fig6.internet_480k";
const SUMS: &str = "multitcp.fig6b.windows";
const VARIED: &str = "multitcp.fig7.varied_800k";
const LIMITED: &str = "multitcp.fig8.varied_1600k";

/// Curves over time are in means over so many seconds.
const STEP: usize = 10;

/// An experiment.
#[derive(Clone, Copy)]
struct Experiment {
    /// The rate of the media, of the access link, and the server's limit for a connection, in kb/s.
    target: u32,
    access: u32,
    limit: Option<u32>,
    /// The transfers that begin with each period, and the periods in seconds.
    transfers: [u32; 2],
    periods: [Period; 2],
    /// The round-trip time in ms and the queue of the access link in packets.
    rtt: u32,
    queue: u32,
}

/// Two transfers leave a third of it: 280 kb/s.
const SIX: Experiment = Experiment {
    target: 480,
    access: 840,
    limit: None,
    transfers: [2, 2],
    periods: [(401, 601), (601, 1000)],
    rtt: 70,
    queue: 50,
};
/// Fifteen transfers leave a sixteenth: 720 kb/s.
const SEVEN: Experiment = Experiment {
    target: 800,
    access: 11_520,
    transfers: [6, 9],
    ..SIX
};
/// Eight transfers leave a ninth: 400 kb/s.
const EIGHT: Experiment = Experiment {
    target: 1600,
    access: 3600,
    limit: Some(480),
    transfers: [4, 4],
    periods: [(301, 601), (601, 1000)],
    ..SIX
};

impl Experiment {
    fn setting(self, stream: Stream, seed: u64) -> Setting {
        // The access link has a seventh of the way.
        let delay = self.rtt / 2;
        let far = Wire {
            kbits: 100_000,
            delay: delay - delay / 7,
        };
        let [(from, _), (next, end)] = self.periods;
        let cross = |count, from: usize| Cross {
            what: What::Tcp(count),
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
                queue: self.queue,
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
            by: By::Controller(controller),
            limit: self.limit,
            play: None,
        }
    }

    /// From the first transfers on.
    fn congested(self) -> Period {
        (self.periods[0].0, self.periods[1].1)
    }

    fn runs(self, study: &mut Study<'_>, schemes: &[Scheme]) -> Result<Runs, Pending> {
        let seeds = seeds(study);
        Runs::of(study, schemes, &seeds, |stream, seed| {
            self.setting(stream, seed)
        })
    }

    /// The same in other settings, each by what differs.
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
            ("access link", format!("{} kb/s: the rate of which an equal share is what the paper's single connection has left; fitted", self.access)),
            ("round-trip time", format!("{} ms without queues, for the stream and for the transfers; chosen", self.rtt)),
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

const FITTED: &str = "The rate of the access link is fitted to what the paper's single connection has beside the transfers.";

fn caveat(claim: &'static str, more: &str) -> Reason {
    Reason {
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

fn fig6(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let schemes = [("c1", 1), ("c4", 4), ("c8", 8)]
        .map(|(name, count)| (name, SIX.stream(adjust(count, table_2()))));
    let others = in_others(study, SIX, &schemes)?;
    let runs = &others[0].1;
    let [mid, late] = SIX.periods;
    let congested = SIX.congested();
    let measurements = vec![
        kbits(HELD, "throughput.c8", &runs.throughput("c8", congested)),
        kbits(HELD, "throughput.c4.mid", &runs.throughput("c4", mid)),
        kbits(HELD, "throughput.c4.late", &runs.throughput("c4", late)),
        kbits(HELD, "throughput.c8.late", &runs.throughput("c8", late)),
        kbits(HELD, "throughput.c1.late", &runs.throughput("c1", late)),
        segments(SUMS, "windows.c1.congested", &runs.windows("c1", congested)),
        segments(SUMS, "windows.c4.congested", &runs.windows("c4", congested)),
        segments(SUMS, "windows.c8.late", &runs.windows("c8", late)),
        segments(SUMS, "windows.c8.mid", &runs.windows("c8", mid)),
    ];
    let said = |scheme, period| text(&runs.throughput(scheme, period), 0);
    let sums = |scheme, period| text(&runs.windows(scheme, period), 1);
    let reasons = vec![
        Reason {
            claim: HELD,
            text: format!(
                "Against 2 transfers 1, 4 and 8 connections have {}, {} and {} kb/s, against 4 they have {}, {} and {}. Equal shares of the fitted link \
                 are 280, 560 and 672 kb/s, and 168, 420 and 560.",
                said("c1", mid),
                said("c4", mid),
                said("c8", mid),
                said("c1", late),
                said("c4", late),
                said("c8", late),
            ),
        },
        Reason {
            claim: SUMS,
            text: format!(
                "From 401 s on the sum is {} with one connection and {} with four; with eight it is {} against 2 transfers and {} against 4.",
                sums("c1", congested),
                sums("c4", congested),
                sums("c8", mid),
                sums("c8", late),
            ),
        },
    ];
    let names = [
        ("c1", "1 connection"),
        ("c4", "4 connections"),
        ("c8", "8 connections"),
    ];
    Ok(Findings {
        plots: vec![rates("fig6a", runs, &names), sums_of("fig6b", runs, &names)],
        sheets: vec![settings(&others, &names, [mid, late])],
        measurements,
        reasons,
        caveats: vec![caveat(HELD, "")],
        parameters: SIX.parameters("Algorithm 1 with 1, 4 and 8 connections; delta 6 RTT, alpha .9, lambda 3000 B/s, f 10: stated (Table II)"),
        ..Findings::default()
    })
}

/// One connection under Algorithm 1, and a varied number, also with other alpha and f.
fn varied_schemes(experiment: Experiment) -> [Scheme; 5] {
    let varied = |control| experiment.stream(varied(control));
    [
        ("c1", experiment.stream(adjust(1, chosen()))),
        (CHOSEN, varied(chosen())),
        ("smooth0", varied(table_3(0.0, chosen().spike))),
        ("f10", varied(table_3(0.9, 10.0))),
        ("smooth0.f10", varied(table_3(0.0, 10.0))),
    ]
}

const NAMES: [(&str, &str); 5] = [
    ("c1", "1 connection"),
    (CHOSEN, "varied"),
    ("smooth0", "varied, alpha 0"),
    ("f10", "varied, f 10"),
    ("smooth0.f10", "varied, alpha 0, f 10"),
];
/// That of [`chosen`].
const CHOSEN: &str = "varied";

fn fig7(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let others = in_others(study, SEVEN, &varied_schemes(SEVEN))?;
    let runs = &others[0].1;
    let mut measurements = both(VARIED, SEVEN, runs);
    measurements.extend(curves(runs));
    Ok(varied_findings(
        SEVEN,
        VARIED,
        "fig7",
        &others,
        measurements,
    ))
}

fn fig8(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let others = in_others(study, EIGHT, &varied_schemes(EIGHT))?;
    let measurements = both(LIMITED, EIGHT, &others[0].1);
    Ok(varied_findings(
        EIGHT,
        LIMITED,
        "fig8",
        &others,
        measurements,
    ))
}

fn both(claim: &str, experiment: Experiment, runs: &Runs) -> Vec<Measurement> {
    let congested = experiment.congested();
    vec![
        kbits(
            claim,
            "throughput.varied",
            &runs.throughput(CHOSEN, congested),
        ),
        kbits(claim, "throughput.c1", &runs.throughput("c1", congested)),
    ]
}

/// Connections and windows over time, position by position.
fn curves(runs: &Runs) -> Vec<Measurement> {
    let mut all = Vec::new();
    for from in (0..1000).step_by(STEP) {
        let at = from as f64 + STEP as f64 / 2.0;
        let period = (from, from + STEP);
        let mean = |samples: &[Sample], quantity: &str, unit: &str| {
            Measurement::of(VARIED, quantity, unit, GROUP, samples).over("time", "s", at)
        };
        let numbers = runs.connections(CHOSEN, period);
        all.push(mean(&numbers, "connections", "connections"));
        all.push(mean(&runs.windows(CHOSEN, period), "windows", "segments"));
    }
    all
}

fn varied_findings(
    experiment: Experiment,
    claim: &'static str,
    id: &str,
    others: &Others,
    measurements: Vec<Measurement>,
) -> Findings {
    let runs = &others[0].1;
    let drawn = [NAMES[0], NAMES[1], NAMES[3]];
    let congested = experiment.congested();
    let said = NAMES.map(|(scheme, name)| {
        format!(
            "{name}: {} kb/s",
            text(&runs.throughput(scheme, congested), 0)
        )
    });
    let [mid, late] = experiment.periods;
    let steps = [mid, late].map(|period| text(&runs.throughput(CHOSEN, period), 0));
    let counts = [mid, late].map(|period| text(&runs.connections(CHOSEN, period), 1));
    Findings {
        plots: vec![
            rates(&format!("{id}a"), runs, &drawn),
            sums_of(&format!("{id}b"), runs, &drawn),
            numbers(&format!("{id}c"), runs),
        ],
        sheets: vec![settings(others, &NAMES, experiment.periods)],
        measurements,
        reasons: vec![Reason {
            claim,
            text: format!(
                "From {} s on {}. The varied number has {} against the first transfers and {} against all, with {} and {} connections; {} equal shares \
                 of the link are {} kb/s. The ratio of Algorithm 2 has to rise by more than beta for each further connection and stays below cf, so \
                 that there are four at the most; beyond cf all but one are stopped, and since the sum of windows does not fall while the target is missed, \
                 none is started again.",
                congested.0,
                said.join(", "),
                steps[0],
                steps[1],
                counts[0],
                counts[1],
                4,
                experiment.access * 4 / (4 + experiment.transfers.iter().sum::<u32>()),
            ),
        }],
        caveats: vec![caveat(
            claim,
            " Table III has a range of alpha, 0 to .9: judged is .9, which Tables I and II have. It lacks f: judged is 4, cf less 1, since with more \
             Algorithm 2 stops connections wherever the target is missed for long; sheet `settings` has 0 and 10.",
        )],
        parameters: experiment.parameters(
            "Algorithm 3, which begins with one connection (chosen); delta 6 RTT, alpha .9 of the range 0 to .9, lambda 3000 B/s, beta 1, cf 5: \
             stated (Table III), which lacks f: cf - 1",
        ),
        ..Findings::default()
    }
}

fn rates(id: &str, runs: &Runs, names: &[(&str, &str)]) -> Plot {
    let series = names.iter();
    let series = series.map(|name| runs.series(*name, STEP, |course| &course.throughput));
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
    let series = series.map(|name| runs.series(*name, STEP, |course| &course.windows));
    Plot {
        id: id.to_owned(),
        title: "Sum of the receiver windows, means over 10 s".to_owned(),
        x: seconds(),
        y: axis("sum of windows", "segments"),
        series: series.collect(),
        ..Plot::default()
    }
}

fn numbers(id: &str, runs: &Runs) -> Plot {
    let series = [NAMES[1], NAMES[3]];
    let series = series.map(|name| runs.series(name, STEP, |course| &course.connections));
    Plot {
        id: id.to_owned(),
        title: "Connections, means over 10 s".to_owned(),
        x: seconds(),
        y: axis("connections", ""),
        series: series.to_vec(),
        ..Plot::default()
    }
}

/// Throughput in both periods in all settings, and what the transfers had.
fn settings(others: &Others, names: &[(&str, &str)], [mid, late]: [Period; 2]) -> Sheet {
    let row = |what: &str, runs: &Runs, (scheme, name): (&str, &str)| {
        let mean =
            |samples: &[Sample]| estimate(samples).map_or("-".to_owned(), |_| text(samples, 0));
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
    sheet(
        "settings",
        "Throughput, windows and what all transfers together had, by setting",
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
