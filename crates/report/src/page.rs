//! The report as one page that needs no network and no script.

mod pictures;

use minijinja::{AutoEscape, Environment, context};

use crate::chart::DrawingError;
use crate::figures::{BASELINE, Figures};
use crate::legend::LEGEND;
use crate::record::{Experiment, Mode};
use crate::table::{PATH_COLUMNS, SCHEME_COLUMNS, heading, lateness_line, path_rows, scheme_row};

/// The style of polypath's pages, as CSS.
pub const STYLE: &str = include_str!("page/style.css");

/// Why a page could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The template does not accept its input.
    #[error("the page could not be filled in: {0}")]
    Template(#[from] minijinja::Error),
    /// A picture could not be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawingError),
}

/// The page as HTML, with its pictures inside.
pub fn render(experiment: &Experiment, figures: &Figures) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let schemes = experiment.schemes.iter().zip(&figures.schemes);
    let rows: Vec<Vec<String>> = schemes.map(|(record, s)| scheme_row(record, s)).collect();
    let spaced = |columns: [&str; 10]| columns.map(|column| column.replace('\n', " "));
    let most = experiment.schemes.iter().map(|s| s.transfers.len()).max();
    let page = environment.render_str(
        include_str!("page/template.html"),
        context! {
            style => STYLE,
            name => experiment.name.as_str(),
            title => experiment.title.trim(),
            heading => heading(experiment),
            content => experiment.content.to_string(),
            mode => match experiment.mode {
                Mode::Sim => "simulated in virtual time",
                Mode::Lab => "lab: real programs on the real kernel, in real time",
            },
            seed => experiment.seed.to_string(),
            n => most.unwrap_or(0),
            timeout => experiment.timeout.to_string(),
            timed_out => figures.schemes.iter().any(|scheme| scheme.timed_out > 0),
            baseline => BASELINE,
            lateness => experiment.lateness.as_ref().map(lateness_line),
            valid => experiment.lateness.is_none_or(|lateness| lateness.valid()),
            scheme_legend => pictures::scheme_legend(experiment),
            path_legend => pictures::path_legend(experiment),
            scheme_columns => spaced(SCHEME_COLUMNS),
            scheme_rows => rows,
            path_columns => spaced(PATH_COLUMNS),
            path_rows => path_rows(experiment),
            playable => pictures::playable(experiment, figures)?,
            times => pictures::times(experiment, figures)?,
            prebuffer => pictures::prebuffer(figures)?,
            throughput => pictures::throughput(experiment)?,
            legend => LEGEND,
            parameters => experiment.parameters.clone(),
        },
    )?;
    Ok(page)
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
        for part in ["seed 7", "≥ 6.333 ± 7.985", "p99 800 us", "transfer.size"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn without_arrivals_a_sentence_replaces_the_axes() {
        let mut experiment = experiment();
        let pictures = |experiment: &Experiment| {
            let page = render(experiment, &Figures::of(experiment)).unwrap();
            (
                page.matches("<svg").count(),
                page.contains("No transfer completed."),
            )
        };
        assert_eq!(pictures(&experiment), (3 + 2, false));
        let all = |experiment: &mut Experiment, change: fn(&mut crate::Transfer)| {
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
        let begins_at = |experiment: &Experiment, second: &str| {
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
