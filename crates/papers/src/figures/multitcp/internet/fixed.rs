//! Fixed numbers of connections (Fig. 6).

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Study};

use super::super::runs::{Period, Runs, kbits, segments};
use super::{Experiment, Others, beside, caveat, in_others, rates, settings, sums_of};
use crate::figures::estimates::{estimate, text};
use crate::jobs::multitcp::parameters::{adjust, table_2};

pub(in crate::figures::multitcp) const FIG_6: Figure = Figure {
    id: "multitcp.fig6",
    title: "1, 4 and 8 connections with a target of 480 kb/s over a modelled access link",
    claims: &[HELD, IDLE, SUMS],
    make: fig6,
};
const HELD: &str = "multitcp.fig6.internet_480k";
const IDLE: &str = "multitcp.fig6.idle";
const SUMS: &str = "multitcp.fig6b.windows";

/// The access link in kb/s: two transfers leave a third of it, 280 kb/s. The round-trip time is
/// longer than the 133 ms in which eight windows of one segment carry the target, since eight
/// connections make no difference to one without cross traffic.
pub(super) const SIX: Experiment = Experiment {
    target: 480,
    access: 840,
    limit: None,
    transfers: [2, 2],
    periods: [(401, 601), (601, 1000)],
    rtt: 140,
    queue: 50,
};
const NAMES: [(&str, &str); 3] = [
    ("c1", "1 connection"),
    ("c4", "4 connections"),
    ("c8", "8 connections"),
];

fn fig6(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let schemes = [("c1", 1), ("c4", 4), ("c8", 8)]
        .map(|(name, count)| (name, SIX.stream(adjust(count, table_2()))));
    let lab = SIX.in_lab(study, &schemes);
    let others = in_others(study, SIX, &schemes)?;
    let (runs, lab) = (&others[0].1, lab?);
    let mut tables = vec![settings(&others, &NAMES, SIX.periods)];
    tables.extend(
        lab.as_ref()
            .map(|lab| beside(lab, runs, &NAMES, SIX.periods)),
    );
    Ok(Findings {
        plots: vec![
            rates("fig6a", runs, &NAMES),
            sums_of("fig6b", runs, &NAMES),
        ],
        tables,
        measurements: measurements(runs),
        in_lab: lab.as_ref().map_or_else(Vec::new, measurements),
        reasons: reasons(runs, &others),
        caveats: vec![caveat(HELD, "")],
        parameters: SIX.parameters(
            "Algorithm 1 with 1, 4 and 8 connections; delta 6 RTT, alpha .9, lambda 3000 B/s, f 10: stated (Table II)",
        ),
        ..Findings::default()
    })
}

fn measurements(runs: &Runs) -> Vec<Measurement> {
    let [mid, late] = SIX.periods;
    let congested = SIX.congested();
    let rate =
        |quantity: &str, scheme, period| kbits(HELD, quantity, &runs.throughput(scheme, period));
    let sum =
        |quantity: &str, scheme, period| segments(SUMS, quantity, &runs.windows(scheme, period));
    let idle = NAMES.map(|(scheme, _)| {
        let quantity = format!("throughput.{scheme}.idle");
        kbits(IDLE, &quantity, &runs.throughput(scheme, (20, mid.0)))
    });
    let mut all = vec![
        rate("throughput.c8", "c8", congested),
        rate("throughput.c4.mid", "c4", mid),
        rate("throughput.c4.late", "c4", late),
        rate("throughput.c8.late", "c8", late),
        rate("throughput.c1.late", "c1", late),
        sum("windows.c1.congested", "c1", congested),
        sum("windows.c4.congested", "c4", congested),
        sum("windows.c8.late", "c8", late),
        sum("windows.c8.mid", "c8", mid),
    ];
    all.extend(idle);
    all
}

fn reasons(runs: &Runs, others: &Others) -> Vec<ClaimRemark> {
    let [mid, late] = SIX.periods;
    let congested = SIX.congested();
    let throughput = |scheme, period| text(&runs.throughput(scheme, period), 0);
    let sums = |scheme, period| text(&runs.windows(scheme, period), 1);
    vec![
        ClaimRemark {
            claim: HELD,
            text: format!(
                "With 2 transfers, 1, 4 and 8 connections have {}, {} and {} kb/s, with 4 they have \
                 {}, {} and {}. Equal shares of the fitted link are 280, 560 and 672 kb/s, and 168, \
                 420 and 560. Over the rows of table `settings` four connections have {} kb/s with \
                 2 transfers, and eight have {} with 4.",
                throughput("c1", mid),
                throughput("c4", mid),
                throughput("c8", mid),
                throughput("c1", late),
                throughput("c4", late),
                throughput("c8", late),
                range(others, "c4", mid),
                range(others, "c8", late),
            ),
        },
        ClaimRemark {
            claim: SUMS,
            text: format!(
                "From 401 s on the sum is {} with one connection and {} with four; with eight it is \
                 {} with 2 transfers and {} with 4.",
                sums("c1", congested),
                sums("c4", congested),
                sums("c8", mid),
                sums("c8", late),
            ),
        },
    ]
}

/// The minimum and maximum mean throughput of a scheme over all settings.
fn range(others: &Others, scheme: &str, period: Period) -> String {
    let means = others
        .iter()
        .filter_map(|(_, runs)| estimate(&runs.throughput(scheme, period)));
    let means: Vec<f64> = means.map(|mean| mean.mean).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(0.0, f64::max);
    format!("{least:.0} to {most:.0}")
}
