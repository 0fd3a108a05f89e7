//! The attacks, their outcomes and bounds.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{self, sleep};
use std::time::Duration;

use crate::initiations::of_strangers;
use crate::inject::{Flood, FloodPlan, Sources};
use crate::middle::Middle;
use crate::probe::Probe;
use crate::reach::{Reach, rejected};
use crate::slow::{self, SlowClients};
use crate::subject::{Pair, Subject, Way, write_node_with_peer};

/// The initiations of the floods per second to each target: just below what the kernel's filter
/// dropped before it admitted 20 000.
pub(crate) const SLOW_FLOOD: u32 = 1900;
/// The same for restarts.
pub(crate) const FAST_FLOOD: u32 = 20_000;
/// The longest time until a pair is connected before an attack.
const START: Duration = Duration::from_mins(1);
/// The longest time until a restarted node is connected again.
const RESTART: Duration = Duration::from_secs(15);
/// The time between the end of a node and its next start.
const DOWN: Duration = Duration::from_millis(300);
/// Recorded initiations that are replayed to a restarted node.
const REPLAYS: usize = 12;
/// A point of order 8 (Bernstein, <https://cr.yp.to/ecdh.html#validate>).
const LOW_ORDER: &str = "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuAA=";

/// The extent of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The duration of the floods.
    pub(crate) flood: Duration,
    /// Restarts under each flood.
    pub(crate) restarts: u32,
}

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attack {
    Flood(Way, Sender),
    Restart(Way),
    /// A restart at another port, so that the peer's known address is no evidence.
    Move(Sender),
    Replays {
        keeps_state: bool,
    },
    SlowHttp {
        is_spread: bool,
    },
    SlowControl,
    LowOrderKey,
}

/// The source address of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sender {
    /// Unused addresses of the target's own network.
    Strangers,
    /// Addresses of another network.
    Outside,
    Peer,
}

impl Sender {
    fn addresses(self) -> &'static str {
        match self {
            Self::Strangers => "strangers' addresses",
            Self::Outside => "another network",
            Self::Peer => "the peer's address",
        }
    }
}

/// The outcome of an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A time, or the longest of several; `None` if it exceeded the patience of the measurement.
    Longest(Option<Duration>),
    /// Whether the input is refused.
    Refused(bool),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Longest(Some(time)) => write!(f, "{:.2} s", time.as_secs_f64()),
            Self::Longest(None) => f.write_str("never"),
            Self::Refused(true) => f.write_str("refused"),
            Self::Refused(false) => f.write_str("accepted"),
        }
    }
}

impl Attack {
    /// Those that run at the same time.
    pub(crate) const FLOODS: [Self; 5] = [
        Self::Flood(Way::Direct, Sender::Strangers),
        Self::Flood(Way::Learned, Sender::Strangers),
        Self::Flood(Way::Direct, Sender::Peer),
        Self::Flood(Way::ByRelay, Sender::Strangers),
        Self::Flood(Way::ByRelay, Sender::Peer),
    ];
    /// Those that run one after another.
    pub(crate) const OTHERS: [Self; 10] = [
        Self::Restart(Way::Direct),
        Self::Restart(Way::ByRelay),
        Self::Move(Sender::Outside),
        Self::Move(Sender::Strangers),
        Self::Replays { keeps_state: false },
        Self::Replays { keeps_state: true },
        Self::SlowHttp { is_spread: false },
        Self::SlowHttp { is_spread: true },
        Self::SlowControl,
        Self::LowOrderKey,
    ];

    pub(crate) fn name(self) -> String {
        let way = |way| match way {
            Way::Direct => "direct",
            Way::Learned => "address learned",
            Way::ByRelay => "by relay",
            Way::ByAttacker => "through an attacker",
        };
        match self {
            Self::Flood(by, sender) => format!("flood from {}, {}", sender.addresses(), way(by)),
            Self::Restart(by) => format!("restart during a flood, {}", way(by)),
            Self::Move(sender) => {
                format!("restart at another port, flood from {}", sender.addresses())
            }
            Self::Replays { keeps_state: false } => "restart under replays".to_owned(),
            Self::Replays { keeps_state: true } => "restart under replays, --state".to_owned(),
            Self::SlowHttp { is_spread: false } => "200 slow HTTP clients, one address".to_owned(),
            Self::SlowHttp { is_spread: true } => "200 slow HTTP clients, 200 addresses".to_owned(),
            Self::SlowControl => "64 slow clients of the control socket".to_owned(),
            Self::LowOrderKey => "public key of low order".to_owned(),
        }
    }

    /// The measured quantity.
    pub(crate) const fn quantity(self) -> &'static str {
        match self {
            Self::Flood(..) => "longest gap",
            Self::Restart(_) | Self::Move(_) | Self::Replays { .. } => "connected after, at most",
            Self::SlowHttp { .. } => "metrics after",
            Self::SlowControl => "status after",
            Self::LowOrderKey => "check",
        }
    }

    /// The largest outcome that is accepted, set before the first run.
    pub(crate) const fn bound(self) -> Option<Duration> {
        match self {
            Self::Flood(..) | Self::Restart(_) | Self::Move(_) | Self::Replays { .. } => {
                Some(Duration::from_secs(2))
            }
            Self::SlowHttp { .. } | Self::SlowControl => Some(Duration::from_secs(1)),
            Self::LowOrderKey => None,
        }
    }

    /// Whether the outcome is acceptable.
    pub(crate) fn is_met(self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Longest(time) => {
                time.is_some_and(|time| self.bound().is_none_or(|bound| time <= bound))
            }
            Outcome::Refused(is_refused) => is_refused,
        }
    }

    /// Runs it; none if the subject lacks what is attacked.
    pub(crate) fn run(self, subject: &Subject, settings: &Settings) -> io::Result<Option<Outcome>> {
        if matches!(subject, Subject::WireguardGo) && self.needs_polypath() {
            return Ok(None);
        }
        match self {
            Self::Flood(way, sender) => flood(subject, way, sender, settings).map(Some),
            Self::Restart(way) => restart(subject, way, settings).map(Some),
            Self::Move(sender) => return_elsewhere(subject, sender, settings).map(Some),
            Self::Replays { keeps_state: true } if !has_state(subject)? => Ok(None),
            Self::Replays { keeps_state } => replays(subject, keeps_state, settings).map(Some),
            Self::SlowHttp { is_spread } => slow_http(subject, is_spread).map(Some),
            Self::SlowControl => slow_control(subject).map(Some),
            Self::LowOrderKey => low_order_key(subject).map(Some),
        }
    }

    /// Whether it attacks what wireguard-go lacks.
    const fn needs_polypath(self) -> bool {
        match self {
            Self::Flood(way, _) | Self::Restart(way) => matches!(way, Way::ByRelay | Way::Learned),
            Self::Replays { keeps_state } => keeps_state,
            Self::Move(_) | Self::SlowHttp { .. } | Self::SlowControl | Self::LowOrderKey => true,
        }
    }
}

/// Runs the floods against all subjects at the same time; returns them with the subject's position.
pub(crate) fn run_floods(
    floods: &[Attack],
    subjects: &[(&'static str, Subject)],
    settings: &Settings,
) -> io::Result<Vec<(Attack, usize, Outcome)>> {
    let (sender, results) = channel();
    thread::scope(|scope| {
        for attack in floods.iter().copied() {
            for (column, (name, subject)) in subjects.iter().enumerate() {
                let sender = sender.clone();
                scope.spawn(move || {
                    let outcome = attack.run(subject, settings);
                    if let Ok(Some(outcome)) = outcome {
                        eprintln!("attack: {}, {name}: {outcome}", attack.name());
                    }
                    let _ = sender.send((attack, column, outcome));
                });
            }
        }
    });
    drop(sender);
    let mut all = Vec::new();
    for (attack, column, outcome) in results {
        all.extend(outcome?.map(|outcome| (attack, column, outcome)));
    }
    Ok(all)
}

/// Two connected nodes, and the probe between them.
fn connected(pair: &Pair) -> io::Result<Probe> {
    let probe = Probe::start(pair.ends())?;
    match probe.await_both(probe.now(), START) {
        Some(_) => Ok(probe),
        None => Err(not_connected(pair)),
    }
}

/// Two nodes that are connected by the attacker, and the probe between them.
///
/// Two of wireguard-go that initiate within the delay of the attacker reject each other's responses
/// and initiate again after 5 s, at the same time: one of them restarts, so that their timers differ.
fn connected_by_attacker(pair: &mut Pair) -> io::Result<Probe> {
    let probe = Probe::start(pair.ends())?;
    let is_connected =
        probe.await_both(probe.now(), RESTART).is_some() || restart_once(pair, &probe)?.is_some();
    if is_connected {
        Ok(probe)
    } else {
        Err(not_connected(pair))
    }
}

fn not_connected(pair: &Pair) -> io::Error {
    io::Error::other(format!(
        "the nodes do not connect without an attack; the logs end with\n{}",
        pair.logs()
    ))
}

/// Floods the target of each node, from the side of that node.
fn start_floods(pair: &Pair, sender: Sender, rate: u32) -> io::Result<Vec<Flood>> {
    let start = |from: usize| -> io::Result<Flood> {
        let plan = FloodPlan {
            target: pair.target_of(from),
            sources: match sender {
                Sender::Strangers => Sources::Strangers,
                Sender::Outside => Sources::Outside,
                Sender::Peer => Sources::Peer(pair.address(from)),
            },
            datagrams: of_strangers(pair.subject(), pair.target_key(from))?,
            rate,
        };
        plan.start(pair.namespace(from))
    };
    [0, 1].into_iter().map(start).collect()
}

fn flood(subject: &Subject, way: Way, sender: Sender, settings: &Settings) -> io::Result<Outcome> {
    let pair = Pair::start(subject, way, false)?;
    let probe = connected(&pair)?;
    let floods = start_floods(&pair, sender, SLOW_FLOOD)?;
    let reach = Reach::start(&pair, &[0, 1], SLOW_FLOOD)?;
    probe.reset();
    sleep(settings.flood);
    let gap = probe.longest_gap();
    reach.require(&pair)?;
    end_floods(floods)?;
    Ok(Outcome::Longest(Some(gap)))
}

fn end_floods(floods: Vec<Flood>) -> io::Result<()> {
    for flood in floods {
        let rate = flood.stop()?;
        eprintln!("attack: {rate:.0} initiations/s to one target");
    }
    Ok(())
}

/// Restarts the second node again and again during a flood from its peer's address.
fn restart(subject: &Subject, way: Way, settings: &Settings) -> io::Result<Outcome> {
    let mut pair = Pair::start(subject, way, false)?;
    let probe = connected(&pair)?;
    let floods = start_floods(&pair, Sender::Peer, FAST_FLOOD)?;
    let reach = Reach::start(&pair, &[0], FAST_FLOOD)?;
    let longest = restart_repeatedly(&mut pair, &probe, settings)?;
    reach.require(&pair)?;
    end_floods(floods)?;
    Ok(longest)
}

/// Restarts the second node at another port each time, during a flood from other addresses of the
/// first, which learns its address: it needs a cookie.
fn return_elsewhere(subject: &Subject, sender: Sender, settings: &Settings) -> io::Result<Outcome> {
    let mut pair = Pair::start(subject, Way::Learned, false)?;
    let probe = connected(&pair)?;
    let floods = start_floods(&pair, sender, SLOW_FLOOD)?;
    let reach = Reach::start(&pair, &[0], SLOW_FLOOD)?;
    let mut longest = Some(Duration::ZERO);
    for _ in 0..settings.restarts {
        pair.move_node(1);
        let time = restart_once(&mut pair, &probe)?;
        longest = longest.zip(time).map(|(longest, time)| longest.max(time));
        if longest.is_none() {
            break;
        }
    }
    reach.require(&pair)?;
    end_floods(floods)?;
    Ok(Outcome::Longest(longest))
}

/// The longest time from the start of the second node until packets cross both ways.
fn restart_repeatedly(pair: &mut Pair, probe: &Probe, settings: &Settings) -> io::Result<Outcome> {
    let mut longest = Duration::ZERO;
    for _ in 0..settings.restarts {
        match restart_once(pair, probe)? {
            Some(time) => longest = longest.max(time),
            None => return Ok(Outcome::Longest(None)),
        }
    }
    Ok(Outcome::Longest(Some(longest)))
}

/// Kills and starts the second node; returns the time from its start until packets cross both ways.
fn restart_once(pair: &mut Pair, probe: &Probe) -> io::Result<Option<Duration>> {
    pair.stop_node(1);
    // Until nothing of the old one is in flight or in a receiver's buffer.
    sleep(DOWN);
    let since = probe.now();
    pair.start_node(1)?;
    Ok(probe.await_both(since, RESTART))
}

/// Records initiations of the first node on the way, and replays one to the second, in the name of
/// the first, each time that it initiates after a restart.
fn replays(subject: &Subject, keeps_state: bool, settings: &Settings) -> io::Result<Outcome> {
    let mut pair = Pair::start(subject, Way::ByAttacker, keeps_state)?;
    let Some(middle) = pair.start_attacker()? else {
        return Err(io::Error::other("no attacker is on the way"));
    };
    let probe = connected_by_attacker(&mut pair)?;
    record(&mut pair, &middle)?;
    if probe.await_both(probe.now(), START).is_none() {
        return Err(io::Error::other("the nodes do not connect again"));
    }
    // The kept time is written within a second.
    sleep(Duration::from_secs(2));
    let mut longest = Duration::ZERO;
    for _ in 0..settings.restarts {
        let before = middle.replayed();
        middle.replay();
        match restart_once(&mut pair, &probe)? {
            Some(time) => longest = longest.max(time),
            None => return Ok(Outcome::Longest(None)),
        }
        if middle.replayed() == before {
            return Err(io::Error::other(
                "a restarted node initiated nothing, so nothing was replayed",
            ));
        }
        if keeps_state && rejected(&slow::metrics(pair.namespace(1))?, "stale-timestamp") == 0 {
            return Err(io::Error::other(
                "a restarted node with `--state` recognised no replay",
            ));
        }
    }
    Ok(Outcome::Longest(Some(longest)))
}

/// Restarts the first node until enough of its initiations are recorded.
fn record(pair: &mut Pair, middle: &Middle) -> io::Result<()> {
    while middle.recorded() < REPLAYS {
        let before = middle.recorded();
        pair.start_node(0)?;
        let mut waits = 0;
        while middle.recorded() == before {
            if waits == 1000 {
                return Err(io::Error::other("a restarted node sends no handshake"));
            }
            waits += 1;
            sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

fn slow_http(subject: &Subject, is_spread: bool) -> io::Result<Outcome> {
    let pair = Pair::start(subject, Way::Direct, false)?;
    let _probe = connected(&pair)?;
    let _clients = SlowClients::start(pair.namespace(0), &pair.file("a.sock"), is_spread)?;
    Ok(Outcome::Longest(slow::scrape(pair.namespace(0))))
}

fn slow_control(subject: &Subject) -> io::Result<Outcome> {
    let Subject::Polypath(program) = subject else {
        return Err(io::Error::other("wireguard-go has no control socket"));
    };
    let pair = Pair::start(subject, Way::Direct, false)?;
    let _probe = connected(&pair)?;
    let socket = pair.file("a.sock");
    let _clients = SlowClients::start(pair.namespace(0), &socket, false)?;
    Ok(Outcome::Longest(slow::status(program, &socket)?))
}

fn low_order_key(subject: &Subject) -> io::Result<Outcome> {
    let directory = tempfile::tempdir()?;
    let file = write_node_with_peer(directory.path(), LOW_ORDER)?;
    let code = run_program(subject, &["check".as_ref(), file.as_ref()])?;
    Ok(Outcome::Refused(!code))
}

/// Whether the program has the option `--state`.
fn has_state(subject: &Subject) -> io::Result<bool> {
    let Subject::Polypath(program) = subject else {
        return Ok(false);
    };
    let output = std::process::Command::new(program)
        .args(["node", "--help"])
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).contains("--state"))
}

/// Runs the program to its end; returns whether it succeeds.
fn run_program(subject: &Subject, arguments: &[&Path]) -> io::Result<bool> {
    let Subject::Polypath(program) = subject else {
        return Err(io::Error::other("wireguard-go checks no files"));
    };
    let output = std::process::Command::new(program)
        .args(arguments)
        .output()?;
    Ok(output.status.success())
}
