//! Means and their intervals from counters.

mod counts;
mod files;
mod means;
mod percentiles;
mod series;

use polypath_core::units::Rate;
use polypath_link::Counters;
use polypath_scenario::network::Flow;
use polypath_sim::{FlowCounters, FlowOutcome, LinkOutcome, NetworkOutcome};

use super::NetworkRecord;
use crate::difference::Difference;
use crate::statistics::{Estimate, lag_one};
pub use counts::{FlowCounts, LinkCounts};
pub use files::{FileCounts, FileFigures};
pub use means::FlowMeans;
use means::Sampled;
pub use percentiles::PercentileFigures;
use series::Series;

/// All figures of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkFigures {
    /// The flows of each `[[flow]]` of the file together.
    pub groups: Vec<GroupFigures>,
    /// The flows.
    pub flows: Vec<FlowFigures>,
    /// The links.
    pub links: Vec<LinkFigures>,
    /// The groups of each transport together, if there are any.
    pub transports: Vec<TransportFigures>,
}

/// The transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// The figures of all flows of a transport together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportFigures {
    /// The transport.
    pub transport: Transport,
    /// The number of its groups.
    pub groups: usize,
    /// Their means; goodput is the sum over all flows, the delay that of all packets.
    pub means: FlowMeans,
}

/// The figures of equal flows together.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupFigures {
    /// Their name in the file.
    pub name: String,
    /// Their number.
    pub count: usize,
    /// Their transport.
    pub transport: Transport,
    /// Their means; goodput is the sum over all, the window that of one of them.
    pub means: FlowMeans,
    /// The lag-1 correlation of their goodput over the spans of a single run; near 0 if the spans
    /// are practically independent.
    pub lag_one: Option<f64>,
    /// Jain's index of their goodputs over a whole run, 1 for equal shares. Replicas have
    /// one each, a single run has no interval.
    pub fairness: Option<Estimate>,
    /// The goodput of one of them minus that of a flow of the first group, paired by spans of the
    /// only run or by replicas, in bits per second; `None` for the first group.
    pub difference: Option<Difference>,
    /// Their totals over all replicas.
    pub totals: FlowCounters,
    /// Their counts in one run.
    pub per_run: FlowCounts,
    /// Percentiles of the one-way delays of their packets, if they are measured.
    pub delay_percentiles: Option<PercentileFigures>,
    /// Completion times of their files; `None` if they send none.
    pub files: Option<FileFigures>,
}

/// The figures of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowFigures {
    /// Its name.
    pub name: String,
    /// Its means.
    pub means: FlowMeans,
    /// Its totals over all replicas.
    pub totals: FlowCounters,
}

/// The figures of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFigures {
    /// Its name.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// The share of the time in which it transmits.
    pub load: Option<Estimate>,
    /// The share of the packets that arrive at it which do not reach its end.
    pub loss: Option<Estimate>,
    /// The mean number of packets that wait behind the one in transmission.
    pub waiting: Option<Estimate>,
    /// Its totals over all replicas.
    pub totals: Counters,
    /// Packet counts in one run.
    pub per_run: LinkCounts,
}

impl Transport {
    const ALL: [Self; 2] = [Self::Tcp, Self::Udp];

    const fn of(is_tcp: bool) -> Self {
        if is_tcp { Self::Tcp } else { Self::Udp }
    }

    const fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp)
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// Jain's index of fairness: (sum x)^2 / (n sum x^2), 1 for equal shares and 1/n for a single one;
/// `None` if all values are 0 (Jain, Chiu and Hawe 1984).
#[must_use]
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let sum: f64 = shares.iter().sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

impl NetworkFigures {
    /// The figures of all replicas together.
    #[must_use]
    pub fn of(record: NetworkRecord<'_>) -> Self {
        let replicas: Vec<&NetworkOutcome> = record.replicas.iter().map(|(_, r)| r).collect();
        let Some(first) = replicas.first() else {
            return Self {
                groups: Vec::new(),
                flows: Vec::new(),
                links: Vec::new(),
                transports: Vec::new(),
            };
        };
        let seconds = first.span.as_secs_f64();
        let flow = |number: usize| -> Series<'_> {
            let flows: Vec<_> = replicas.iter().map(|r| &r.flows[number]).collect();
            Series::of(&flows, seconds)
        };
        let mut groups: Vec<GroupFigures> = Vec::new();
        let mut first_goodputs = None;
        let mut begin = 0;
        for group in &record.network.flows {
            let count = group.count as usize;
            let members: Vec<Series<'_>> = (begin..begin + count).map(flow).collect();
            let outcomes = replicas.iter().map(|run| &run.flows[begin..begin + count]);
            let outcomes: Vec<_> = outcomes.collect();
            let goodputs = goodputs_of_one(&members);
            let other: Option<&Vec<f64>> = first_goodputs.as_ref();
            let difference = other.and_then(|other| difference(&goodputs, other));
            first_goodputs.get_or_insert(goodputs);
            groups.push(GroupFigures {
                difference,
                delay_percentiles: PercentileFigures::of(&replicas, groups.len()),
                ..group_figures(group, &members, &outcomes)
            });
            begin += count;
        }
        let transports = Transport::ALL.into_iter().filter_map(|transport| {
            let groups = groups.iter().filter(|group| group.transport == transport);
            let is_member = |number: &usize| first.flows[*number].tcp == transport.is_tcp();
            let members: Vec<Series<'_>> =
                (0..first.flows.len()).filter(is_member).map(flow).collect();
            (!members.is_empty()).then(|| TransportFigures {
                transport,
                groups: groups.count(),
                means: Sampled::together(&members).means(),
            })
        });
        let links = |number: usize| {
            let outcomes: Vec<&LinkOutcome> = replicas.iter().map(|r| &r.links[number]).collect();
            link_figures(&outcomes, seconds)
        };
        Self {
            transports: transports.collect(),
            groups,
            flows: (0..first.flows.len()).map(|n| flow(n).figures()).collect(),
            links: (0..first.links.len()).map(links).collect(),
        }
    }
}

/// The goodput of one of equal flows in each sample, in bits per second.
fn goodputs_of_one(members: &[Series<'_>]) -> Vec<f64> {
    let of_all = Sampled::together(members).goodputs.into_iter();
    of_all
        .map(|goodput| goodput / members.len() as f64)
        .collect()
}

/// The mean difference of paired goodputs. Means over different numbers of flows round differently:
/// a difference by no more than that is zero.
fn difference(goodputs: &[f64], others: &[f64]) -> Option<Difference> {
    let minus = |(one, other): (&f64, &f64)| {
        let difference = one - other;
        let rounding = 1e-12 * one.abs().max(other.abs());
        if difference.abs() <= rounding {
            0.0
        } else {
            difference
        }
    };
    let differences: Vec<f64> = goodputs.iter().zip(others).map(minus).collect();
    Estimate::of(&differences).map(Difference::exact)
}

/// Jain's index of equal flows within each replica: in the mean over replicas every flow would have
/// had its turn.
fn fairness(runs: &[&[FlowOutcome]]) -> Option<Estimate> {
    let goodput =
        |flow: &FlowOutcome| flow.spans.iter().map(|span| span.goodput).sum::<u64>() as f64;
    let index = |run: &&[FlowOutcome]| {
        let shares: Vec<f64> = run.iter().map(goodput).collect();
        jain_index(&shares)
    };
    let indices: Vec<f64> = runs.iter().filter_map(index).collect();
    Estimate::of(&indices)
}

/// The figures of the flows of `group`; `outcomes` are theirs in each replica.
fn group_figures(
    group: &Flow,
    members: &[Series<'_>],
    outcomes: &[&[FlowOutcome]],
) -> GroupFigures {
    let runs: Vec<FlowCounters> = outcomes.iter().map(|run| counts::whole(run)).collect();
    let has_files = group.traffic.has_files();
    let sampled = Sampled::together(members);
    GroupFigures {
        name: group.name.clone(),
        count: members.len(),
        transport: Transport::of(group.traffic.is_tcp()),
        means: sampled.means(),
        lag_one: (runs.len() == 1)
            .then(|| lag_one(&sampled.goodputs))
            .flatten(),
        fairness: fairness(outcomes),
        difference: None,
        totals: runs.iter().copied().sum(),
        per_run: FlowCounts::of(&runs),
        delay_percentiles: None,
        files: has_files.then(|| FileFigures::of(members, outcomes)),
    }
}

fn link_figures(replicas: &[&LinkOutcome], span: f64) -> LinkFigures {
    let first = replicas[0];
    let (samples, seconds): (Vec<Counters>, f64) = if let [only] = replicas {
        (only.spans.clone(), span)
    } else {
        let whole = |link: &&LinkOutcome| link.spans.iter().copied().sum();
        let seconds = span * first.spans.len() as f64;
        (replicas.iter().map(whole).collect(), seconds)
    };
    let loads: Vec<f64> = samples
        .iter()
        .map(|c| c.load(first.rate, seconds))
        .collect();
    let waiting: Vec<f64> = samples.iter().map(|c| c.mean_waiting(seconds)).collect();
    let losses: Vec<(f64, f64)> = samples
        .iter()
        .map(|c| (c.packets_dropped() as f64, c.packets_in as f64))
        .collect();
    LinkFigures {
        name: first.name.clone(),
        rate: first.rate,
        load: Estimate::of(&loads),
        loss: Estimate::of_ratio(&losses),
        waiting: Estimate::of(&waiting),
        totals: samples.iter().copied().sum(),
        per_run: LinkCounts::of(replicas),
    }
}

#[cfg(test)]
mod tests;
