//! The report as one page that needs no network and no script.

pub(crate) mod layout;
mod pictures;

use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Value;

use crate::chart::DrawingError;
use crate::conclusion::numbers::with_interval;
use crate::conclusion::transfers::conclusion;
use crate::figures::{BASELINE, Figures, SchemeFigures};
use crate::legend::LEGEND;
use crate::plot::PlotError;
use crate::record::{ExperimentRecord, Mode};
use layout::{Head, PageTable, Picture};

use crate::table::{PATH_COLUMNS, SCHEME_COLUMNS, heading, lateness_line, path_rows, scheme_row};

/// The style of polypath's pages, as CSS.
pub const STYLE: &str = include_str!("page/style.css");

/// An error in making a page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The template does not accept its input.
    #[error("the page could not be filled in: {0}")]
    Template(#[from] minijinja::Error),
    /// A picture could not be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawingError),
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// The page of transfers as HTML, with its pictures inside.
pub fn render(experiment: &ExperimentRecord, figures: &Figures) -> Result<String, PageError> {
    let schemes = experiment.schemes.iter().zip(&figures.schemes);
    let rows: Vec<Vec<String>> = schemes.map(|(record, s)| scheme_row(record, s)).collect();
    let (playable, times) = (
        pictures::playable(experiment, figures)?,
        pictures::times(experiment, figures)?,
    );
    let throughput = pictures::throughput(experiment)?;
    let names = experiment.schemes.iter().map(|scheme| scheme.name.as_str());
    let names = names.collect::<Vec<&str>>().join(", ");
    let picture = |svg: String, alt: String| Picture { svg, alt }.value();
    let parts = throughput.into_iter().zip(&experiment.schemes);
    let throughput: Vec<Value> = parts
        .map(|(svg, scheme)| {
            picture(
                svg,
                format!("Throughput of each path over time with {}", scheme.name),
            )
        })
        .collect();
    let content = context! {
        timeout => experiment.timeout.to_string(),
        timed_out => figures.schemes.iter().any(|scheme| scheme.timed_out > 0),
        marked => figures.schemes.iter().any(SchemeFigures::has_marked),
        baseline => BASELINE,
        lateness => experiment.lateness.as_ref().map(lateness_line),
        valid => experiment.lateness.is_none_or(|lateness| lateness.valid()),
        scheme_legend => pictures::scheme_legend(experiment),
        path_legend => pictures::path_legend(experiment),
        schemes => PageTable::new("schemes", "Schemes", &SCHEME_COLUMNS, rows).value(),
        paths => PageTable::new("paths", "Paths", &PATH_COLUMNS, path_rows(experiment)).value(),
        playable => playable.map(|svg| picture(svg, format!("Playable size over time with {names}"))),
        times => picture(times, times_text(experiment, figures)),
        prebuffer => pictures::prebuffer(figures)?
            .map(|svg| picture(svg, format!("Pre-buffer over the rate of the playout with {names}"))),
        throughput,
        legend => LEGEND,
        parameters => parameters(&experiment.parameters).value(),
    };
    layout::render(
        include_str!("page/transfers.html"),
        &head(experiment, figures),
        content,
    )
}

fn head<'a>(experiment: &'a ExperimentRecord, figures: &Figures) -> Head<'a> {
    let mode = match experiment.mode {
        Mode::Sim => "simulated in virtual time",
        Mode::Lab => "lab: real programs on the real kernel, in real time",
    };
    let rounds = experiment.schemes.iter().map(|s| s.transfers.len()).max();
    Head {
        heading: heading(experiment),
        name: &experiment.name,
        title: experiment.title.trim(),
        facts: format!(
            "{mode}; seed {}; n = {} transfers a scheme of {}.",
            experiment.seed,
            rounds.unwrap_or(0),
            experiment.content
        ),
        conclusion: conclusion(experiment, figures),
    }
}

/// The picture of the transfer times in words.
fn times_text(experiment: &ExperimentRecord, figures: &Figures) -> String {
    let mut text = "Transfer times with their means and 95 % intervals".to_owned();
    for (record, figures) in experiment.schemes.iter().zip(&figures.schemes) {
        if let Some(transfer) = figures.transfer {
            let _ = write!(text, "; {} {}", record.name, with_interval(transfer, "s"));
        }
    }
    text
}

/// The table of the parameters of a run.
pub(crate) fn parameters(parameters: &[(String, String)]) -> PageTable {
    let row = |(key, value): &(String, String)| vec![key.clone(), value.clone()];
    let rows = parameters.iter().map(row).collect();
    PageTable::new(
        "parameters",
        "All parameters of the run",
        &["key", "value"],
        rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::experiment;

    #[test]
    fn the_page_is_self_contained_and_escapes_user_text() {
        let experiment = experiment();
        let page = render(&experiment, &Figures::of(&experiment)).unwrap();
        assert!(page.contains("A small &lt;experiment&gt;"));
        assert_eq!(page.matches("<svg").count(), 3 + 2);
        // What scales it to the width of the page.
        assert_eq!(page.matches(" viewBox=\"0 0 ").count(), 3 + 2);
        for outside in ["<script", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches(r#"role="img" aria-label=""#).count(), 3 + 2);
        assert_eq!(
            page.matches("<table").count(),
            page.matches("<caption>").count()
        );
        assert!(!page.contains("<th>"), "every header has a scope");
        for part in ["seed 7", "≥ 6.333 ± 7.985", "p99 800 us", "transfer.size"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn names_are_escaped() {
        let mut experiment = experiment();
        experiment.schemes[1].name = crate::fixture::HOSTILE.to_owned();
        experiment.title = crate::fixture::HOSTILE.to_owned();
        let page = render(&experiment, &Figures::of(&experiment)).unwrap();
        crate::fixture::assert_escaped(&page);
    }

    #[test]
    fn without_arrivals_a_sentence_replaces_the_axes() {
        let mut experiment = experiment();
        let pictures = |experiment: &ExperimentRecord| {
            let page = render(experiment, &Figures::of(experiment)).unwrap();
            (
                page.matches("<svg").count(),
                page.contains("No transfer completed."),
            )
        };
        assert_eq!(pictures(&experiment), (3 + 2, false));
        let all = |experiment: &mut ExperimentRecord, change: fn(&mut crate::Transfer)| {
            let schemes = experiment.schemes.iter_mut();
            schemes.flat_map(|s| &mut s.transfers).for_each(change);
        };
        all(&mut experiment, |transfer| transfer.duration = None);
        assert_eq!(pictures(&experiment), (2 + 2, true));
        all(&mut experiment, |transfer| transfer.progress.clear());
        assert_eq!(pictures(&experiment), (1 + 2, true));
        for scheme in &mut experiment.schemes {
            scheme.overlay = crate::record::OverlayRecord::default();
        }
        assert_eq!(pictures(&experiment), (1, true));
    }

    #[test]
    fn the_throughput_begins_with_the_first_transfer() {
        let mut experiment = experiment();
        assert!((pictures::first_second(&experiment) - 20.0).abs() < 1e-9);
        let begins_at = |experiment: &ExperimentRecord, second: &str| {
            let picture = &pictures::throughput(experiment).unwrap()[0];
            let label = format!(">\n{second}\n<");
            picture.contains(&label)
        };
        assert!(!begins_at(&experiment, "10") && begins_at(&experiment, "30"));
        for transfer in experiment.schemes.iter_mut().flat_map(|s| &mut s.transfers) {
            transfer.started = polypath_core::time::Time::ZERO;
        }
        assert!(begins_at(&experiment, "10"));
    }

    #[test]
    fn the_legend_has_the_colours_of_the_lines() {
        let experiment = experiment();
        let pictures = pictures::throughput(&experiment).unwrap().concat();
        for (color, name) in pictures::path_legend(&experiment) {
            assert!(
                pictures.contains(&color.to_uppercase()),
                "{name} in {color}"
            );
        }
    }

    #[test]
    fn an_experiment_without_results_still_makes_a_page() {
        let mut experiment = experiment();
        for scheme in &mut experiment.schemes {
            scheme.transfers.clear();
            scheme.overlay = crate::record::OverlayRecord::default();
        }
        let page = render(&experiment, &Figures::of(&experiment)).unwrap();
        assert!(page.contains("ppd-tcp3") && page.contains("No transfer completed."));
        experiment.schemes.clear();
        render(&experiment, &Figures::of(&experiment)).unwrap();
    }
}
