//! The sensitivity of the ratios of Fig. 3 at a load of .95 to parameters that the paper does not
//! state.

use polypath_claims::{ClaimRemark, FigureTable, Findings, Pending, Scale, Study};
use polypath_report::statistics::Estimate;
use polypath_scenario::Scheme;

use super::curves::ratio;
use super::fig3::{self, STATED};
use super::plan::{FILE, LoadPoint, Plan, Size, calibrate_ways, title};
use crate::figures::estimates::{estimate, mean, shown};
use crate::jobs::ppd::setting::{Bursts, Setting, Topology, Traffic};

/// A variant: its difference, its setting, and its background if unequal.
struct Variant {
    what: String,
    setting: Setting,
    /// The loads to the client and to the server, of both paths.
    loads: [f64; 2],
}

impl Variant {
    fn new(what: &str, setting: Setting) -> Self {
        Self {
            what: what.to_owned(),
            setting,
            loads: [STATED; 2],
        }
    }

    fn uneven(loads: [f64; 2]) -> Self {
        Self {
            what: format!(
                "load {} to the client, {} to the server",
                loads[0], loads[1]
            ),
            setting: Setting::new(Topology::Apart),
            loads,
        }
    }

    /// Its transfers.
    fn row(&self, study: &mut Study<'_>, size: Size) -> Result<LoadPoint, Pending> {
        let found = calibrate_ways(study, &self.setting, &[self.loads])?;
        let traffic: Traffic = Some([found[0].idle; 2]);
        let plan = Plan {
            experiment: "sensitivity",
            setting: &self.setting,
            traffic,
            load: STATED,
            bytes: FILE,
            size,
        };
        plan.run(study, &Scheme::ALL)
    }
}

/// TCP of ns-2 in 2001: a clock of 100 ms, a timeout of at least 1 s and initially 6 s, an initial
/// window of 1, no limited transmit (defaults of ns-2.1b8).
fn of_2001(setting: Setting) -> Setting {
    setting
        .with("tcp.tick", "100 ms")
        .with("tcp.min_rto", "1 s")
        .with("tcp.initial_rto", "6 s")
        .with("tcp.initial_window", "1")
        .with("tcp.limited_transmit", "false")
}

fn variants(scale: Scale) -> Vec<Variant> {
    let base = || Setting::new(Topology::Apart);
    let quick = vec![
        Variant::new("L = 20", base().with_queues(20)),
        Variant::new(
            "UDP of 500 kbit/s for 0.5 s",
            base().with_bursts(Bursts::Mild),
        ),
        Variant::uneven([0.6, STATED]),
    ];
    let more = vec![
        Variant::new("L = 100", base().with_queues(100)),
        Variant::new("timers of 2001", of_2001(base())),
        Variant::new(
            "delayed ACKs, 100 ms",
            base().with("tcp.delayed_ack", "100 ms"),
        ),
        Variant::uneven([0.9, STATED]),
        Variant::uneven([STATED, 0.6]),
    ];
    let more = match scale {
        Scale::Quick => Vec::new(),
        Scale::Full => more,
    };
    more.into_iter().chain(quick).collect()
}

/// The row of Fig. 3 at the stated load, and those of the variants.
struct Compared {
    base: LoadPoint,
    variants: Vec<(Variant, LoadPoint)>,
}

fn compared(study: &mut Study<'_>) -> Result<Compared, Pending> {
    let base = fig3::rows(study);
    let size = study.pick(
        Size {
            replicas: 4,
            count: 2,
            about: 50,
        },
        Size {
            replicas: 20,
            count: 8,
            about: 50,
        },
    );
    let variants = variants(study.scale());
    let rows: Vec<_> = variants
        .iter()
        .map(|variant| variant.row(study, size))
        .collect();
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>();
    Ok(Compared {
        base: fig3::stated_row(&base?).clone(),
        variants: variants.into_iter().zip(rows?).collect(),
    })
}

/// The table of sensitivities.
pub(super) fn sensitivity(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let compared = compared(study)?;
    let first = line("as in Fig. 3", &compared.base);
    let others = compared
        .variants
        .iter()
        .map(|(variant, row)| line(&variant.what, row));
    let columns = [
        "variant",
        "TCP s",
        "PPD-TCP1 s",
        "PPD-TCP3 s",
        "PPD-TCP2 s",
        "TCP / PPD-TCP1",
        "TCP / PPD-TCP3",
        "TCP / PPD-TCP2",
        "measured load there, back",
        "lost there, back %",
    ];
    Ok(Findings {
        tables: vec![FigureTable {
            id: "sensitivity".to_owned(),
            title: format!(
                "Transfers of 100 kB at a load of {STATED}, by choices that the paper \
                            leaves open"
            ),
            columns: columns.map(str::to_owned).to_vec(),
            rows: std::iter::once(first).chain(others).collect(),
        }],
        notes: vec![
            "Each variant has its own calibration; with unequal directions both idle times are \
             searched together."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

const ORDER: [Scheme; 4] = [
    Scheme::Tcp,
    Scheme::PpdTcp1,
    Scheme::PpdTcp3,
    Scheme::PpdTcp2,
];

fn line(what: &str, row: &LoadPoint) -> Vec<String> {
    let times = ORDER.map(|scheme| shown(estimate(&row.times(scheme)), 2));
    let ratios = ORDER[1..]
        .iter()
        .map(|scheme| shown(ratio(row, *scheme), 2));
    let tcp = row.of(Scheme::Tcp);
    let loads = [0, 1].map(|direction| {
        mean(
            &tcp.iter()
                .map(|run| run.loads[0][direction])
                .collect::<Vec<_>>(),
        )
    });
    let lost = [0, 1].map(|direction| {
        let frames = tcp.iter().map(|run| run.frames[0][direction]);
        let (lost, sent) = frames.fold((0, 0), |(a, b), (lost, sent)| (a + lost, b + sent));
        100.0 * lost as f64 / sent.max(1) as f64
    });
    std::iter::once(what.to_owned())
        .chain(times)
        .chain(ratios)
        .chain([
            format!("{:.3}, {:.3}", loads[0], loads[1]),
            format!("{:.1}, {:.1}", lost[0], lost[1]),
        ])
        .collect()
}

/// The reason for which the times of Fig. 3 differ from the paper's, from these runs.
pub(super) fn reasons(study: &mut Study<'_>) -> Result<Vec<ClaimRemark>, Pending> {
    let Compared { base, variants } = compared(study)?;
    let stated = |n: usize| study.stated("ppd.fig3.at_95", n);
    let paper = [1, 2, 3].map(|n| Some(stated(0)? / stated(n)?));
    let paper = paper.map(|ratio| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.1}")));
    let ours = ORDER[1..]
        .iter()
        .map(|scheme| shown(ratio(&base, *scheme), 1));
    let first = |(variant, row): &(Variant, LoadPoint)| {
        format!("{} with {}", shown(ratio(row, ORDER[1]), 1), variant.what)
    };
    let text = format!(
        "TCP over {}, {} and {} is {} here and {} in the paper. For the variants of what the paper \
         leaves open, TCP over PPD-TCP1 is {}. {}",
        title(ORDER[1]),
        title(ORDER[2]),
        title(ORDER[3]),
        ours.collect::<Vec<_>>().join(", "),
        paper.join(", "),
        variants.iter().map(first).collect::<Vec<_>>().join("; "),
        above(&base, &variants),
    );
    let times = format!(
        "{}; {}. {text}",
        range(ORDER[0], &base, &variants),
        range(ORDER[1], &base, &variants)
    );
    let texts = [times, text.clone(), text];
    let reason = |(claim, text)| ClaimRemark { claim, text };
    Ok(CLAIMS.into_iter().zip(texts).map(reason).collect())
}

/// The time of a scheme in Fig. 3, and its range over the variants.
fn range(scheme: Scheme, base: &LoadPoint, variants: &[(Variant, LoadPoint)]) -> String {
    let time = |row: &LoadPoint| estimate(&row.times(scheme));
    let known = variants
        .iter()
        .filter_map(|(variant, row)| Some((variant.what.as_str(), time(row)?)));
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let end = |end: Option<&(&str, Estimate)>| {
        end.map_or("-".to_owned(), |(what, time)| {
            format!("{} s with {what}", shown(Some(*time), 1))
        })
    };
    format!(
        "{} takes {} s, and by variant (table `sensitivity` of ppd.sensitivity) from {} to {}",
        title(scheme),
        shown(time(base), 1),
        end(known.first()),
        end(known.last())
    )
}

/// The claims that these runs concern.
const CLAIMS: [&str; 3] = [
    "ppd.fig3.at_95",
    "ppd.fig3.order",
    "ppd.fig3.rises_with_load",
];

/// The variants whose ratio is above that of Fig. 3 by more than both intervals.
fn above(base: &LoadPoint, variants: &[(Variant, LoadPoint)]) -> String {
    let ends = |row: &LoadPoint| {
        let ratio = ratio(row, ORDER[1])?;
        let half = ratio.ci95?;
        Some((ratio.mean - half, ratio.mean + half))
    };
    let most = ends(base).map_or(f64::INFINITY, |ends| ends.1);
    let above = variants.iter().filter(|(_, row)| {
        let least = ends(row).map(|ends| ends.0);
        least.is_some_and(|least| least > most)
    });
    let names: Vec<&str> = above.map(|(variant, _)| variant.what.as_str()).collect();
    if names.is_empty() {
        return "No interval is above that of Fig. 3.".to_owned();
    }
    format!(
        "The intervals of these variants are above that of Fig. 3: {}.",
        names.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::ppd::idle::Idle;

    #[test]
    fn every_variant_is_a_scenario_of_its_own() {
        let traffic = Some([[Idle::at(-1.0); 2]; 2]);
        let texts = variants(Scale::Full).into_iter().filter_map(|variant| {
            let scenario = variant.setting.scenario(&traffic, &Scheme::ALL).unwrap();
            let even = variant.loads == [STATED; 2];
            even.then(|| format!("{scenario:?}"))
        });
        let mut texts: Vec<String> = texts.collect();
        let base = Setting::new(Topology::Apart)
            .scenario(&traffic, &Scheme::ALL)
            .unwrap();
        texts.push(format!("{base:?}"));
        let count = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!((texts.len(), count), (6, 6));
    }
}
