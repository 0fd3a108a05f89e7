//! The controllers of the spacing: how they share a bottleneck with each other and with TCP.

mod lab;

use polypath_batch::replica_seeds;
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};
use polypath_report::network::jain_index;
use polypath_scenario::network::traffic::spaced::Control;

use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::spacing::{CAPACITY, Shares, Sharing};
use crate::jobs::psp::merge::{Span, name_of};

pub(super) const FIGURE: Figure = Figure {
    id: "own.spacing",
    title: "Senders of spaced packets that share a bottleneck, by controller",
    claims: &[FAIR, QUEUE, BESIDE_TCP, HALVED],
    make,
};

const FAIR: &str = "own.spacing.fair";
const QUEUE: &str = "own.spacing.queue";
const BESIDE_TCP: &str = "own.spacing.beside_tcp";
const HALVED: &str = "own.spacing.halved";

const CONTROLS: [Control; 3] = [Control::AdHoc, Control::Damped, Control::Cubic];

/// A buffer of the bottleneck.
#[derive(Clone, Copy)]
struct Buffer {
    packets: u32,
    name: &'static str,
}

/// 10 ms and 400 ms of the bottleneck.
const BUFFERS: [Buffer; 2] = [
    Buffer {
        packets: 20,
        name: "shallow",
    },
    Buffer {
        packets: 800,
        name: "deep",
    },
];
/// The numbers of senders, and the round-trip times that they have in turn, in ms.
const SENDERS: [u32; 4] = [2, 4, 8, 16];
const ROUND_TRIPS: [u32; 2] = [20, 80];
/// A variant of TCP as scenarios write it, and its name.
#[derive(Clone, Copy)]
struct TcpKind {
    variant: &'static str,
    name: &'static str,
}

const TCPS: [TcpKind; 3] = [
    TcpKind {
        variant: "sack",
        name: "Reno",
    },
    TcpKind {
        variant: "cubic",
        name: "CUBIC",
    },
    TcpKind {
        variant: "bbr",
        name: "BBR",
    },
];
/// The numbers of senders beside as many transfers.
const PAIRS: [u32; 2] = [1, 8];
/// The second minute after the last start.
const SECOND_MINUTE: Span = Span {
    seconds: 130,
    warm_up: 70,
};
/// The seconds from the third on after the capacity is halved.
const HALVED_AT: u32 = 60;
const AFTER_HALVING: Span = Span {
    seconds: HALVED_AT + 13,
    warm_up: HALVED_AT + 3,
};

/// The runs of one setting.
struct SettingRuns {
    control: Control,
    buffer: Buffer,
    senders: u32,
    tcp: Option<TcpKind>,
    runs: Vec<(u64, Shares)>,
}

type Quantity = fn(&Shares) -> f64;

const JAIN: Quantity = |shares| jain_index(&shares.media).unwrap_or(0.0);
const CARRIED: Quantity = |shares| {
    let all = shares.media.iter().chain(&shares.tcp);
    all.sum::<f64>() / CAPACITY * 100.0
};
const LOST: Quantity = |shares| shares.lost * 100.0;
const QUEUEING: Quantity = |shares| shares.queueing;
/// The mean rate of a sender, and of a transfer, as a part of an equal share.
const SHARE: Quantity = |shares| part_of_equal_share(&shares.media, shares);
const TCP_SHARE: Quantity = |shares| part_of_equal_share(&shares.tcp, shares);

fn part_of_equal_share(rates: &[f64], shares: &Shares) -> f64 {
    let equal = CAPACITY / (shares.media.len() + shares.tcp.len()) as f64;
    rates.iter().sum::<f64>() / rates.len().max(1) as f64 / equal
}

impl SettingRuns {
    fn samples(&self, of: Quantity) -> Vec<Sample> {
        let sample = |(seed, shares): &(u64, Shares)| Sample {
            seed: *seed,
            value: of(shares),
        };
        self.runs.iter().map(sample).collect()
    }

    /// The buffer and the number of senders, for names.
    fn key(&self) -> String {
        format!("{}_{}", self.buffer.name, self.senders)
    }

    fn measured(&self, claim: &str, quantity: &str, unit: &str, of: Quantity) -> Measurement {
        let group = format!("{} senders, {} buffer", self.senders, self.buffer.name);
        Measurement::of(claim, quantity, unit, &group, &self.samples(of))
    }

    /// The controller, the buffer and the number of senders.
    fn head(&self) -> Vec<String> {
        let name = name_of(self.control).replace('"', "").replace('-', " ");
        vec![name, self.buffer.name.to_owned(), self.senders.to_string()]
    }

    fn cells(&self, quantities: &[(Quantity, usize)]) -> Vec<String> {
        let cells = quantities
            .iter()
            .map(|&(of, digits)| text(&self.samples(of), digits));
        self.head().into_iter().chain(cells).collect()
    }
}

/// Requests the runs of a setting with each seed.
fn row(
    study: &mut Study<'_>,
    control: Control,
    buffer: Buffer,
    tcp: Option<TcpKind>,
    sharing: &Sharing,
) -> Result<SettingRuns, Pending> {
    let seeds = replica_seeds(SEED, study.pick(2, 10));
    let runs = seeds.iter().map(|&seed| Sharing {
        control,
        buffer: buffer.packets,
        tcp: tcp.map(|tcp| tcp.variant),
        seed,
        ..sharing.clone()
    });
    let runs = study.request_all(runs)?;
    Ok(SettingRuns {
        control,
        buffer,
        senders: sharing.senders,
        tcp,
        runs: seeds.into_iter().zip(runs).collect(),
    })
}

fn setting(senders: u32, round_trips: &[u32], halved_at: Option<u32>, span: Span) -> Sharing {
    Sharing {
        control: Control::Cubic,
        senders,
        round_trips: round_trips.to_vec(),
        tcp: None,
        buffer: 0,
        halved_at,
        span,
        seed: 0,
    }
}

/// All settings of each controller: those of [`FAIR`], of [`BESIDE_TCP`] and of [`HALVED`].
fn rows(study: &mut Study<'_>) -> [Vec<Result<SettingRuns, Pending>>; 3] {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for control in CONTROLS {
        for buffer in BUFFERS {
            for senders in SENDERS {
                let sharing = setting(senders, &ROUND_TRIPS, None, SECOND_MINUTE);
                all[0].push(row(study, control, buffer, None, &sharing));
            }
            for pairs in PAIRS {
                for tcp in TCPS {
                    let sharing = setting(pairs, &[40], None, SECOND_MINUTE);
                    all[1].push(row(study, control, buffer, Some(tcp), &sharing));
                }
            }
            let sharing = setting(2, &[40], Some(HALVED_AT), AFTER_HALVING);
            all[2].push(row(study, control, buffer, None, &sharing));
        }
    }
    all
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let in_lab = lab::rows(study);
    let [alone, beside, halved] = rows(study);
    let collected = |rows: Vec<Result<SettingRuns, Pending>>| {
        rows.into_iter().collect::<Result<Vec<SettingRuns>, _>>()
    };
    let (alone, beside, halved) = (collected(alone)?, collected(beside)?, collected(halved)?);
    let in_lab = in_lab?;
    let ours = |rows: &[SettingRuns],
                measured: &dyn Fn(&SettingRuns) -> Measurement|
     -> Vec<Measurement> {
        let rows = rows.iter().filter(|row| row.control == Control::Cubic);
        rows.map(measured).collect()
    };
    let mut measurements = ours(&alone, &|row| {
        row.measured(FAIR, &format!("jain.{}", row.key()), "ratio", JAIN)
    });
    measurements.extend(ours(&alone, &|row| {
        row.measured(QUEUE, &format!("queueing.{}", row.key()), "ms", QUEUEING)
    }));
    measurements.extend(ours(&beside, &|row| {
        let variant = row.tcp.map_or("", |tcp| tcp.variant);
        let quantity = format!("share.{variant}_{}", row.key());
        row.measured(BESIDE_TCP, &quantity, "ratio", SHARE)
    }));
    measurements.extend(ours(&beside, &|row| {
        let variant = row.tcp.map_or("", |tcp| tcp.variant);
        let quantity = format!("tcp.{variant}_{}", row.key());
        row.measured(BESIDE_TCP, &quantity, "ratio", TCP_SHARE)
    }));
    measurements.extend(ours(&halved, &|row| {
        row.measured(HALVED, &format!("lost.{}", row.buffer.name), "%", LOST)
    }));
    let mut tables = vec![
        alone_table(&alone),
        beside_table(&beside),
        halved_table(&halved),
    ];
    tables.extend(in_lab.as_deref().map(lab::table));
    Ok(Findings {
        tables,
        measurements,
        reasons: vec![beside_reason(&beside), halved_reason(&alone, &halved)],
        parameters: vec![["setting", SETTING].map(ToOwned::to_owned)],
        ..Findings::default()
    })
}

/// The values of the controller `cubic` in a setting, formatted.
fn value(
    rows: &[SettingRuns],
    key: &str,
    tcp: Option<&str>,
    of: Quantity,
    digits: usize,
) -> String {
    let is_it = |row: &&SettingRuns| {
        row.control == Control::Cubic && row.key() == key && row.tcp.map(|tcp| tcp.variant) == tcp
    };
    let row = rows.iter().find(is_it);
    row.map_or_else(String::new, |row| text(&row.samples(of), digits))
}

fn beside_reason(beside: &[SettingRuns]) -> ClaimRemark {
    let of = |key: &str, tcp: &str, quantity: Quantity, digits: usize| {
        value(beside, key, Some(tcp), quantity, digits)
    };
    ClaimRemark {
        claim: BESIDE_TCP,
        text: format!(
            "BBR version 1 reacts to no loss: in a buffer of 10 ms its probes for bandwidth overflow the queue, and a \
             sender that takes losses for congestion yields. It has {} of an equal share beside one BBR there, and \
             loses {} % of its packets; beside eight it has {}. Eight transfers by Reno have {} of an equal share in \
             the deep buffer, since CUBIC's growth does not slow down with a round-trip time of up to .44 s, and \
             Reno's does.",
            of("shallow_1", "bbr", SHARE, 2),
            of("shallow_1", "bbr", LOST, 1),
            of("shallow_8", "bbr", SHARE, 2),
            of("deep_8", "sack", TCP_SHARE, 2),
        ),
    }
}

fn halved_reason(alone: &[SettingRuns], halved: &[SettingRuns]) -> ClaimRemark {
    ClaimRemark {
        claim: HALVED,
        text: format!(
            "The loss is not that of the response: two senders of about 5 Mbit/s each lose {} % in the shallow buffer \
             with each probe for bandwidth, as four senders that have as much without the other stream do, {} %.",
            value(halved, "shallow_2", None, LOST, 2),
            value(alone, "shallow_4", None, LOST, 2),
        ),
    }
}

const SETTING: &str = "20 Mbit/s, packets of 1250 B, buffers of 20 packets (10 ms) and 800 (400 ms); senders with \
                       initial spacings of .3 ms from the start and of 30 ms from 10 s on, in turn, whose \
                       round-trip times are 20 and 80 ms in turn, beside TCP 40 ms; the second minute after \
                       the last start";

fn alone_table(rows: &[SettingRuns]) -> FigureTable {
    let quantities = [(JAIN, 3), (CARRIED, 1), (LOST, 3), (QUEUEING, 1)];
    figure_table(
        "alone",
        "Senders of one kind",
        &[
            "controller",
            "buffer",
            "senders",
            "Jain's index",
            "carried, % of the capacity",
            "lost %",
            "mean time in queues ms",
        ],
        rows.iter().map(|row| row.cells(&quantities)).collect(),
    )
}

fn beside_table(rows: &[SettingRuns]) -> FigureTable {
    let quantities = [
        (SHARE, 2),
        (TCP_SHARE, 2),
        (CARRIED, 1),
        (LOST, 3),
        (QUEUEING, 1),
    ];
    let cells = |row: &SettingRuns| {
        let mut cells = row.cells(&quantities);
        cells.insert(3, row.tcp.map_or("", |tcp| tcp.name).to_owned());
        cells
    };
    figure_table(
        "beside-tcp",
        "Beside as many TCP transfers",
        &[
            "controller",
            "buffer",
            "senders",
            "TCP",
            "rate of a sender, of an equal share",
            "rate of a TCP",
            "carried, % of the capacity",
            "lost %",
            "mean time in queues ms",
        ],
        rows.iter().map(cells).collect(),
    )
}

fn halved_table(rows: &[SettingRuns]) -> FigureTable {
    let quantities = [(LOST, 2), (QUEUEING, 1)];
    figure_table(
        "halved",
        "Two senders from the third second on after a stream without control takes half of the capacity, for ten seconds",
        &[
            "controller",
            "buffer",
            "senders",
            "lost %",
            "mean time in queues ms",
        ],
        rows.iter().map(|row| row.cells(&quantities)).collect(),
    )
}
