//! Whether a flood reaches its targets: otherwise its outcome shows nothing.

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use polypath_live::clock::Clock;
use serde_json::Value;

use crate::slow;
use crate::subject::{Pair, Subject, Way};

/// The share of a flood that a target must have refused for lack of a budget, of what its kernel has
/// not dropped.
const MIN_REFUSED: f64 = 0.5;
/// The reasons for which a target refuses an initiation for lack of a budget.
const REFUSALS: [&str; 2] = ["cookie-required", "throttled"];
/// A relay writes its statistics once per second.
const RELAY_STATISTICS: Duration = Duration::from_millis(1200);

/// The initiations of a flood that its targets count from its start.
pub(crate) struct Reach {
    clock: Clock,
    before: Vec<Counts>,
    /// The nodes that are flooded; without a relay between them.
    nodes: Vec<usize>,
    /// Initiations per second to each target.
    rate: f64,
}

/// The initiations that a target has refused for lack of a budget, and the datagrams that its kernel
/// has dropped.
#[derive(Clone, Copy, Debug)]
struct Counts {
    refused: u64,
    dropped: u64,
}

impl Reach {
    /// Counts what arrives from now on of floods of `rate` initiations per second: at `nodes`, or at
    /// the relay between them, which both floods have as their target.
    pub(crate) fn start(pair: &Pair, nodes: &[usize], rate: u32) -> io::Result<Self> {
        let is_relayed = pair.way() == Way::ByRelay;
        let mut reach = Self {
            clock: Clock::starting_now(),
            before: Vec::new(),
            nodes: nodes.to_vec(),
            rate: f64::from(if is_relayed { 2 * rate } else { rate }),
        };
        reach.before = reach.counts(pair)?;
        Ok(reach)
    }

    /// Requires that the flood, which still runs, has reached each target.
    ///
    /// # Errors
    /// A target has refused less than its share.
    pub(crate) fn require(&self, pair: &Pair) -> io::Result<()> {
        let sent = self.rate * self.clock.now().as_secs_f64();
        for (before, now) in self.before.iter().zip(self.counts(pair)?) {
            let refused = now.refused.saturating_sub(before.refused) as f64;
            let dropped = now.dropped.saturating_sub(before.dropped) as f64;
            if refused < (sent - dropped) * MIN_REFUSED {
                return Err(io::Error::other(format!(
                    "a target refused {refused} of some {sent:.0} initiations of a flood, and its \
                     kernel dropped {dropped}"
                )));
            }
        }
        Ok(())
    }

    /// The counters of all targets; wireguard-go has none.
    fn counts(&self, pair: &Pair) -> io::Result<Vec<Counts>> {
        match (pair.subject(), pair.way()) {
            (Subject::WireguardGo, _) => Ok(Vec::new()),
            (Subject::Polypath(_), Way::ByRelay) => {
                sleep(RELAY_STATISTICS);
                Ok(vec![relay_counts(pair)?])
            }
            (Subject::Polypath(_), _) => {
                let nodes = self.nodes.iter();
                nodes.map(|node| node_counts(pair, *node)).collect()
            }
        }
    }
}

fn node_counts(pair: &Pair, node: usize) -> io::Result<Counts> {
    let metrics = slow::metrics(pair.namespace(node))?;
    let refused = REFUSALS.map(|reason| rejected(&metrics, reason));
    Ok(Counts {
        refused: refused.iter().sum(),
        dropped: sum(&metrics, "polypath_path_kernel_dropped_datagrams_total"),
    })
}

/// The datagrams that a node with these `metrics` has rejected for `reason`.
pub(crate) fn rejected(metrics: &str, reason: &str) -> u64 {
    let name = format!("polypath_datagrams_rejected_total{{reason=\"{reason}\"}}");
    sum(metrics, &name)
}

/// The sum of the metrics whose lines begin with `prefix`.
fn sum(metrics: &str, prefix: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(prefix));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    values.sum()
}

fn relay_counts(pair: &Pair) -> io::Result<Counts> {
    let text = fs::read(pair.relay_statistics())?;
    let stats: Value = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let path = &stats["paths"][0];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Ok(Counts {
        refused: REFUSALS
            .map(|reason| count(&path["rejected"][reason]))
            .iter()
            .sum(),
        dropped: count(&path["kernel_dropped"]),
    })
}
