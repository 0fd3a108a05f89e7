//! The goodput of a TCP with a large window in settings other than those of Fig. 14.

use polypath_claims::{ClaimRemark, FigureTable, Pending, Sample, Study};

use super::sweep::{extremes, mean, seeds, span};
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::psp::merge::{Merge, PACKET, SHARED, Span, Starts, Transfers};
use crate::jobs::psp::steady::{Flow, Flows, Steady};

/// The spacing at which the paper states rates, in microseconds (3.2.3).
pub(super) const SPACING: u32 = 5000;
/// The number of senders, and of TCPs.
const EACH: u32 = 16;
/// The window in packets.
const WINDOW: u32 = 800;

/// The variants of TCP other than that of the figure; their settings follow that.
const VARIANTS: [&str; 2] = ["reno", "newreno"];

/// The rates at [`SPACING`] in one setting.
pub(super) struct TcpRates {
    name: String,
    media: Vec<Sample>,
    tcp: Vec<Sample>,
    least: Vec<Sample>,
    most: Vec<Sample>,
}

fn settings() -> Vec<(String, Merge)> {
    let span = Span {
        seconds: 0,
        warm_up: 0,
    };
    let base = Merge::fixed(EACH, SPACING, span, 0).with_tcp(EACH, WINDOW);
    let variants = VARIANTS.map(|variant| {
        let tcp = base.tcp.map(|tcp| Transfers { variant, ..tcp });
        (
            variant.to_owned(),
            Merge {
                tcp,
                ..base.clone()
            },
        )
    });
    let buffers = [20, 50, 100].map(|buffer| {
        let merge = Merge {
            buffer,
            ..base.clone()
        };
        (format!("buffer {buffer}"), merge)
    });
    let packets = [1000, 1500].map(|packet| {
        let merge = Merge {
            packet,
            ..base.clone()
        };
        (format!("packet {packet} B"), merge)
    });
    let starts = [Starts::Simul, Starts::Jitter].map(|starts| {
        let name = format!("start phases {}", starts.name());
        (name, base.clone().starting(starts))
    });
    let own = [("as in the figure, SACK".to_owned(), base.clone())];
    let others = variants.into_iter().chain(buffers).chain(packets);
    own.into_iter().chain(others).chain(starts).collect()
}

/// The rates in each setting, that of the figure first.
///
/// # Errors
/// If results are missing.
pub(super) fn rows(study: &mut Study<'_>) -> Result<Vec<TcpRates>, Pending> {
    let (seeds, span) = (seeds(study), span(study));
    let asked: Vec<_> = settings()
        .into_iter()
        .map(|(name, merge)| {
            let job = |&seed: &u64| {
                Steady(Merge {
                    span,
                    seed,
                    ..merge.clone()
                })
            };
            (name, study.request_all(seeds.iter().map(job)))
        })
        .collect();
    let row = |(name, runs): (String, Result<Vec<Flows>, Pending>)| {
        let runs = runs?;
        let samples = |of: &dyn Fn(&Flows) -> Option<f64>| -> Vec<Sample> {
            let runs = seeds.iter().zip(&runs);
            let known = runs.filter_map(|(&seed, run)| {
                Some(Sample {
                    seed,
                    value: of(run)?,
                })
            });
            known.collect()
        };
        let rate = |flow: &Flow| flow.received;
        Ok(TcpRates {
            name,
            media: samples(&|run| mean(&run.media, rate)),
            tcp: samples(&|run| mean(&run.tcp, rate)),
            least: samples(&|run| Some(extremes(&run.tcp)?[0])),
            most: samples(&|run| Some(extremes(&run.tcp)?[1])),
        })
    };
    asked.into_iter().map(row).collect()
}

/// The caveat that both rates are among the numbers by which parameters were chosen.
pub(super) fn caveat(claim: &'static str, rows: &[TcpRates]) -> ClaimRemark {
    let others = rows[1..].iter().take(VARIANTS.len());
    let others = others.map(|row| format!("{} {} Mb/s", row.name, text(&row.tcp, 2)));
    ClaimRemark {
        claim,
        text: format!(
            "The packet size of {PACKET} B was chosen by the sender's rate among other numbers (table \
             `implied` of psp.sensitivity), and SACK among the variants of TCP, of which the paper \
             names none, by the rate of the TCPs: {} Mb/s; with {}.",
            text(&rows[0].tcp, 2),
            others.collect::<Vec<_>>().join(" and "),
        ),
    }
}

pub(super) fn table_of(rows: &[TcpRates]) -> FigureTable {
    let row = |setting: &TcpRates| {
        let cells = [&setting.media, &setting.tcp, &setting.least, &setting.most];
        let cells = cells.map(|samples| text(samples, 2));
        [setting.name.clone()].into_iter().chain(cells).collect()
    };
    figure_table(
        "settings",
        "Spacing 5000 us and TCPs with window 800, in other settings",
        &[
            "setting",
            "sender Mb/s",
            "TCP Mb/s, mean of 16",
            "minimum of 16",
            "maximum of 16",
        ],
        rows.iter().map(row).collect(),
    )
}

/// The reason for which the mean over the TCPs differs from the paper's value for one; it states
/// the rates of a sender and of a TCP in Mb/s.
pub(super) fn reason(
    claim: &'static str,
    [sender, stated]: [f64; 2],
    rows: &[TcpRates],
) -> ClaimRemark {
    let value = |samples: &[Sample]| estimate(samples).map_or(0.0, |known| known.mean);
    let near = |setting: &&TcpRates| (value(&setting.tcp) / stated - 1.0).abs() <= 0.15;
    let named = |setting: &TcpRates| format!("{} ({} Mb/s)", setting.name, text(&setting.tcp, 2));
    let found: Vec<String> = rows.iter().filter(near).map(named).collect();
    let found = match found.as_slice() {
        [] => "none".to_owned(),
        known => known.join("; "),
    };
    let own = &rows[0];
    let filled = |media: f64, tcp: f64| f64::from(EACH) * (media + tcp) / f64::from(SHARED) * 100.0;
    ClaimRemark {
        claim,
        text: format!(
            "The paper shows one TCP of 16; the claim is compared with their mean, {} Mb/s, and \
             single ones have from {} to {} Mb/s. A sender has {} Mb/s, and {sender} Mb/s in the \
             paper. {EACH} pairs with the paper's rates would fill {:.0} % of the link; ours fill \
             {:.0} %. Settings within 15 % of {stated}: {found}.",
            text(&own.tcp, 2),
            text(&own.least, 2),
            text(&own.most, 2),
            text(&own.media, 2),
            filled(sender, stated),
            filled(value(&own.media), value(&own.tcp)),
        ),
    }
}
