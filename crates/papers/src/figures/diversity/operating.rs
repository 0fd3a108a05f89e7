//! The accuracy with which signatures distinguish congestion from dropouts.

mod settings;

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_core::combine::signature::{SameLinksConfig, SignatureConfig};
use polypath_report::plot::{Plot, Point, Series};
use polypath_report::statistics::Estimate;

use self::settings::{Setting, settings};
use crate::figures::estimates::{estimate, shown, text};
use crate::figures::pictures::{axis, figure_table, share, thin};
use crate::jobs::diversity::detection::{Detected, Detection};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.signature",
    title: "Congestion or dropout: operating characteristics of signatures",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.signature";
/// The area under the curve that the claim requires.
const BOUND: f64 = 0.95;

/// The signatures: the project's default, and the paper's rule with the minimum number of windows
/// that "several" permits, and with one, on which the rule for all links is based.
fn signatures() -> [(&'static str, SignatureConfig); 3] {
    let plain = |links, windows| SignatureConfig::SameLinks(SameLinksConfig { links, windows });
    [
        ("likelihood ratio", SignatureConfig::default()),
        ("the paper's: 2 links, 2 windows", plain(2, 2)),
        ("2 links, 1 window", plain(2, 1)),
    ]
}

/// The results of a signature in a setting, for each run.
struct SignatureResult {
    setting: Setting,
    signature: usize,
    runs: Vec<Detected>,
}

fn rows(study: &mut Study<'_>) -> Result<Vec<SignatureResult>, Pending> {
    let seeds = study.pick(3, 20);
    let mut asked = Vec::new();
    for setting in settings() {
        for (signature, (_, config)) in signatures().into_iter().enumerate() {
            let runs = Detection::request(study, &setting.with(config), seeds);
            asked.push((setting.clone(), signature, runs));
        }
    }
    let rows = asked.into_iter().map(|(setting, signature, runs)| {
        Ok(SignatureResult {
            setting,
            signature,
            runs: runs?,
        })
    });
    rows.collect()
}

impl SignatureResult {
    /// Whether the claim covers it: the default signature in the paper's settings.
    const fn is_judged(&self) -> bool {
        self.signature == 0 && self.setting.is_paper
    }

    /// A sample of each run with a value.
    fn samples(&self, of: impl Fn(&Detected) -> Option<f64>) -> Vec<Sample> {
        let sample = |run: &Detected| {
            Some(Sample {
                seed: run.seed,
                value: of(run)?,
            })
        };
        self.runs.iter().filter_map(sample).collect()
    }
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study)?;
    let judged = rows.iter().filter(|row| row.is_judged());
    let measured = judged.filter_map(|row| {
        let samples = row.samples(|run| run.auc);
        let name = format!("auc.{}", row.setting.id);
        let of = Measurement::of(CLAIM, &name, "ratio", &row.setting.id, &samples);
        (!samples.is_empty()).then_some(of)
    });
    Ok(Findings {
        plots: vec![curves(&rows)],
        tables: vec![characteristic(&rows), crowd(&rows)],
        measurements: measured.collect(),
        caveats: vec![labels(&rows)],
        reasons: vec![reason(&rows)],
        notes: vec![
            "Overlapping links and flows without diversity are the paper's open questions (VI): the \
             verdict does not include their rows."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The area under the curve in each judged setting, by both labels.
fn areas(rows: &[SignatureResult]) -> Vec<(&str, [Option<Estimate>; 2])> {
    let judged = rows.iter().filter(|row| row.is_judged());
    let of =
        |row: &'_ SignatureResult, of: fn(&Detected) -> Option<f64>| estimate(&row.samples(of));
    let both = judged.map(|row| {
        let areas = [of(row, |run| run.auc), of(row, |run| run.auc_of_losses)];
        (row.setting.title.as_str(), areas)
    });
    both.collect()
}

/// The definition of a congested window, and the result with the other label.
fn labels(rows: &[SignatureResult]) -> ClaimRemark {
    let areas = areas(rows);
    let least = |label: usize| {
        let known = areas.iter().filter_map(|(_, areas)| areas[label]);
        let least = known.min_by(|a, b| a.mean.total_cmp(&b.mean));
        shown(least, 3)
    };
    let below = |label: usize| {
        let known = areas.iter().filter_map(|(_, areas)| areas[label]);
        known.filter(|area| area.mean < BOUND).count()
    };
    let n = areas.len();
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "A window, the packets of a flow in a round trip, counts as congested if one of its \
             links was: the paper considers the losses of a flow \"when congestion occurs\". With \
             this label, which was the first, the minimum area is {}, and {} of {n} settings are \
             below {BOUND}. With another, chosen after these results were known, a window is \
             congested only if a congested link dropped packets of the flow; with it the minimum is \
             {}, and {} of {n} are below. Windows that every link delivered completely carry no \
             information and do not count. If the flows react to the signature, losses are few and \
             hard to distinguish; if they continue, it is easier.",
            least(0),
            below(0),
            least(1),
            below(1),
        ),
    }
}

fn reason(rows: &[SignatureResult]) -> ClaimRemark {
    let texts = areas(rows).into_iter().filter_map(|(title, areas)| {
        let [by_links, by_losses] = areas;
        let is_low = by_links.is_some_and(|area| area.mean < BOUND);
        is_low.then(|| {
            format!(
                "{title}: {} and {}",
                shown(by_links, 3),
                shown(by_losses, 3)
            )
        })
    });
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "In some windows a link is slightly above its capacity and drops no packet of a flow, \
             while another is down and drops many: the flow's losses are those of a dropout. With \
             long fades such windows are frequent. The area by congested links, and if only their \
             drops count: {}.",
            texts.collect::<Vec<_>>().join("; ")
        ),
    }
}

/// True over false alarms, in the hardest of the paper's settings.
fn curves(rows: &[SignatureResult]) -> Plot {
    let shown = rows.iter().filter(|row| row.setting.is_shown);
    let series = shown.filter_map(|row| {
        let run = row.runs.first()?;
        let point = |[x, y]: &[f64; 2]| Point {
            x: *x,
            y: *y,
            ci95: None,
        };
        Some(thin(Series {
            name: signatures()[row.signature].0.to_owned(),
            points: run.curve.iter().map(point).collect(),
            ..Series::default()
        }))
    });
    Plot {
        id: "alarms".to_owned(),
        title: "True over false alarms: 20 flows that react to them, fades of 1 s".to_owned(),
        x: axis("share of other windows classified as congested", ""),
        y: share("share of congestion found"),
        series: series.collect(),
        ..Plot::default()
    }
}

fn characteristic(rows: &[SignatureResult]) -> FigureTable {
    let row = |row: &SignatureResult| {
        let of = |of: fn(&Detected) -> Option<f64>, digits| text(&row.samples(of), digits);
        vec![
            row.setting.title.clone(),
            signatures()[row.signature].0.to_owned(),
            of(|run| run.auc, 4),
            of(|run| run.auc_of_losses, 4),
            of(|run| run.found, 3),
            of(|run| run.false_alarms, 4),
            of(|run| run.delay, 2),
            of(|run| Some(run.windows[0] as f64), 0),
            of(|run| Some(run.windows[1] as f64), 0),
        ]
    };
    figure_table(
        "characteristic",
        "Signatures over the paper's parameters, and beyond them",
        &[
            "setting",
            "signature",
            "area under the curve",
            "the same, if congestion dropped packets",
            "congestion found",
            "others taken for it",
            "round trips until a flow detects it",
            "windows with losses and a congested link per run",
            "with losses and none",
        ],
        rows.iter().map(row).collect(),
    )
}

fn crowd(rows: &[SignatureResult]) -> FigureTable {
    let mixed = rows.iter().filter(|row| row.setting.config.sets.is_some());
    let row = |row: &SignatureResult| {
        let of = |of: fn(&Detected) -> Option<f64>, digits| text(&row.samples(of), digits);
        vec![
            row.setting.title.clone(),
            signatures()[row.signature].0.to_owned(),
            of(|run| run.copied, 1),
            of(|run| run.alone, 1),
        ]
    };
    figure_table(
        "mixed",
        "Goodput of flows with and without diversity in the same network, in packets per round trip",
        &[
            "setting",
            "signature",
            "a flow with copies",
            "a flow on one link",
        ],
        mixed.map(row).collect(),
    )
}
