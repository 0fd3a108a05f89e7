//! What the paper says would change nothing: slow start, halving, fragments (section V, footnote 2).

use polypath_sim::rounds::{Coding, Response, RoundsConfig};

use super::run::{Ran, Runs, samples};
use super::setting::{LINKS, SHARE, SHORT, paper, parameters};
use crate::estimates::text;
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::Measurement;
use crate::pictures::sheet;
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.variants",
    title: "Slow start, halving, and fragments in place of copies",
    claims: &[DISCUSSION, FRAGMENTS],
    make,
};
const DISCUSSION: &str = "diversity.discussion.slow_start_halving";
const FRAGMENTS: &str = "diversity.footnote2.fragments";
const FLOWS: u32 = 100;

/// A variant: its name in rules, what it is, and how many bytes it sends for one of a packet.
struct Variant {
    name: &'static str,
    says: &'static str,
    config: RoundsConfig,
}

impl Variant {
    /// Bytes on all links for each byte of a packet.
    fn bytes(&self) -> f64 {
        let links = f64::from(self.config.links);
        match self.config.coding {
            Coding::Copies => links,
            Coding::Fragments(needed) => links / f64::from(needed),
        }
    }
}

/// Fragments of which `needed` of `links` have to arrive, on links that carry as many packets of all flows as before.
fn fragments(needed: u32, links: u32) -> RoundsConfig {
    let base = paper(FLOWS, links, SHARE, SHORT);
    RoundsConfig {
        coding: Coding::Fragments(needed),
        capacity: base.capacity / needed,
        ..base
    }
}

fn variants() -> Vec<Variant> {
    let base = || paper(FLOWS, LINKS, SHARE, SHORT);
    let of = |name, says, config| Variant { name, says, config };
    vec![
        of("reset", "a window of 1 after a loss, no slow start", base()),
        of(
            "halving",
            "half the window after a loss",
            RoundsConfig {
                response: Response::Halve,
                ..base()
            },
        ),
        of(
            "slow_start",
            "a window of 1, and slow start up to half of the last one",
            RoundsConfig {
                slow_start: true,
                ..base()
            },
        ),
        of("fragments", "2 of 4 fragments", fragments(2, LINKS)),
        of("", "3 of 4 fragments", fragments(3, LINKS)),
        of(
            "",
            "2 of 5 fragments: 4 may not be lost, as of copies",
            fragments(2, 5),
        ),
        of("", "4 of 7 fragments: likewise", fragments(4, 7)),
    ]
}

type Row = (Variant, Vec<Ran>);

fn rows(study: &mut Study<'_>) -> Result<Vec<Row>, Pending> {
    let seeds = study.pick(10, 50);
    let mut asked = Vec::new();
    for variant in variants() {
        let runs = Runs {
            shows: false,
            ..Runs::new(variant.config.clone(), seeds)
        };
        asked.push((variant, runs.ask(study)));
    }
    let rows = asked
        .into_iter()
        .map(|(variant, runs)| Ok((variant, runs?)));
    rows.collect()
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study)?;
    let named = |name: &str| rows.iter().find(|(variant, _)| variant.name == name);
    let load = |claim: &str, quantity: &str, name: &str| {
        let (_, runs) = named(name)?;
        let samples = samples(runs, Ran::load);
        Some(Measurement::of(claim, quantity, "ratio", name, &samples))
    };
    let bytes = |quantity: &str, name: &str| {
        let (variant, _) = named(name)?;
        let bytes = variant.bytes();
        Some(Measurement::exact(FRAGMENTS, quantity, "ratio", bytes))
    };
    let measurements = [
        load(DISCUSSION, "overflow.reset", "reset"),
        load(DISCUSSION, "overflow.linear", "reset"),
        load(DISCUSSION, "overflow.halving", "halving"),
        load(DISCUSSION, "overflow.slow_start", "slow_start"),
        load(FRAGMENTS, "overflow.copies", "reset"),
        load(FRAGMENTS, "overflow.fragments", "fragments"),
        bytes("bytes.copies", "reset"),
        bytes("bytes.fragments", "fragments"),
    ];
    Ok(Findings {
        sheets: vec![table(&rows)],
        measurements: measurements.into_iter().flatten().collect(),
        caveats: vec![caveat(DISCUSSION, &rows), caveat(FRAGMENTS, &rows)],
        parameters: parameters(&paper(FLOWS, LINKS, SHARE, SHORT)),
        ..Findings::default()
    })
}

/// What the excess of single round trips says, which is a harder measure.
fn caveat(claim: &'static str, rows: &[Row]) -> Reason {
    let told = rows.iter().map(|(variant, runs)| {
        let excess = text(&samples(runs, |ran| ran.excess), 4);
        format!("{}: {excess}", variant.says)
    });
    Reason {
        claim,
        text: format!(
            "Overflow is what all flows send in 2000 round trips over the capacity, as the paper compares them. The mean \
             excess of single round trips tells more apart: {}.",
            told.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn table(rows: &[Row]) -> Sheet {
    let row = |(variant, runs): &Row| {
        let of = |of: &dyn Fn(&Ran) -> f64, digits| text(&samples(runs, of), digits);
        vec![
            variant.says.to_owned(),
            format!("{:.2}", variant.bytes()),
            of(&Ran::load, 3),
            of(&|ran| ran.excess, 4),
            of(&|ran| ran.most, 3),
            of(&|ran| f64::from(ran.longest), 0),
            of(&|ran| ran.spread(0), 3),
        ]
    };
    sheet(
        "variants",
        "A hundred flows, 2000 round trips",
        &[
            "variant",
            "bytes sent for each",
            "sent over the capacity",
            "mean excess",
            "greatest excess",
            "most round trips in a row above",
            "spread of the flows' totals",
        ],
        rows.iter().map(row).collect(),
    )
}
