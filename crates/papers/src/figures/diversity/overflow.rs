//! The growth of overflow with flows and links.

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_report::plot::{Plot, Point, Series};

use super::parameters::parameters;
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::{axis, figure_table};
use crate::jobs::diversity::run::{RunResult, Runs, samples};
use crate::jobs::diversity::setting::{LINKS, SHARE, SHORT, paper};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.overflow",
    title: "Overflow over the number of flows and of links",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.overflow_grows";
/// The paper's numbers of flows, on its four links.
const FLOWS: [u32; 5] = [5, 10, 20, 50, 100];
/// Numbers of links, for twenty flows.
const OF_LINKS: [u32; 6] = [1, 2, 3, 4, 5, 6];
const FLOWS_OF_LINKS: u32 = 20;

/// The runs at each position.
type Curve = Vec<(u32, Vec<RunResult>)>;

fn curve(
    study: &mut Study<'_>,
    positions: &[u32],
    size: impl Fn(u32) -> (u32, u32),
) -> Result<Curve, Pending> {
    let seeds = study.pick(10, 50);
    let mut asked = Vec::new();
    for &at in positions {
        let (flows, links) = size(at);
        let runs = Runs::new(paper(flows, links, SHARE, SHORT), seeds);
        asked.push((at, runs.request(study)));
    }
    let curve = asked.into_iter().map(|(at, runs)| Ok((at, runs?)));
    curve.collect()
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let flows = curve(study, &FLOWS, |flows| (flows, LINKS));
    let links = curve(study, &OF_LINKS, |links| (FLOWS_OF_LINKS, links));
    let (flows, links) = (flows?, links?);
    let of = |curve: &Curve, over: &'static str| {
        let at = |(at, runs): &(u32, Vec<RunResult>)| {
            let excess = samples(runs, |ran| ran.excess);
            Measurement::of(CLAIM, "overflow", "ratio", over, &excess).over(
                over,
                "",
                f64::from(*at),
            )
        };
        curve.iter().map(at).collect::<Vec<_>>()
    };
    Ok(Findings {
        plots: vec![
            picture("flows", "Four links", "flows", &flows),
            picture("links", "Twenty flows", "links", &links),
        ],
        tables: vec![
            table("flows", "Flows on four links", &flows),
            table("links", "Links of twenty flows", &links),
        ],
        measurements: [of(&flows, "flows"), of(&links, "links")].concat(),
        caveats: vec![measures(&flows, &links)],
        parameters: parameters(&paper(FLOWS_OF_LINKS, LINKS, SHARE, SHORT)),
        ..Findings::default()
    })
}

/// The results of other measures of overflow.
fn measures(flows: &Curve, links: &Curve) -> ClaimRemark {
    let ends = |curve: &Curve, of: &dyn Fn(&RunResult) -> f64, digits| {
        let ends = curve.first().into_iter().chain(curve.last());
        let end = |(_, runs): &(u32, Vec<RunResult>)| text(&samples(runs, of), digits);
        ends.map(end).collect::<Vec<_>>().join(" to ")
    };
    let most = |ran: &RunResult| ran.most;
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The maximum excess of a single round trip falls with the number of flows, from {}: \
             with few flows, the time until one loses a packet is longer. With the links it goes \
             from {}. The verdict is for the mean of the packets above the capacity, 0 for round \
             trips below it, since the paper compares each round trip with the capacity (IV.C). The \
             packets of 2000 round trips over the capacity go from {} with the flows and from {} \
             with the links.",
            ends(flows, &most, 3),
            ends(links, &most, 3),
            ends(flows, &RunResult::load, 3),
            ends(links, &RunResult::load, 3),
        ),
    }
}

fn picture(id: &str, title: &str, over: &str, curve: &Curve) -> Plot {
    let series = |name: &str, of: fn(&RunResult) -> f64| {
        let point = |(at, runs): &(u32, Vec<RunResult>)| {
            let found = estimate(&samples(runs, of))?;
            Some(Point {
                x: f64::from(*at),
                y: found.mean,
                ci95: found.ci95,
            })
        };
        Series {
            name: name.to_owned(),
            points: curve.iter().filter_map(point).collect(),
            ..Series::default()
        }
    };
    Plot {
        id: format!("overflow-{id}"),
        title: title.to_owned(),
        x: axis(over, ""),
        y: axis("packets over capacity", ""),
        series: vec![
            series("sent in 2000 round trips", RunResult::load),
            series("mean excess of single ones", |ran| ran.excess),
            series("maximum excess", |ran| ran.most),
        ],
        ..Plot::default()
    }
}

fn table(id: &str, title: &str, curve: &Curve) -> FigureTable {
    let row = |(at, runs): &(u32, Vec<RunResult>)| {
        let of = |of: &dyn Fn(&RunResult) -> f64, digits| text(&samples(runs, of), digits);
        vec![
            at.to_string(),
            of(&RunResult::load, 3),
            of(&|ran| ran.excess, 4),
            of(&|ran| ran.most, 3),
            of(&|ran| f64::from(ran.longest), 1),
        ]
    };
    figure_table(
        id,
        title,
        &[
            id,
            "sent over the capacity",
            "mean excess",
            "maximum excess",
            "most successive round trips above",
        ],
        curve.iter().map(row).collect(),
    )
}
