//! How well signatures tell congestion from dropouts.

mod detection;
mod settings;

use polypath_core::combine::signature::{SameLinksConfig, SignatureConfig};
use polypath_report::plot::{Plot, Point, Series};

use self::detection::{Detected, Detection};
use self::settings::{Setting, settings};
use crate::estimates::text;
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::pictures::{axis, share, sheet, thin};
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.signature",
    title: "Congestion or dropout: the operating characteristic of signatures",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.signature";

/// The signatures: the project's default, and the paper's rule with as many windows as the least that "several" can mean,
/// and with one, on which the rule for all links rests.
fn signatures() -> [(&'static str, SignatureConfig); 3] {
    let plain = |links, windows| SignatureConfig::SameLinks(SameLinksConfig { links, windows });
    [
        ("likelihood ratio", SignatureConfig::default()),
        ("the paper's: 2 links, 2 windows", plain(2, 2)),
        ("2 links, 1 window", plain(2, 1)),
    ]
}

/// What a signature does in a setting, run by run.
struct Row {
    setting: Setting,
    signature: usize,
    runs: Vec<Detected>,
}

fn rows(study: &mut Study<'_>) -> Result<Vec<Row>, Pending> {
    let seeds = study.pick(3, 20);
    let mut asked = Vec::new();
    for setting in settings() {
        for (signature, (_, config)) in signatures().into_iter().enumerate() {
            let runs = Detection::ask(study, &setting.with(config), seeds);
            asked.push((setting.clone(), signature, runs));
        }
    }
    let rows = asked.into_iter().map(|(setting, signature, runs)| {
        Ok(Row {
            setting,
            signature,
            runs: runs?,
        })
    });
    rows.collect()
}

impl Row {
    /// A sample of each run that has one.
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
    let default = rows.iter().filter(|row| row.signature == 0);
    let judged = default.filter(|row| row.setting.is_paper);
    let measured = judged.filter_map(|row| {
        let samples = row.samples(|run| run.auc);
        let name = format!("auc.{}", row.setting.id);
        let of = Measurement::of(CLAIM, &name, "ratio", &row.setting.id, &samples);
        (!samples.is_empty()).then_some(of)
    });
    Ok(Findings {
        plots: vec![curves(&rows)],
        sheets: vec![characteristic(&rows), crowd(&rows)],
        measurements: measured.collect(),
        caveats: vec![Reason {
            claim: CLAIM,
            text: "A window is what a flow sends in a round trip; those of which every link delivered all say nothing and \
                   do not count. Told apart are those with losses of congestion, on a link that was up, and those of \
                   which links that were down took all that was lost. Where a window counts as congested if a link \
                   was, also if that took nothing of the flow, the area is smaller with long fades: the table has \
                   both. The flows act on what the signature says, which keeps losses low and telling them apart hard; \
                   the rows in which they go on are easier."
                .to_owned(),
        }],
        notes: vec![
            "Overlapping links and flows without diversity are the paper's open questions (VI): their rows are not judged."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// True alarms over false ones, of the hardest of the paper's settings.
fn curves(rows: &[Row]) -> Plot {
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
        title: "True over false alarms: 20 flows that act on them, fades of 1 s".to_owned(),
        x: axis("share of dropouts taken for congestion", ""),
        y: share("share of congestion found"),
        series: series.collect(),
        ..Plot::default()
    }
}

fn characteristic(rows: &[Row]) -> Sheet {
    let row = |row: &Row| {
        let of = |of: fn(&Detected) -> Option<f64>, digits| text(&row.samples(of), digits);
        vec![
            row.setting.says.clone(),
            signatures()[row.signature].0.to_owned(),
            of(|run| run.auc, 4),
            of(|run| run.auc_of_links, 4),
            of(|run| run.found, 3),
            of(|run| run.false_alarms, 4),
            of(|run| run.delay, 2),
            of(|run| Some(run.windows[0] as f64), 0),
            of(|run| Some(run.windows[1] as f64), 0),
        ]
    };
    sheet(
        "characteristic",
        "Signatures over the paper's parameters, and beyond them",
        &[
            "setting",
            "signature",
            "area under the curve",
            "the same, of congested links",
            "congestion found",
            "dropouts taken for it",
            "round trips until a flow finds it",
            "windows with losses of congestion a run",
            "with losses of dropouts alone",
        ],
        rows.iter().map(row).collect(),
    )
}

fn crowd(rows: &[Row]) -> Sheet {
    let mixed = rows.iter().filter(|row| row.setting.config.sets.is_some());
    let row = |row: &Row| {
        let of = |of: fn(&Detected) -> Option<f64>, digits| text(&row.samples(of), digits);
        vec![
            row.setting.says.clone(),
            signatures()[row.signature].0.to_owned(),
            of(|run| run.copied, 1),
            of(|run| run.alone, 1),
        ]
    };
    sheet(
        "mixed",
        "What flows with and without diversity get beside each other, in packets a round trip",
        &[
            "setting",
            "signature",
            "a flow with copies",
            "a flow on one link",
        ],
        mixed.map(row).collect(),
    )
}
