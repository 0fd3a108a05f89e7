//! The mechanisms with background traffic (Figs. 6, 7).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_report::plot::Plot;

use super::homogeneous::tables::starts;
use super::lab;
use super::modes::{Threshold, WHAT};
use super::pictures::{mean_of, milliseconds, utilisation};
use super::sweep::{ALONE, IN_ALL, LOADED, Load, Quantity, Sweep, delays, of, only, ratio, share};
use super::variants::{Compared, compared_with_background, mean_delays};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::delay_centric::mechanism::{
    MECHANISMS, Mechanism, ORIGINAL, ORIGINAL_GUARD, PREDICTIVE, PREDICTIVE_GUARD, PURE,
};
use crate::jobs::delay_centric::runs::Run;
use crate::jobs::delay_centric::testbed::{SOURCES, Testbed};

pub(super) const BACKGROUND_FIGURE: Figure = Figure {
    id: "delay_centric.fig6",
    title: "All mechanisms with 40 % of background",
    claims: &[LOWEST, STABILISES],
    make: background,
};
pub(super) const TREND_FIGURE: Figure = Figure {
    id: "delay_centric.fig7",
    title: "The original and the modified trend rule with background",
    claims: &[TREND],
    make: trends,
};
const LOWEST: &str = "delay_centric.fig6.background";
const STABILISES: &str = "delay_centric.fig6.background_stabilises";
const TREND: &str = "delay_centric.fig7.modified_trend";

/// Mechanisms by their names in the claim on trends.
const TRENDS: [(Mechanism, &str); 4] = [
    (PREDICTIVE, "delay.modified"),
    (ORIGINAL, "delay.original"),
    (PREDICTIVE_GUARD, "delay.modified_guard"),
    (ORIGINAL_GUARD, "delay.original_guard"),
];
/// The mechanisms that background makes more stable according to the paper (III: i and iv).
const STABILISED: [Mechanism; 2] = [PURE, PREDICTIVE_GUARD];

fn sweeps(
    study: &mut Study<'_>,
    mechanisms: &[Mechanism],
    load: Load,
) -> Result<Vec<Sweep>, Pending> {
    let asked: Vec<_> = mechanisms
        .iter()
        .map(|&mechanism| Sweep::of(study, mechanism, load))
        .collect();
    asked.into_iter().collect()
}

fn in_all() -> Load {
    Load {
        packets: IN_ALL,
        ..LOADED
    }
}

fn background(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let loaded = sweeps(study, &MECHANISMS, LOADED);
    let short = sweeps(study, &MECHANISMS, in_all());
    let alone = sweeps(study, &STABILISED, ALONE);
    let (threshold, variants) = (Threshold::of(study), compared_with_background(study));
    let in_lab = InLab::of(study, &MECHANISMS);
    let (loaded, short, alone) = (loaded?, short?, alone?);
    let (threshold, variants) = (threshold?, variants?);
    let in_lab = in_lab?;
    let mut tables = vec![means(&loaded, "means", "3000 packets a source")];
    tables.push(means(&short, "means-in-all", "3000 packets in all"));
    tables.push(stability(&alone, &loaded, threshold));
    tables.push(starts(&loaded[0], threshold));
    let mut plots = vec![
        picture(&loaded, "fig6", "Mean delay with 40 % of background"),
        picture(&short, "fig6-in-all", "The same with 3000 packets in all"),
    ];
    let mut measured_in_lab = Vec::new();
    if let Some(lab) = &in_lab {
        tables.push(lab.table(&loaded, threshold));
        plots.push(lab.picture("fig6-lab"));
        measured_in_lab = lowest(&lab.loaded);
        measured_in_lab.extend(shares(&lab.alone, &lab.loaded, lab.threshold));
    }
    Ok(Findings {
        plots,
        tables,
        measurements: [lowest(&loaded), shares(&alone, &loaded, threshold)].concat(),
        in_lab: measured_in_lab,
        reasons: vec![
            reason(LOWEST, lowest_differs(&loaded, &variants)),
            reason(STABILISES, stabilises_differs(&alone, &loaded, threshold)),
        ],
        caveats: caveats(&short, threshold),
        parameters: Testbed::parameters(LOADED),
        notes: vec![format!("{WHAT} It is {}.", threshold.text())],
        ..Findings::default()
    })
}

/// Mechanisms with background in the lab.
struct InLab {
    loaded: Vec<Sweep>,
    /// The mechanisms (i) to (iv) without background.
    alone: Vec<Sweep>,
    threshold: Threshold,
}

impl InLab {
    /// Requests the sweeps; `None` without a lab.
    ///
    /// # Errors
    /// If results are missing.
    fn of(study: &mut Study<'_>, mechanisms: &[Mechanism]) -> Result<Option<Self>, Pending> {
        let loaded = lab::sweeps(study, mechanisms, LOADED);
        let alone = lab::sweeps(study, &MECHANISMS, ALONE);
        let both = loaded?.zip(alone?);
        Ok(both.map(|(loaded, alone)| Self {
            threshold: Threshold::between(&alone),
            loaded,
            alone,
        }))
    }

    /// The sweeps beside simulated ones with their threshold.
    fn table(&self, simulated: &[Sweep], threshold: Threshold) -> FigureTable {
        let simulated = lab::Simulated {
            sweeps: simulated,
            threshold,
        };
        let each: Vec<&Sweep> = self.loaded.iter().collect();
        lab::table(&each, self.threshold, simulated)
    }

    fn picture(&self, id: &str) -> Plot {
        let title = "The same in the lab, 3000 packets a source";
        picture(&self.loaded, id, title)
    }
}

fn picture(sweeps: &[Sweep], id: &str, title: &str) -> Plot {
    let curve = |sweep: &Sweep| mean_of(sweep, sweep.mechanism.title());
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: utilisation(),
        y: milliseconds(),
        series: sweeps.iter().map(curve).collect(),
        ..Plot::default()
    }
}

/// Mean delays of each mechanism, by utilisation.
fn means(sweeps: &[Sweep], id: &str, title: &str) -> FigureTable {
    let heads = sweeps
        .iter()
        .map(|sweep| format!("{} ms", sweep.mechanism.title()));
    let heads: Vec<String> = std::iter::once("utilisation".to_owned())
        .chain(heads)
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let utilisations = sweeps.first().map_or(&[][..], |sweep| &sweep.utilisations);
    let row = |&at: &u32| {
        let cells = sweeps.iter().map(|sweep| text(&delays(sweep.at(at)), 1));
        std::iter::once(ratio(at).to_string())
            .chain(cells)
            .collect()
    };
    let title = format!("Mean delays with 40 % of background, {title}");
    figure_table(id, &title, &heads, utilisations.iter().map(row).collect())
}

fn lowest(loaded: &[Sweep]) -> Vec<Measurement> {
    let curve = |sweep: &Sweep| {
        let name = format!("delay.{}", sweep.mechanism.name());
        sweep.curve(Quantity::delay(LOWEST, &name), .., delays)
    };
    loaded.iter().flat_map(curve).collect()
}

/// The share of unstable runs above the critical utilisation, without and with background.
fn shares(alone: &[Sweep], loaded: &[Sweep], threshold: Threshold) -> Vec<Measurement> {
    let mut all = Vec::new();
    for mechanism in STABILISED {
        for (sweeps, kind) in [(alone, "alone"), (loaded, "background")] {
            let samples = of(sweeps, mechanism).share_above(|run| threshold.is_upper(run));
            let name = format!("unstable_share.{}.{kind}", mechanism.name());
            all.push(Measurement::of(STABILISES, &name, "", "runs", &samples));
        }
    }
    all
}

/// Shares of unstable runs by their initial paths, without and with background.
fn stability(alone: &[Sweep], loaded: &[Sweep], threshold: Threshold) -> FigureTable {
    let mut rows = Vec::new();
    for mechanism in STABILISED {
        let (alone, loaded) = (of(alone, mechanism), of(loaded, mechanism));
        for &at in &alone.utilisations {
            let pair = [alone, loaded].map(|sweep| by_start(sweep, at, threshold));
            let cells = pair.concat();
            let head = [mechanism.title().to_owned(), ratio(at).to_string()];
            rows.push(head.into_iter().chain(cells).collect());
        }
    }
    let columns = [
        "mechanism",
        "utilisation",
        "alone, begun three and three",
        "alone, begun otherwise",
        "background, started three and three",
        "background, begun otherwise",
    ];
    figure_table(
        "stability",
        "Shares of runs in the upper mode, by their start",
        &columns,
        rows,
    )
}

fn by_start(sweep: &Sweep, at: u32, threshold: Threshold) -> [String; 2] {
    [true, false].map(|even| {
        let runs = only(sweep.at(at), |run| (run.began_left == SOURCES / 2) == even);
        text(&share(&runs, |run| threshold.is_upper(run)), 2)
    })
}

/// The mean delays of all mechanisms in ms, as text.
fn means_at(sweeps: &[Sweep], utilisation: u32) -> String {
    let each = sweeps.iter().map(|sweep| {
        let mean = text(&delays(sweep.at(utilisation)), 0);
        format!("{} {mean}", sweep.mechanism.title())
    });
    let each = each.collect::<Vec<_>>().join(", ");
    format!("at {}: {each}", ratio(utilisation))
}

fn reason(claim: &'static str, text: String) -> ClaimRemark {
    ClaimRemark { claim, text }
}

fn lowest_differs(loaded: &[Sweep], variants: &[Compared]) -> String {
    let pair = [PREDICTIVE, PREDICTIVE_GUARD];
    format!(
        "Mean delays in ms {}. Most of the cost of a guard time is the load of its heartbeats, 250 \
         B every 20 ms on the path that is to be relieved or entered; the rest is the wait. \
         Predictive without and with guard time, ms: at .9 {}; at .99 {}.",
        [90, 95, 99].map(|at| means_at(loaded, at)).join("; "),
        mean_delays(variants, pair, 90),
        mean_delays(variants, pair, 99)
    )
}

fn stabilises_differs(alone: &[Sweep], loaded: &[Sweep], threshold: Threshold) -> String {
    let start = |mechanism: Mechanism, utilisation: u32| {
        let alone = by_start(of(alone, mechanism), utilisation, threshold);
        let loaded = by_start(of(loaded, mechanism), utilisation, threshold);
        format!(
            "{} at {}: without background {} of the runs that start three and three and {} of the \
             others, with background {} and {}",
            mechanism.title(),
            ratio(utilisation),
            alone[0],
            alone[1],
            loaded[0],
            loaded[1]
        )
    };
    let texts = STABILISED.map(|m| [82, 90, 99].map(|at| start(m, at)).join("; "));
    let still = STABILISED.map(|mechanism| {
        let is = |run: &Run| threshold.is_upper(run) && run.switches == 0;
        let shares = share(of(loaded, mechanism).at(99), is);
        format!("{} {}", mechanism.title(), text(&shares, 2))
    });
    format!(
        "Sources of constant rate that start three and three hardly ever queue, so no source \
         switches. With background their queues vary at random, at high utilisation by more than \
         the hysteresis and the threshold, and some sources switch: background removes the \
         advantage of an even start. It also fills queues by itself: at .99, runs are in the upper \
         mode without a single switch; their share of all runs with background is {}. Shares in the \
         upper mode, {}.",
        still.join(", "),
        texts.join("; ")
    )
}

fn caveats(short: &[Sweep], threshold: Threshold) -> Vec<ClaimRemark> {
    let each = short.iter().map(|sweep| {
        format!(
            "{} {}",
            sweep.mechanism.title(),
            text(&delays(sweep.at(99)), 0)
        )
    });
    let shorter = format!(
        "The verdict is for the interpretation that each source sends 3000 packets. With 3000 in \
         total, mean delays in ms are at .99: {}.",
        each.collect::<Vec<_>>().join(", ")
    );
    let shares = format!(
        "The verdict is for the shares of all runs above a utilisation of .75, with a threshold of \
         {} from runs without background.",
        threshold.text()
    );
    vec![reason(LOWEST, shorter), reason(STABILISES, shares)]
}

fn trends(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let mechanisms = TRENDS.map(|(mechanism, _)| mechanism);
    let [loaded, short] = [LOADED, in_all()].map(|load| sweeps(study, &mechanisms, load));
    let threshold = Threshold::of(study);
    let in_lab = InLab::of(study, &mechanisms);
    let (loaded, short, threshold) = (loaded?, short?, threshold?);
    let in_lab = in_lab?;
    let mut tables = vec![
        means(&loaded, "means", "3000 packets a source"),
        means(&short, "means-in-all", "3000 packets in all"),
    ];
    let mut plots = vec![
        picture(&loaded, "fig7", "Trend rules with 40 % of background"),
        picture(&short, "fig7-in-all", "The same with 3000 packets in all"),
    ];
    if let Some(lab) = &in_lab {
        tables.push(lab.table(&loaded, threshold));
        plots.push(lab.picture("fig7-lab"));
    }
    let measured = |sweeps: &[Sweep]| {
        let curve = |(mechanism, name): (Mechanism, &str)| {
            of(sweeps, mechanism).curve(Quantity::delay(TREND, name), .., delays)
        };
        TRENDS.into_iter().flat_map(curve).collect::<Vec<_>>()
    };
    Ok(Findings {
        plots,
        tables,
        measurements: measured(&loaded),
        in_lab: in_lab.map_or_else(Vec::new, |lab| measured(&lab.loaded)),
        reasons: vec![reason(
            TREND,
            format!(
                "Mean delays in ms with the modified and the original rule: {}.",
                rules(&loaded)
            ),
        )],
        caveats: vec![reason(
            TREND,
            format!(
                "The verdict is for the interpretation that each source sends 3000 packets. With \
                 3000 in total, mean delays in ms with the modified and the original rule are: {}.",
                rules(&short)
            ),
        )],
        parameters: Testbed::parameters(LOADED),
        ..Findings::default()
    })
}

/// The mean delays of both trend rules in ms, as text.
fn rules(sweeps: &[Sweep]) -> String {
    let at = |at: u32| {
        let each = TRENDS.map(|(mechanism, _)| text(&delays(of(sweeps, mechanism).at(at)), 1));
        let [a, b, c, d] = each;
        format!(
            "at {} without guard time {a} and {b}, with it {c} and {d}",
            ratio(at)
        )
    };
    [90, 95, 99].map(at).join("; ")
}
