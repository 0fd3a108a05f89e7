//! The controllers on real sockets and beside the kernel's TCP, beside the simulation of the same.

use polypath_batch::replica_seeds;
use polypath_claims::{FigureTable, Pending, SEED, Study};
use polypath_scenario::network::traffic::spaced::Control;

use super::{
    BUFFERS, Buffer, JAIN, LOST, QUEUEING, Quantity, SHARE, SettingRuns, TCP_SHARE, TCPS, TcpKind,
    row, setting,
};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::spacing::Sharing;
use crate::jobs::own::spacing::in_lab::SharingInLab;
use crate::jobs::psp::merge::Span;

/// Half a minute from the 30th second after the last start on.
const SPAN: Span = Span {
    seconds: 70,
    warm_up: 40,
};
/// The round-trip time of all senders, since they have one path.
const ROUND_TRIP: u32 = 40;

/// A setting, simulated and in the lab.
pub(super) struct BothSites {
    simulated: SettingRuns,
    in_lab: SettingRuns,
}

/// The settings of the lab; `None` without one.
pub(super) fn rows(study: &mut Study<'_>) -> Result<Option<Vec<BothSites>>, Pending> {
    let controls = study.pick(
        &[Control::Cubic][..],
        &[Control::Damped, Control::Cubic][..],
    );
    let crowds = study.pick(&[2][..], &[2, 8][..]);
    let mut asked = Vec::new();
    for &control in controls {
        for buffer in BUFFERS {
            for &senders in crowds {
                asked.push(both(study, control, buffer, None, senders));
            }
            for tcp in TCPS {
                asked.push(both(study, control, buffer, Some(tcp), 1));
            }
        }
    }
    // Each is requested before the first that is missing ends this.
    asked.into_iter().collect()
}

fn both(
    study: &mut Study<'_>,
    control: Control,
    buffer: Buffer,
    tcp: Option<TcpKind>,
    senders: u32,
) -> Result<Option<BothSites>, Pending> {
    let sharing = setting(senders, &[ROUND_TRIP], None, SPAN);
    let seeds = replica_seeds(SEED, study.pick(1, 2));
    let in_lab: Vec<_> = seeds
        .iter()
        .map(|&seed| {
            study.request_in_lab(&SharingInLab(Sharing {
                control,
                buffer: buffer.packets,
                tcp: tcp.map(|tcp| tcp.variant),
                seed,
                ..sharing.clone()
            }))
        })
        .collect();
    if matches!(in_lab.first(), Some(Ok(None))) {
        return Ok(None);
    }
    let simulated = row(study, control, buffer, tcp, &sharing);
    let in_lab = in_lab.into_iter().collect::<Result<Option<Vec<_>>, _>>()?;
    let simulated = simulated?;
    Ok(in_lab.map(|runs| BothSites {
        simulated,
        in_lab: SettingRuns {
            control,
            buffer,
            senders,
            tcp,
            runs: seeds.into_iter().zip(runs).collect(),
        },
    }))
}

/// Each quantity, simulated and in the lab.
pub(super) fn table(rows: &[BothSites]) -> FigureTable {
    let cells = |both: &BothSites| {
        let mut cells = both.simulated.head();
        cells.push(both.simulated.tcp.map_or("-", |tcp| tcp.name).to_owned());
        let has_tcp = both.simulated.tcp.is_some();
        let of = |is_shown: bool, quantity: Quantity, digits: usize| {
            [&both.simulated, &both.in_lab].map(|site| {
                if is_shown {
                    text(&site.samples(quantity), digits)
                } else {
                    "-".to_owned()
                }
            })
        };
        let figures = [
            of(both.simulated.senders > 1, JAIN, 3),
            of(has_tcp, SHARE, 2),
            of(has_tcp, TCP_SHARE, 2),
            of(true, LOST, 3),
            of(true, QUEUEING, 1),
        ];
        cells.extend(figures.into_iter().flatten());
        cells
    };
    figure_table(
        "lab",
        "On real sockets beside the kernel's TCP, all with a round-trip time of 40 ms without queues; half a minute from the \
         30th second after the last start on",
        &[
            "controller",
            "buffer",
            "senders",
            "TCP",
            "Jain's index, simulated",
            "in the lab",
            "rate of a sender, of an equal share, simulated",
            "in the lab",
            "rate of a TCP, simulated",
            "in the lab",
            "lost %, simulated",
            "in the lab",
            "mean time in queues ms, simulated",
            "in the lab",
        ],
        rows.iter().map(cells).collect(),
    )
}
