//! The conclusion of a network.

use std::fmt::Write as _;

use super::NetworkRecord;
use super::figures::{FlowMeans, GroupFigures, LinkFigures, NetworkFigures, TransportFigures};
use crate::conclusion::numbers::{ANY, single, with_interval};
use crate::conclusion::{Comparison, LISTED, Wording, capitalized, sentence};
use crate::statistics::Estimate;

/// The replicas that are recommended.
const REPLICAS: u32 = 20;

/// The rate below which kbit/s are shown, in bits per second.
const SMALL: f64 = 1e5;

/// The sentences of the conclusion of a network.
pub(super) fn conclusion(record: NetworkRecord<'_>, figures: &NetworkFigures) -> Vec<String> {
    let goodput = |group: &GroupFigures| group.means.goodput.map_or(0.0, |of| of.mean);
    if figures.groups.iter().all(|group| goodput(group) <= 0.0) {
        return vec![
            "No flow received anything, so that nothing can be compared: check the routes, the \
             links and their outages, and the start of each flow."
                .to_owned(),
        ];
    }
    let mut sentences = vec![received(&figures.groups)];
    sentences.extend(by_transport(figures));
    if let [first, others @ ..] = &figures.groups[..] {
        sentences.extend(compared(first, others).map(|text| text + "."));
    }
    sentences.extend(busiest(&figures.links));
    sentences.push(basis(record));
    sentences
}

/// The goodput and the delay of the groups.
fn received(groups: &[GroupFigures]) -> String {
    let text = |group: &GroupFigures| {
        let (name, transport) = (&group.name, group.transport.name());
        let received = goodput_and_delay(&group.means);
        match group.count {
            1 => format!("{name} ({transport}) received {received}"),
            count => format!("{name} ({transport}, {count} flows together) received {received}"),
        }
    };
    if groups.len() <= LISTED {
        let all: Vec<String> = groups.iter().map(text).collect();
        return all.join("; ") + ".";
    }
    let means = || {
        groups
            .iter()
            .filter_map(|group| Some((group.means.goodput?.mean, group)))
    };
    let of = |mean: f64| {
        let (scale, unit) = unit(mean);
        match mean {
            0.0 => "nothing".to_owned(),
            _ => format!("{} {unit}", single(mean * scale)),
        }
    };
    let least = means().min_by(|a, b| a.0.total_cmp(&b.0));
    let most = means().max_by(|a, b| a.0.total_cmp(&b.0));
    let count = groups.len();
    match least.zip(most) {
        Some(((low, least), (high, most))) => format!(
            "Of {count} groups of flows {} received the least, {}, and {} the most, {}.",
            least.name,
            of(low),
            most.name,
            of(high)
        ),
        None => format!("{count} groups of flows received nothing."),
    }
}

/// The goodput and the delay of all flows of each transport, if the groups do not state them.
fn by_transport(figures: &NetworkFigures) -> Option<String> {
    let transports = &figures.transports;
    if transports.iter().all(|transport| transport.groups < 2) {
        return None;
    }
    let text = |of: &TransportFigures| {
        let (name, received) = (of.transport.name(), goodput_and_delay(&of.means));
        format!("all flows over {name} together received {received}")
    };
    let all: Vec<String> = transports.iter().map(text).collect();
    Some(capitalized(&all.join("; ")) + ".")
}

fn goodput_and_delay(means: &FlowMeans) -> String {
    let mut text = means.goodput.map_or_else(|| "nothing".to_owned(), rate);
    if let Some(delay) = means.delay {
        let (scale, unit) = if delay.mean < 1.0 {
            (1e3, "ms")
        } else {
            (1.0, "s")
        };
        let delay = with_interval(delay.scaled(scale), unit);
        let _ = write!(text, " at a mean one-way delay of {delay}");
    }
    text
}

/// The goodput of a flow of each group compared with one of the first.
fn compared(first: &GroupFigures, others: &[GroupFigures]) -> Option<String> {
    let compared = others.iter().filter_map(|group| {
        Some(Comparison {
            subject: group.name.clone(),
            name: group.name.clone(),
            difference: group.difference?,
            timed_out: None,
        })
    });
    let compared: Vec<Comparison> = compared.collect();
    let sizes = compared
        .iter()
        .map(|one| one.difference.estimate.mean.abs());
    let (scale, unit) = unit(sizes.fold(0.0, f64::max));
    let name = &first.name;
    let wording = Wording {
        verb: "received",
        verb_of_several: "received",
        less: format!("less per flow than {name}"),
        greater: format!("more per flow than {name}"),
        same: format!("showed no difference per flow from {name}"),
        range: ANY,
        unit,
        scale,
        subject: String::new(),
        plural: "other groups",
        listed: LISTED,
    };
    sentence(&compared, &wording)
}

/// The link with the highest load.
fn busiest(links: &[LinkFigures]) -> Option<String> {
    let loads = links.iter().filter_map(|link| Some((link.load?, link)));
    // The first of equal ones.
    let (load, link) = loads.rev().max_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    let load = with_interval(load.scaled(100.0), "%");
    let mut text = format!(
        "The busiest link, {}, transmitted {load} of the time",
        link.name
    );
    if let Some(loss) = link.loss {
        let loss = with_interval(loss.scaled(100.0), "%");
        let _ = write!(text, " and lost {loss} of its packets");
    }
    if let Some(waiting) = link.waiting {
        let waiting = with_interval(waiting, "");
        let _ = write!(text, "; {waiting} packets waited on average");
    }
    Some(text + ".")
}

/// The source of the intervals: a run has at least two spans.
fn basis(record: NetworkRecord<'_>) -> String {
    match record.replicas {
        [(seed, outcome)] => {
            let spans = outcome.links.first().map_or(0, |link| link.spans.len());
            format!(
                "The intervals are those of {spans} spans of a single run (95 % confidence, seed \
                 {seed}); --replicas {REPLICAS} gives those of independent runs."
            )
        }
        replicas => format!(
            "The intervals are those of {} replicas (95 % confidence, root seed {}).",
            replicas.len(),
            record.network.seed
        ),
    }
}

fn rate(estimate: Estimate) -> String {
    let (scale, unit) = unit(estimate.mean.abs());
    with_interval(estimate.scaled(scale), unit)
}

/// The factor and the unit for a rate in bits per second.
fn unit(rate: f64) -> (f64, &'static str) {
    if rate < SMALL {
        (1e-3, "kbit/s")
    } else {
        (1e-6, "Mbit/s")
    }
}
