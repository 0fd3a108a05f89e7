//! `polypath source send`: the senders of a file over paths of this machine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use anyhow::Context;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::{Clock, wall_ns};
use polypath_live::durations::DurationHistogram;
use polypath_live::sources::{SourcePath, Sources, SourcesConfig, SourcesReport};
use polypath_report::table::plain;
use polypath_scenario::Network;
use polypath_scenario::network::Senders;
use polypath_scenario::network::senders::Scale;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::respond::failure_of;
use super::{check_sources, sources_of};
use crate::failure::{Failure, print_message};
use crate::number::whole;
use crate::output::print;
use crate::scenario::{self, Format};

/// The time after the end in which answers may arrive.
const ANSWERS: Duration = Duration::from_secs(1);
/// The version of the format of the JSON report.
const VERSION: u32 = 1;

/// Arguments of `polypath source send`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::FileArgs,
    /// A path: its local address and that of the responder, in the order of `ways` of the file:
    /// 192.0.2.1=198.51.100.1:7000.
    #[arg(long, required = true, value_name = "LOCAL=REMOTE:PORT")]
    over: Vec<PathArg>,
    /// The number of senders [default: the `count` of the flow].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=100_000_u32))]
    senders: Option<u32>,
    /// End after N seconds.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=u32::MAX))]
    seconds: Option<u32>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The rules of the report, for `--help`.
const RULES: &str = "\
The links of the file only predict the result (polypath stability, polypath source lab); here the \
paths are real. The other machine runs `polypath source respond`. A datagram is lost if its ACK did not \
arrive within 1 s after the end. One-way delays are above the lowest of their path so far, as the \
clocks of both ends differ. The rate is that of the file, at most 20 000 datagrams per second: use it on \
paths that are yours.

Exit codes: 0 the results are printed, also after SIGINT or SIGTERM; 1 nothing was measured or \
acknowledged; 2 bad input; 3 the machine lacks something, such as an address.";

/// A path of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathArg {
    local: SocketAddr,
    remote: SocketAddr,
}

impl fmt::Display for PathArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.local.port() {
            0 => write!(f, "{}={}", self.local.ip(), self.remote),
            _ => write!(f, "{}={}", self.local, self.remote),
        }
    }
}

impl FromStr for PathArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "use LOCAL=REMOTE:PORT, such as 192.0.2.1=198.51.100.1:7000";
        let (local, remote) = text.split_once('=').ok_or(form)?;
        let with_port = || local.parse::<SocketAddr>().ok();
        let without = || Some((local.parse::<IpAddr>().ok()?, 0).into());
        let local: SocketAddr = with_port().or_else(without).ok_or(form)?;
        let remote: SocketAddr = remote.parse().map_err(|_| form)?;
        if local.is_ipv4() != remote.is_ipv4() {
            return Err("one address is IPv4 and the other IPv6: use the same family".to_owned());
        }
        if remote.port() == 0 {
            return Err(format!("port 0 is no destination: {form}"));
        }
        Ok(Self { local, remote })
    }
}

/// Sends until the end of the run or a signal, and prints the results.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scale = Scale {
        senders: args.senders,
        utilisation: None,
    };
    let network = args.scenario.read_senders(args.seconds, scale)?;
    check_sources(&network)?;
    let senders = network.senders().context("a checked network has senders")?;
    let end = Time::ZERO + network.run.duration;
    let config = config(&network, senders, &args.over)?;
    let clock = Clock::starting_now();
    let mut sources = Sources::open(config, clock, |_| ()).map_err(failure_of)?;
    let stop = sources.stop_handle();
    for signal in [SIGINT, SIGTERM] {
        stop.stop_on(signal).context("installing signal handlers")?;
    }
    let report = sources.run_and_wait(end, ANSWERS).map_err(failure_of)?;
    let measured = report.ended.since(Time::ZERO + network.run.warm_up);
    let result = SendResult {
        network: &network,
        senders,
        paths: &args.over,
        measured,
        report: &report,
    };
    print(&match args.format {
        Format::Table => result.table(),
        Format::Json => format!("{:#}\n", result.json()),
    })?;
    result.check()
}

fn config(
    network: &Network,
    senders: Senders<'_>,
    paths: &[PathArg],
) -> Result<SourcesConfig, Failure> {
    let traffic = sources_of(senders)?;
    let ways = &traffic.ways;
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].contains(path) {
            return Err(Failure::input(format!(
                "--over {path} is given twice: each path needs an address of its own"
            )));
        }
    }
    if ways.len() != paths.len() {
        return Err(Failure::input(format!(
            "the file has {} `ways`, and --over names {} paths: give one --over for each",
            ways.len(),
            paths.len()
        )));
    }
    let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let path = |(way, path): (&Vec<String>, &PathArg)| SourcePath {
        name: way.join("+"),
        local: path.local,
        remote: path.remote,
    };
    Ok(SourcesConfig {
        sources: senders.sources(Seed(network.seed), Time::ZERO + network.run.duration),
        paths: ways.iter().zip(paths).map(path).collect(),
        packet: size(traffic.packet.0),
        heartbeat: size(traffic.heartbeat_size().0),
        // Answers to an earlier run are still on their way.
        session: u16::try_from(wall_ns() / 1_000_000 % 65_536).unwrap_or(0),
        measured_from: Time::ZERO + network.run.warm_up,
        due_until: Time::MAX,
        has_one_clock: false,
    })
}

/// The results of a run.
struct SendResult<'a> {
    network: &'a Network,
    senders: Senders<'a>,
    paths: &'a [PathArg],
    measured: Duration,
    report: &'a SourcesReport,
}

impl SendResult<'_> {
    fn switch_rate(&self) -> f64 {
        let of_all = self.report.switches as f64 / self.measured.as_secs_f64().max(1e-9);
        of_all / f64::from(self.senders.count())
    }

    /// The share of datagrams without an ACK; `None` if none was sent.
    fn lost(&self) -> Option<f64> {
        share_lost(
            self.report.sent,
            self.report.acknowledged_on.iter().sum::<u64>(),
        )
    }

    /// The share of datagrams on a path without an ACK; `None` if it carried none.
    fn lost_on(&self, path: usize) -> Option<f64> {
        share_lost(self.report.sent_on[path], self.report.acknowledged_on[path])
    }

    /// Fails if nothing was measured.
    fn check(&self) -> Result<(), Failure> {
        let SourcesReport {
            sent,
            refused,
            ref sent_on,
            ref acknowledged_on,
            ..
        } = *self.report;
        if sent == 0 {
            return Err(Failure::run(format!(
                "nothing was measured: the run ended within the warm-up of {}",
                self.network.run.warm_up
            )));
        }
        if self.report.round_trips.count() > 0 {
            let ways = self.senders.traffic.ways().iter();
            for (way, (sent, acknowledged)) in ways.zip(sent_on.iter().zip(acknowledged_on)) {
                if *sent > 0 && *acknowledged == 0 {
                    let name = way.join("+");
                    print_message(&format!("path `{name}` acknowledged nothing"));
                }
            }
            return Ok(());
        }
        let cause = if refused >= sent {
            "the kernel refused them all: is there a route from each local address, and do they fit the MTU?"
        } else {
            "does `polypath source respond` run at these addresses, and does a firewall let UDP through?"
        };
        Err(Failure::run(format!(
            "no datagram was acknowledged: {cause}"
        )))
    }

    /// The share of datagrams on a path.
    fn share(&self, path: usize) -> f64 {
        self.report.sent_on[path] as f64 / self.report.sent.max(1) as f64
    }

    fn table(&self) -> String {
        let Self {
            network,
            senders,
            measured,
            report,
            ..
        } = self;
        let paths = self.paths.iter().zip(senders.traffic.ways()).enumerate();
        let path_rows = paths.map(|(number, (path, way))| {
            let shares = [Some(self.share(number)), self.lost_on(number)];
            let shares = shares.map(|share| percent(share, 1));
            let ends = [path.local.ip().to_string(), path.remote.to_string()];
            [vec![way.join("+")], ends.to_vec(), shares.to_vec()].concat()
        });
        let time = |name: &str, of: &DurationHistogram| {
            let cells = of.mean().map_or_else(
                || vec!["-".to_owned(); 5],
                |mean| {
                    let quantiles = [0.5, 0.9, 0.99].map(|q| of.quantile(q));
                    let cells = [mean].into_iter().chain(quantiles).chain([of.max()]);
                    let cells = cells.map(|span| format!("{:.2}", milliseconds(span)));
                    cells.collect()
                },
            );
            [vec![name.to_owned()], cells].concat()
        };
        let times = vec![
            time("round trip", &report.round_trips),
            time("delay", &report.delays),
        ];
        format!(
            "{}: {} sources over {} paths, seed {}, {measured} after a warm-up of {}\n\
             {} datagrams sent, {} % lost, {} heartbeats, {} refused by the kernel, {} duplicate ACKs\n\
             {:.4} path switches of a source per second\n\
             lateness of this program itself: p99 {:.3} ms\n\n{}\n\n\
             Round trips, and one-way delays above the lowest of the path so far, ms\n{}\n",
            network.name,
            senders.count(),
            self.paths.len(),
            network.seed,
            network.run.warm_up,
            report.sent,
            percent(self.lost(), 3),
            report.heartbeats,
            report.refused,
            report.duplicates,
            self.switch_rate(),
            milliseconds(report.lateness.quantile(0.99)),
            plain(
                &[
                    "path",
                    "local",
                    "remote",
                    "share of\ndatagrams, %",
                    "lost\n%"
                ],
                path_rows.collect(),
                3
            ),
            plain(&["time", "mean", "p50", "p90", "p99", "max"], times, 1),
        )
    }

    fn json(&self) -> Value {
        let report = self.report;
        let paths = self
            .paths
            .iter()
            .zip(self.senders.traffic.ways())
            .enumerate();
        let path = |(number, (path, way)): (usize, (&PathArg, &Vec<String>))| {
            json!({
                "name": way.join("+"),
                "local": path.local.ip().to_string(),
                "remote": path.remote.to_string(),
                "sent_datagrams": report.sent_on[number],
                "share": self.share(number),
                "lost_share": self.lost_on(number),
            })
        };
        json!({
            "version": VERSION,
            "name": self.network.name,
            "seed": self.network.seed.to_string(),
            "senders": self.senders.count(),
            "measured_s": self.measured.as_secs_f64(),
            "sent_datagrams": report.sent,
            "lost_share": self.lost(),
            "heartbeats": report.heartbeats,
            "refused_datagrams": report.refused,
            "rejected_datagrams": report.rejected,
            "duplicate_acks": report.duplicates,
            "lateness_p99_ms": milliseconds(report.lateness.quantile(0.99)),
            "switches": report.switches,
            "switch_rate_per_sender_s": self.switch_rate(),
            "round_trip_ms": times(&report.round_trips),
            "delay_above_lowest_ms": times(&report.delays),
            "paths": paths.map(path).collect::<Vec<Value>>(),
        })
    }
}

/// The share of `sent` datagrams that were not acknowledged; `None` if none was sent.
fn share_lost(sent: u64, acknowledged: u64) -> Option<f64> {
    // A forged ACK can have the number of a datagram that was not sent.
    (sent > 0).then(|| 1.0 - acknowledged.min(sent) as f64 / sent as f64)
}

/// A share in percent; `-` if there is none.
fn percent(share: Option<f64>, digits: usize) -> String {
    share.map_or_else(
        || "-".to_owned(),
        |share| format!("{:.digits$}", 100.0 * share),
    )
}

/// A distribution in milliseconds; null without times.
fn times(of: &DurationHistogram) -> Value {
    let Some(mean) = of.mean() else {
        return Value::Null;
    };
    let at = |quantile: f64| milliseconds(of.quantile(quantile));
    json!({
        "mean": milliseconds(mean),
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": milliseconds(of.max()),
    })
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_address_and_a_destination() {
        let path: PathArg = "192.0.2.1=198.51.100.1:7000".parse().unwrap();
        assert_eq!(path.local.to_string(), "192.0.2.1:0");
        assert_eq!(path.remote.to_string(), "198.51.100.1:7000");
        let path: PathArg = "[2001:db8::1]:99=[2001:db8::2]:7000".parse().unwrap();
        assert_eq!(path.local.port(), 99);
        assert_eq!(path.to_string(), "[2001:db8::1]:99=[2001:db8::2]:7000");
        for (text, part) in [
            ("192.0.2.1", "LOCAL=REMOTE:PORT"),
            ("192.0.2.1=198.51.100.1", "LOCAL=REMOTE:PORT"),
            ("wifi=198.51.100.1:7000", "LOCAL=REMOTE:PORT"),
            ("192.0.2.1=[2001:db8::2]:7000", "same family"),
            ("192.0.2.1=198.51.100.1:0", "no destination"),
        ] {
            let error = text.parse::<PathArg>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
