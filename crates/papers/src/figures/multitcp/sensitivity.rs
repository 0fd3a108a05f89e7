//! The sensitivity of Fig. 4 to parameters that the paper does not state.

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Pending, Sample, Study};
use polypath_core::connections::{ControlConfig, ControllerConfig};

use super::fig4::{LATE, MID, in_bursts, schemes, setting};
use super::runs::{Runs, seeds};
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::multitcp::setting::{Hosts, Queue, Setting, StreamCarrier};

pub(super) const FIGURE: Figure = Figure {
    id: "multitcp.sensitivity",
    title: "Fig. 4 in other settings",
    claims: &[],
    make,
};

/// The difference from Fig. 4.
type Change = fn(&mut Setting);

const CHANGES: [(&str, Change); 11] = [
    ("as in Fig. 4", |_| {}),
    ("queues of 20 packets", |setting| {
        setting.links.queue = Queue::Red(20);
    }),
    ("queues of 100 packets", |setting| {
        setting.links.queue = Queue::Red(100);
    }),
    (RED_IN_BYTES, |setting| {
        setting.links.queue = Queue::RedInBytes(50);
    }),
    (DROP_TAIL, |setting| drop_tail(setting, 50)),
    (NO_OVERHEAD, |setting| {
        setting.links.queue = Queue::DropTail(50);
    }),
    (FAST_GENERATOR, |setting| {
        drop_tail(setting, 50);
        setting.links.generator.kbits = 100_000;
    }),
    ("TCP SACK", |setting| setting.hosts.variant = "sack"),
    ("alpha .1: the weight of the new sample is .9", |setting| {
        control(setting, |control| control.smoothing = 0.1);
    }),
    ("f = 2", |setting| {
        control(setting, |control| control.spike = 2.0);
    }),
    ("delta 900 ms", |setting| {
        let long = polypath_core::time::Duration::from_millis(900);
        control(setting, |control| control.interval = Some(long));
    }),
];

/// Drop-tail queues, whose phase effects the hosts break as far as possible.
pub(super) fn drop_tail(setting: &mut Setting, limit: u32) {
    setting.links.queue = Queue::DropTail(limit);
    setting.hosts.overhead = Hosts::reno(6000).overhead;
}

/// Changes the controller, if it adapts to the throughput.
fn control(setting: &mut Setting, change: impl Fn(&mut ControlConfig)) {
    if let StreamCarrier::Controller(
        ControllerConfig::AdjustWindow { control, .. }
        | ControllerConfig::VariedConnections { control, .. },
    ) = &mut setting.stream.by
    {
        change(control);
    }
}

/// A setting, and the throughput in kb/s of 1, 2 and 5 connections in it during bursts, against 15
/// and against 20 transfers.
pub(super) struct SettingThroughputs {
    name: &'static str,
    columns: Vec<Vec<Sample>>,
}

impl SettingThroughputs {
    fn of(name: &'static str, runs: &Runs) -> Self {
        let schemes = ["c1", "c2", "c5"];
        let bursts = schemes.map(|scheme| runs.samples(scheme, |run| in_bursts(&run.throughput)));
        let [mid, late] = [MID, LATE].map(|period| {
            schemes
                .map(|scheme| runs.throughput(scheme, period))
                .to_vec()
        });
        Self {
            name,
            columns: [bursts.to_vec(), mid, late].concat(),
        }
    }
}

/// Fig. 4 in all settings.
///
/// # Errors
/// If results are missing.
pub(super) fn rows(study: &mut Study<'_>) -> Result<Vec<SettingThroughputs>, Pending> {
    // Settings other than that of the figure have fewer seeds.
    let few: Vec<u64> = seeds(study).into_iter().take(study.pick(1, 5)).collect();
    let asked: Vec<_> = CHANGES
        .iter()
        .map(|(name, change)| {
            let changed = |stream, seed| {
                let mut changed = setting(20, stream, seed);
                change(&mut changed);
                changed
            };
            (*name, Runs::of(study, &schemes(), &few, changed))
        })
        .collect();
    let all = asked.into_iter();
    all.map(|(name, runs)| Ok(SettingThroughputs::of(name, &runs?)))
        .collect()
}

/// The setting with the queues that ns-2 has without a further word.
const RED_IN_BYTES: &str = "RED that counts bytes, as ns-2's by default";
/// The setting in which phase effects decide, apart from a random send overhead.
pub(super) const DROP_TAIL: &str = "drop-tail queues, send overhead up to 1.333 ms";
/// The setting in which phase effects alone decide.
pub(super) const NO_OVERHEAD: &str = "drop-tail queues, no send overhead";
/// The setting in which the generator's link differs from the bottleneck.
pub(super) const FAST_GENERATOR: &str = "drop-tail queues, generator's link of 100 Mb/s";

/// The caveat of a claim that rests on the queues of Fig. 4.
pub(super) fn caveat(claim: &'static str, rows: &[SettingThroughputs]) -> ClaimRemark {
    let [bursts, mid, late] = [0, 3, 6].map(|first| row(rows, RED_IN_BYTES, first));
    ClaimRemark {
        claim,
        text: format!(
            "The paper states neither the kind of the queues nor their limit. RED that counts \
             packets, with a limit of 50, was chosen because it fits. With {RED_IN_BYTES}, one, two \
             and five connections have {bursts} during the bursts, {mid} with 15 transfers and \
             {late} with 20. With drop-tail, phase effects between links of equal rate determine \
             the result: table `settings` of multitcp.sensitivity."
        ),
    }
}

/// The values of one, two and five connections in a setting, from a column on.
pub(super) fn row(rows: &[SettingThroughputs], name: &str, first: usize) -> String {
    let found = rows.iter().find(|row| row.name == name);
    let columns = found.and_then(|row| row.columns.get(first..first + 3));
    let Some([one, two, five]) = columns else {
        return "-".to_owned();
    };
    let [one, two, five] = [one, two, five].map(|samples| text(samples, 0));
    format!("{one}, {two} and {five} kb/s")
}

/// The minimum and maximum mean of a column over all settings, in kb/s.
pub(super) fn range(rows: &[SettingThroughputs], column: usize) -> String {
    let means = rows
        .iter()
        .filter_map(|row| estimate(row.columns.get(column)?));
    let means: Vec<f64> = means.map(|mean| mean.mean).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(0.0, f64::max);
    format!("{least:.0} to {most:.0}")
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    Ok(Findings {
        tables: vec![table(&rows(study)?)],
        ..Findings::default()
    })
}

fn table(rows: &[SettingThroughputs]) -> FigureTable {
    let line = |row: &SettingThroughputs| {
        let cells = row.columns.iter().map(|samples| text(samples, 0));
        std::iter::once(row.name.to_owned()).chain(cells).collect()
    };
    figure_table(
        "settings",
        "Throughput in kb/s with 1, 2 and 5 connections during the bursts and with transfers",
        &[
            "setting",
            "1 in bursts",
            "2 in bursts",
            "5 in bursts",
            "1, 15 TCPs",
            "2, 15 TCPs",
            "5, 15 TCPs",
            "1, 20 TCPs",
            "2, 20 TCPs",
            "5, 20 TCPs",
        ],
        rows.iter().map(line).collect(),
    )
}
