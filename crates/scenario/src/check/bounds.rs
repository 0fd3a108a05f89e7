//! The limits of a scenario's values, beyond which a run takes hours or its results make no sense.

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use super::tcp_key;
use crate::background::{Background, LogNormal, Profile};
use crate::loaded_paths::LoadedPaths;
use crate::notation::MAX_PACKETS;
use crate::path::{Link, Path};
use crate::scenario::{Scenario, Transfer};
use crate::settings::Overlay;
use crate::tcp::Tcp;
pub(crate) use polypath_document::at_most_a_day;
use polypath_document::{MAX_RATE, MAX_SIZE, Problems, at_most, last_part};
use polypath_link::QueueLimit;

/// The maximum size of a file, on average or measured; the lab keeps it in memory.
pub(crate) const MAX_FILE: Bytes = Bytes(1_000_000_000);
/// The longest propagation delay.
const MAX_DELAY: Duration = Duration::from_secs(3600);
/// The shortest interval of periodic events.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// The maximum number of links of a path, and of background hosts of all paths.
const MAX_LINKS: usize = 256;
const MAX_HOSTS: u64 = 100_000;
/// The minimum time between two packets of a UDP source.
pub(crate) const MIN_GAP: Duration = Duration::from_micros(1);

/// Reports all values beyond the limits.
pub(super) fn check(scenario: &Scenario, problems: &mut Problems) {
    check_transfer(&scenario.transfer, problems);
    check_tcp("tcp", &scenario.tcp, problems);
    check_overlay(&scenario.overlay, problems);
    check_loaded_paths(scenario.into(), problems);
    at_most_a_day("lab.lateness_bound", scenario.lab.lateness_bound, problems);
}

/// Reports the values of the background and of the paths beyond the limits.
pub(super) fn check_loaded_paths(loaded: LoadedPaths<'_>, problems: &mut Problems) {
    if let Background::Profiles(profiles) = loaded.background {
        for (name, profile) in profiles {
            check_profile(&format!("background.{name}"), profile, problems);
        }
    }
    for (path, key) in numbered("path", loaded.paths) {
        for (link, key) in numbered(&format!("{key}.link"), &path.links) {
            check_link(&key, link, problems);
        }
        let hops = path.hops();
        if hops > MAX_LINKS {
            let message = format!("`links` is {hops}, but must be at most {MAX_LINKS}");
            problems.report(&format!("{key}.link"), message, "");
        }
    }
    check_hosts(loaded, problems);
}

fn check_transfer(transfer: &Transfer, problems: &mut Problems) {
    at_most("transfer.size", transfer.size, MAX_FILE, problems);
    for (key, span) in [
        ("transfer.gap", transfer.gap),
        ("transfer.timeout", transfer.timeout),
        ("transfer.warm_up", transfer.warm_up),
    ] {
        at_most_a_day(key, span, problems);
    }
}

pub(crate) fn check_tcp(key: &str, tcp: &Tcp, problems: &mut Problems) {
    let min_rto = tcp_key(key, "min_rto", problems);
    at_least(&min_rto, tcp.min_rto, MIN_INTERVAL, problems);
    for (leaf, span) in [
        ("min_rto", tcp.min_rto),
        ("initial_rto", tcp.initial_rto),
        ("max_rto", tcp.max_rto),
        ("tick", tcp.tick),
    ] {
        at_most_a_day(&tcp_key(key, leaf, problems), span, problems);
    }
}

fn check_overlay(overlay: &Overlay, problems: &mut Problems) {
    check_pair_interval("overlay.pair_interval", overlay.pair_interval, problems);
}

pub(super) fn check_pair_interval(key: &str, interval: Duration, problems: &mut Problems) {
    at_least(key, interval, MIN_INTERVAL, problems);
    at_most_a_day(key, interval, problems);
}

fn check_profile(key: &str, profile: &Profile, problems: &mut Problems) {
    let host_link = profile.host_link;
    check_line(
        &format!("{key}.host_link"),
        host_link.rate,
        host_link.delay,
        problems,
    );
    check_queue(&format!("{key}.host_link.queue"), host_link.queue, problems);
    if let Some(tcp) = profile.tcp {
        at_most_a_day(&format!("{key}.tcp.idle"), tcp.idle, problems);
        check_files(&format!("{key}.tcp.file"), tcp.file, problems);
    }
    if let Some(udp) = profile.udp {
        at_most_a_day(&format!("{key}.udp.on"), udp.on, problems);
        at_most_a_day(&format!("{key}.udp.off"), udp.off, problems);
        check_gap(
            &format!("{key}.udp"),
            "peak",
            udp.peak,
            udp.packet,
            problems,
        );
    }
}

/// Checks the time between packets of size `packet` at the rate in `leaf`, both below `key`.
pub(crate) fn check_gap(key: &str, leaf: &str, rate: Rate, packet: Bytes, problems: &mut Problems) {
    if rate.transmission_time(packet) < MIN_GAP {
        let message = format!("packets of {packet} at {rate} are less than {MIN_GAP} apart");
        let keys = [format!("{key}.{leaf}"), format!("{key}.packet")];
        let keys = keys.each_ref().map(String::as_str);
        let remedy = format!("lower `{leaf}`, or make `packet` larger");
        problems.report_among(&keys, message, remedy);
    }
}

/// The mean of a log-normal distribution is exp(mu + sigma^2 / 2).
pub(crate) fn check_files(key: &str, file: LogNormal, problems: &mut Problems) {
    let mean = (file.mu + file.sigma * file.sigma / 2.0).exp();
    if mean > MAX_FILE.0 as f64 {
        let message = format!("the files have {mean:.1e} B on average, more than {MAX_FILE}");
        let keys = [format!("{key}.sigma"), format!("{key}.mu")];
        let keys = keys.each_ref().map(String::as_str);
        let remedy = "lower `mu` or `sigma`: the mean is exp(mu + sigma^2 / 2)";
        problems.report_among(&keys, message, remedy);
    }
}

pub(crate) fn check_link(key: &str, link: &Link, problems: &mut Problems) {
    check_line(key, link.rate.unwrap_or(Rate(0)), link.delay, problems);
    let queue_key = format!("{key}.{}", link.queue.limit_key());
    check_queue(&queue_key, link.queue.limit(), problems);
    if let Some(onoff) = link.onoff {
        for (name, span) in [("up", onoff.up), ("down", onoff.down)] {
            let key = format!("{key}.onoff.{name}");
            at_least(&key, span, MIN_INTERVAL, problems);
            at_most_a_day(&key, span, problems);
        }
    }
    if let Some(variation) = link.variation {
        let key = format!("{key}.variation.correlation");
        at_least(&key, variation.correlation, MIN_INTERVAL, problems);
        at_most_a_day(&key, variation.correlation, problems);
    }
    if let Some(fades) = link.fades {
        let key = format!("{key}.fades.length");
        at_least(&key, fades.length, MIN_INTERVAL, problems);
        at_most_a_day(&key, fades.length, problems);
    }
}

fn check_line(key: &str, rate: Rate, delay: Duration, problems: &mut Problems) {
    let rate_key = format!("{key}.rate");
    at_most(&rate_key, rate, MAX_RATE, problems);
    let delay_key = format!("{key}.delay");
    at_most(&delay_key, delay, MAX_DELAY, problems);
}

fn check_queue(key: &str, queue: QueueLimit, problems: &mut Problems) {
    match queue {
        QueueLimit::Packets(packets) if packets > MAX_PACKETS => {
            let most = QueueLimit::Packets(MAX_PACKETS);
            let name = last_part(key);
            problems.report(
                key,
                format!("`{name}` is {queue}, but must be at most {most}"),
                "",
            );
        }
        QueueLimit::Packets(_) | QueueLimit::Unlimited => {}
        QueueLimit::Bytes(bytes) => at_most(key, bytes, MAX_SIZE, problems),
    }
}

/// Checks the number of background hosts, which are at every inner node of every path.
fn check_hosts(loaded: LoadedPaths<'_>, problems: &mut Problems) {
    let hosts_of = |path: &Path| {
        let nodes = (path.hops() as u64).saturating_sub(1);
        loaded
            .profile(path)
            .map_or(0, |profile| u64::from(profile.hosts) * nodes)
    };
    let hosts = loaded.paths.iter().map(hosts_of).sum::<u64>();
    if hosts > MAX_HOSTS {
        let message = format!("all paths together have {hosts} background hosts");
        let used = loaded.paths.iter().filter_map(|p| p.background.as_ref());
        let keys: Vec<String> = used
            .map(|name| format!("background.{name}.hosts"))
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let remedy = format!("{MAX_HOSTS} are possible; `hosts` counts at every inner node");
        problems.report_among(&keys, message, remedy);
    }
}

fn numbered<'a, T>(key: &str, items: &'a [T]) -> impl Iterator<Item = (&'a T, String)> {
    let items = items.iter().enumerate();
    items.map(move |(index, item)| (item, format!("{key}.{index}")))
}

/// Reports a duration at `key` below `min`; other checks report zero.
pub(crate) fn at_least(key: &str, duration: Duration, min: Duration, problems: &mut Problems) {
    if duration > Duration::ZERO {
        polypath_document::at_least(key, duration, min, problems);
    }
}
