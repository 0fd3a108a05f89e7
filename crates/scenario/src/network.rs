//! A network of named nodes and links, and the flows over it: the general simulation.
//!
//! Where a [`Scenario`](crate::Scenario) compares schemes over given paths, a [`Network`] is any
//! graph with any traffic, as in ns-2. Links are listed (`[[link]]`), from a preset (`[topology]`),
//! or both; flows take the shortest path or an explicit one.

pub mod activity;
mod check;
pub mod flow;
pub mod graph;
mod preset;
mod route;
pub mod senders;
pub mod traffic;

use polypath_core::time::Duration;
use polypath_document::{
    Document, Errors, Notation, Override, Problems, check_argument, read_completed,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notation::NOTATIONS;
use crate::sweep::Sweep;
use crate::tcp::Tcp;
use crate::trace::{Files, TraceReader, no_files};
pub use flow::{Flow, flow_stream};
pub use graph::{Edge, Graph, GraphLink};
pub use preset::Topology;
pub use route::{RoundTrip, RouteError, Router, Stop};
pub use senders::{PathLimits, Senders};
pub use traffic::Traffic;
pub use traffic::multihomed::Multihomed;
pub use traffic::spaced::Spaced;
pub use traffic::striped::Striped;
pub use traffic::tunnel::Tunnel;

/// One network with its traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The version of the file format: 1.
    pub schema: u32,
    /// A short name, for file names: letters, digits, `-` and `_`.
    pub name: String,
    /// A description in one line.
    #[serde(default)]
    pub title: String,
    /// The root seed: the same seed gives the same run.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The duration of the run and of its warm-up.
    pub run: Run,
    /// A preset topology with its dimensions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Links between named nodes, in addition to those of the topology.
    #[serde(rename = "link", default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Edge>,
    /// The TCP configuration of all flows; a flow may change it.
    #[serde(default)]
    pub tcp: Tcp,
    /// The traffic.
    #[serde(rename = "flow")]
    pub flows: Vec<Flow>,
    /// Parameters to vary: every combination is a run.
    #[serde(default, skip_serializing)]
    pub sweep: Sweep,
}

/// The span of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The duration of the run.
    pub duration: Duration,
    /// The time at the start that is excluded from all means, in which the network fills.
    #[serde(default)]
    pub warm_up: Duration,
    /// The number of equal spans whose means give the confidence interval of a single run (batch
    /// means).
    #[serde(default = "default_batches")]
    #[schemars(range(min = 2, max = 1000))]
    pub batches: u32,
    /// Whether percentiles of the one-way delays are measured.
    #[serde(default)]
    pub percentiles: bool,
}

impl Document for Network {
    const NOTATIONS: &'static [Notation] = NOTATIONS;
}

impl Network {
    /// Reads a network from the text of a file, with overrides (`--set`) applied.
    ///
    /// # Errors
    /// All problems at once, each with its line and the remedy.
    pub fn parse(text: &str, file_name: &str, overrides: &[Override]) -> Result<Self, Errors> {
        Self::parse_with(text, file_name, overrides, &mut no_files)
    }

    /// Reads a network like [`Network::parse`]; `files` returns the files that it names (`trace`).
    ///
    /// # Errors
    /// All problems at once, including those of the files, each with its line and the remedy.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
    ) -> Result<Self, Errors> {
        Self::parse_checked(text, file_name, overrides, files, |_, _| {})
    }

    /// Reads a network like [`Network::parse_with`]; `check` reports problems of its use.
    fn parse_checked(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
        check: impl FnOnce(&Self, &mut Problems),
    ) -> Result<Self, Errors> {
        let complete = |network: &mut Self, problems: &mut _| {
            check::check(network, problems);
            check(network, problems);
            let mut traces = TraceReader::new(files);
            let topology = network.topology.iter_mut();
            for (kind, link) in topology.flat_map(Topology::link_kinds_mut) {
                traces.fill(&format!("topology.{kind}"), link, problems);
            }
            for (edge, n) in network.links.iter_mut().zip(0..) {
                traces.fill(&format!("link.{n}"), &mut edge.link, problems);
            }
            for (flow, n) in network.flows.iter_mut().zip(0..) {
                if let Traffic::Trace(recording) = &mut flow.traffic {
                    let key = format!("flow.{n}.traffic");
                    let (file, format) = (&mut recording.file, recording.format);
                    traces.fill_packets(&format!("{key}.file"), file, format, problems);
                    recording.check_repeat(&key, problems);
                }
            }
            check::admission::check(network, problems);
        };
        read_completed(text, file_name, overrides, complete).map(|(network, _)| network)
    }

    /// Ends the run at `end` instead of the file's end; later events of the file do not happen.
    /// Messages name `argument`, such as `--seconds 5`.
    ///
    /// # Errors
    /// Too little time to measure after the warm-up, or a run that is too long.
    pub fn end_at(&mut self, end: Duration, argument: &str) -> Result<(), Errors> {
        let run = Run {
            duration: end,
            ..self.run
        };
        let argument = Override::from_argument(argument, "run.duration", &end.to_string());
        check_argument(argument, |problems| check::check_span(run, problems))?;
        self.run = run;
        Ok(())
    }

    /// The JSON schema of the file, for editors.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Network).to_value()
    }

    /// Its nodes and links, those of the topology first.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        if let Some(topology) = &self.topology {
            topology.add_to(&mut graph);
        }
        for edge in &self.links {
            edge.add_to(&mut graph);
        }
        graph
    }
}

fn default_seed() -> u64 {
    1
}

fn default_batches() -> u32 {
    20
}

#[cfg(test)]
mod tests;
