//! Checks of a scenario that no schema can state: names that must exist, values that must not be
//! zero.

pub(crate) mod bounds;
mod endpoint;
mod load;
mod media;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use polypath_core::endpoint::MIN_PAIR_LEN;
use polypath_core::policy::PathSet;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use polypath_document::{Problems, check_classes, last_part};
use polypath_link::{
    ConfigError, Fades, GilbertElliott, OnOff, QueueLimit, RateVariation, outage_problems,
};

use crate::background::{Background, HostLink, Profile};
use crate::loaded_paths::LoadedPaths;
use crate::path::{Link, Path};
use crate::scenario::{SCHEMA_VERSION, Scenario, Scheme};
use crate::settings::Overlay;
use crate::tcp::Tcp;
pub(crate) use endpoint::{
    check_effects, check_endpoint_policy, check_frame, check_liveness, check_probing,
};
pub(crate) use media::check_media;

/// The maximum number of paths.
const MAX_PATHS: usize = PathSet::CAPACITY as usize;

/// The largest IPv4 packet (RFC 791, section 3.1).
const MAX_PACKET: Bytes = Bytes(65_535);

/// The minimum size of the second packet of a pair.
const MIN_PAIR: Bytes = Bytes(MIN_PAIR_LEN as u64);

/// The headers of IPv4 and TCP without options.
const TCP_HEADERS: Bytes = Bytes(40);

/// Reports all problems of a scenario with valid types.
pub(crate) fn check(scenario: &Scenario, problems: &mut Problems) {
    check_form(scenario.schema, &scenario.name, &scenario.title, problems);
    check_schemes(scenario, problems);
    check_classes(&scenario.classes, problems);
    let policies = scenario.schemes.iter().map(|scheme| scheme.policy());
    check_effects(
        "schemes",
        &policies.collect::<Vec<_>>(),
        &scenario.classes,
        &scenario.paths,
        problems,
    );
    check_transfer(scenario, problems);
    check_tcp("tcp", &scenario.tcp, problems);
    if !scenario.tcp.set_up {
        let message = "a measured transfer begins with the set-up of its connection";
        problems.report(
            "tcp.set_up",
            message,
            "remove `set_up`; networks of flows have it",
        );
    }
    check_overlay(&scenario.overlay, problems);
    check_loaded_paths(scenario.into(), &Largest::frames(scenario), problems);
    positive("lab.lateness_bound", scenario.lab.lateness_bound, problems);
    bounds::check(scenario, problems);
}

/// Checks the background and the paths; all queues of paths must admit these `frames`.
fn check_loaded_paths(loaded: LoadedPaths<'_>, frames: &[Largest], problems: &mut Problems) {
    if let Background::Profiles(profiles) = loaded.background {
        for (name, profile) in profiles {
            let key = format!("background.{name}");
            check_name(&key, name, problems);
            check_profile(&key, profile, loaded.tcp.segment, problems);
        }
    }
    check_paths(loaded, frames, problems);
}

fn check_schemes(scenario: &Scenario, problems: &mut Problems) {
    if scenario.schemes.is_empty() {
        let remedy = "name at least one of `tcp`, `ppd-tcp1`, `ppd-tcp2`, `ppd-tcp3`";
        problems.report("schemes", "`schemes` is empty", remedy);
    }
    check_limits(scenario, problems);
    let mut seen = BTreeSet::new();
    for (index, scheme) in scenario.schemes.iter().enumerate() {
        let key = format!("schemes.{index}");
        if !seen.insert(scheme.name()) {
            let message = format!("scheme `{scheme}` is named twice");
            let remedy = "remove one; to compare settings of one policy, sweep `schemes.N.KEY`";
            problems.report(&key, message, remedy);
        }
        if scheme.policy().needs_liveness() && scenario.overlay.liveness.is_none() {
            let message =
                format!("scheme `{scheme}`: `leave` needs heartbeats of liveness detection");
            let remedy = "omit it, or add `[overlay.liveness]`";
            problems.report(&format!("{key}.leave"), message, remedy);
        }
        let count = scenario.paths.len();
        if let Err(error) = scheme.policy().check(count) {
            let message = format!("scheme `{scheme}`: {error}");
            problems.report(&error.key(&key), message, error.remedy());
        }
    }
}

/// Checks that an overlay follows the limits of paths.
fn check_limits(scenario: &Scenario, problems: &mut Problems) {
    let limited = scenario
        .paths
        .iter()
        .position(|path| path.tariff.is_limited());
    if let Some(index) = limited
        && scenario.schemes.iter().all(|scheme| *scheme == Scheme::Tcp)
    {
        let schemes = (0..scenario.schemes.len()).map(|index| format!("schemes.{index}"));
        let keys: Vec<String> = std::iter::once(format!("path.{index}.tariff"))
            .chain(schemes)
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let message = "`tcp` has no overlay that limits what a path carries";
        problems.report_among(&keys, message, "add another scheme, or omit the tariff");
    }
}

fn check_transfer(scenario: &Scenario, problems: &mut Problems) {
    let transfer = &scenario.transfer;
    at_least_a_byte("transfer.size", transfer.size, problems);
    positive("transfer.timeout", transfer.timeout, problems);
}

/// Checks the head of a file: the version of its format, its name and its title.
pub(crate) fn check_form(schema: u32, name: &str, title: &str, problems: &mut Problems) {
    if schema != SCHEMA_VERSION {
        let message = format!("schema {schema} is not known");
        problems.report("schema", message, "this program reads `schema = 1`");
    }
    check_name("name", name, problems);
    if title.chars().any(char::is_control) {
        let message = "`title` has a control character";
        problems.report("title", message, "write it in one line of plain text");
    }
}

/// Checks the TCP configuration at `key`: `tcp`, or the changes of a flow.
pub(crate) fn check_tcp(key: &str, tcp: &Tcp, problems: &mut Problems) {
    let at = |leaf| tcp_key(key, leaf, problems);
    let [segment, ack, delayed_ack] = ["segment", "ack", "delayed_ack"].map(at);
    let [min_rto, initial_rto, max_rto, tick] =
        ["min_rto", "initial_rto", "max_rto", "tick"].map(at);
    check_packet(&segment, tcp.segment, problems);
    if tcp.segment <= TCP_HEADERS {
        let message = format!("a segment of {} has no room for data", tcp.segment);
        problems.report(&segment, message, "it includes 40 B of headers");
    }
    check_packet(&ack, tcp.ack, problems);
    if let Some(delay) = tcp.delayed_ack {
        positive(&delayed_ack, delay, problems);
    }
    positive(&min_rto, tcp.min_rto, problems);
    positive(&tick, tcp.tick, problems);
    for (key, timeout) in [(initial_rto, tcp.initial_rto), (max_rto, tcp.max_rto)] {
        if timeout < tcp.min_rto {
            let message = format!("{timeout} is below `min_rto`, {}", tcp.min_rto);
            problems.report_among(&[&key, &min_rto], message, "exchange or equal them");
        }
    }
}

/// The key of a TCP value: below `key` if it is set there, or else below `tcp`, so that its
/// mistakes are reported once.
pub(crate) fn tcp_key(key: &str, leaf: &str, problems: &Problems) -> String {
    let own = format!("{key}.{leaf}");
    if problems.locator().has(&own) {
        own
    } else {
        format!("tcp.{leaf}")
    }
}

fn check_overlay(overlay: &Overlay, problems: &mut Problems) {
    check_liveness("overlay.liveness", overlay.liveness, problems);
    positive("overlay.pair_interval", overlay.pair_interval, problems);
    check_pair_len("overlay.pair_len", overlay.pair_len, problems);
}

/// Checks the size of the larger packet of a pair.
fn check_pair_len(key: &str, len: Bytes, problems: &mut Problems) {
    check_packet(key, len, problems);
    if len < MIN_PAIR {
        let message = format!("a pair of {len} is too small to measure with");
        problems.report(key, message, format!("use {MIN_PAIR} or more"));
    }
}

fn check_profile(key: &str, profile: &Profile, segment: Bytes, problems: &mut Problems) {
    let HostLink { rate, queue, .. } = profile.host_link;
    check_rate(&format!("{key}.host_link.rate"), rate, problems);
    let queue_key = format!("{key}.host_link.queue");
    if let Some(error) = queue.problem("queue") {
        report(&format!("{key}.host_link"), &error, problems);
    }
    check_admission(&queue_key, queue, &Largest::segment(segment), problems);
    if let Some(packet) = Largest::of_udp(key, profile) {
        check_admission(&queue_key, queue, &packet, problems);
    }
    if let Some(udp) = profile.udp {
        check_rate(&format!("{key}.udp.peak"), udp.peak, problems);
        positive(&format!("{key}.udp.on"), udp.on, problems);
        check_packet(&format!("{key}.udp.packet"), udp.packet, problems);
    }
    if profile.tcp.is_none() && profile.udp.is_none() {
        let remedy = "give it `tcp`, `udp` or both";
        problems.report(key, "the profile has no traffic", remedy);
    }
}

fn check_paths(loaded: LoadedPaths<'_>, frames: &[Largest], problems: &mut Problems) {
    let paths = loaded.paths;
    if paths.is_empty() {
        problems.report("path", "there is no path", "add a `[[path]]`");
    }
    if paths.len() > MAX_PATHS {
        let message = format!("{} paths are too many", paths.len());
        let remedy = format!("{MAX_PATHS} are possible");
        problems.report(&format!("path.{MAX_PATHS}"), message, remedy);
    }
    let mut names = BTreeMap::new();
    for (index, path) in paths.iter().enumerate() {
        let key = format!("path.{index}");
        if let Some(earlier) = names.insert(&path.name, index) {
            let message = format!("another path is called `{}`, too", path.name);
            let keys = [format!("{key}.name"), format!("path.{earlier}.name")];
            problems.report_among(&keys.each_ref().map(String::as_str), message, "rename one");
        }
        if let Err(error) = path.tariff.check() {
            let key = format!("{key}.tariff.{}", error.key());
            problems.report(&key, error.to_string(), error.remedy());
        }
        let datagram = Largest::of_background(loaded, path);
        let packets: Vec<&Largest> = frames.iter().chain(&datagram).collect();
        check_links(&key, path, &packets, problems);
        load::check(&key, path, loaded.background, problems);
    }
    shared::check(paths, problems);
}

/// A packet that a queue must admit.
pub(crate) struct Largest {
    what: &'static str,
    size: Bytes,
    /// The keys that determine its size.
    keys: Vec<String>,
}

impl Largest {
    /// A segment without overlay.
    pub(crate) fn segment(size: Bytes) -> Self {
        Largest {
            what: "segment",
            size,
            keys: vec!["tcp.segment".to_owned()],
        }
    }

    /// The frames of the overlay around segments and pairs.
    fn frames(scenario: &Scenario) -> [Largest; 2] {
        let (segment, pair) = (scenario.tcp.segment, scenario.overlay.pair_len);
        let frame = |what, size: Bytes, key: &str| Largest {
            what,
            size: Bytes(scenario.frame_overhead().0.saturating_add(size.0)),
            keys: vec![key.to_owned(), "overlay.encapsulation".to_owned()],
        };
        [
            frame("frame with a segment", segment, "tcp.segment"),
            frame("frame with a pair", pair, "overlay.pair_len"),
        ]
    }

    /// The datagrams of the background of a path, if it has any.
    fn of_background(loaded: LoadedPaths<'_>, path: &Path) -> Option<Largest> {
        let profile = loaded.profile(path)?;
        let name = path.background.as_ref()?;
        Largest::of_udp(&format!("background.{name}"), profile)
    }

    fn of_udp(profile: &str, with: &Profile) -> Option<Largest> {
        with.udp.map(|udp| Largest {
            what: "datagram of the background",
            size: udp.packet,
            keys: vec![format!("{profile}.udp.packet")],
        })
    }
}

fn check_links(key: &str, path: &Path, packets: &[&Largest], problems: &mut Problems) {
    check_name(&format!("{key}.name"), &path.name, problems);
    if path.links.is_empty() {
        let message = format!("path `{}` has no links", path.name);
        problems.report(&format!("{key}.link"), message, "add a `[[path.link]]`");
    }
    for (index, link) in path.links.iter().enumerate() {
        check_link(&format!("{key}.link.{index}"), link, packets, problems);
    }
}

pub(crate) fn check_link(key: &str, link: &Link, packets: &[&Largest], problems: &mut Problems) {
    check_name(&format!("{key}.name"), &link.name, problems);
    check_line(key, link, problems);
    // A discipline that derives parameters from the rate needs a constant one.
    let constant = link.rate.filter(|_| link.variation.is_none());
    for error in link.queue.problems(constant) {
        report(key, &error, problems);
    }
    let limit_key = format!("{key}.{}", link.queue.limit_key());
    for packet in packets {
        check_admission(&limit_key, link.queue.limit(), packet, problems);
    }
    let losses = (link.gilbert_elliott.iter()).flat_map(GilbertElliott::problems);
    let losses = losses.chain(link.onoff.iter().flat_map(OnOff::problems));
    let losses = losses.chain(link.fades.iter().flat_map(Fades::problems));
    let variation = link.variation.iter().flat_map(RateVariation::problems);
    let losses = losses.chain(variation);
    for error in losses.chain(outage_problems(&link.outage)) {
        report(key, &error, problems);
    }
}

/// Reports a problem of the link at `key`.
fn report(key: &str, error: &ConfigError, problems: &mut Problems) {
    let keys: Vec<String> = error.keys().iter().map(|k| format!("{key}.{k}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    problems.report_among(&keys, error.to_string(), error.remedy());
}

/// Checks that a queue with the limit at `key` admits a packet; other checks report a limit of
/// zero.
fn check_admission(key: &str, limit: QueueLimit, packet: &Largest, problems: &mut Problems) {
    let is_zero = limit.problem("").is_some();
    if is_zero || limit.admits(packet.size) {
        return;
    }
    let Largest { what, size, keys } = packet;
    let message = format!("a queue of {limit} admits no {what} of {size}");
    let mut among = vec![key];
    among.extend(keys.iter().map(String::as_str));
    problems.report_among(&among, message, "the packet in transmission counts");
}

/// A name that is safe in file names and unambiguous in the names of links and random streams.
pub(crate) fn check_name(key: &str, name: &str, problems: &mut Problems) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let message = format!("`{}` is not a name", name.escape_debug());
        problems.report(key, message, "use up to 64 letters, digits, `-` and `_`");
    }
}

pub(crate) fn check_rate(key: &str, rate: Rate, problems: &mut Problems) {
    if rate == Rate(0) {
        let error = ConfigError::ZeroRate;
        problems.report(key, error.to_string(), error.remedy());
    }
}

fn check_line(key: &str, link: &Link, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    match (link.rate, &link.trace) {
        (Some(rate), None) => check_rate(&at("rate"), rate, problems),
        (None, Some(_)) => {}
        (None, None) => {
            let remedy = "give it a `rate` or a `trace`";
            problems.report(&at("rate"), "the link has no rate", remedy);
        }
        (Some(_), Some(_)) => {
            let message = "`rate` and `trace` exclude each other";
            problems.report(&at("rate"), message, "remove one");
        }
    }
    if link.rate.is_none() && link.variation.is_some() {
        let message = "`variation` is that of a `rate`";
        problems.report(&at("variation"), message, "give the link a `rate`");
    }
    if link.trace.is_none() && link.trace_back.is_some() {
        let message = "`trace_back` is the return direction of a `trace`";
        problems.report(&at("trace_back"), message, "call it `trace`");
    }
}

pub(crate) fn check_packet(key: &str, size: Bytes, problems: &mut Problems) {
    at_least_a_byte(key, size, problems);
    if size > MAX_PACKET {
        let message = format!("a packet of {size} does not exist");
        problems.report(key, message, "an IPv4 packet has at most 65535 B");
    }
}

pub(crate) fn at_least_a_byte(key: &str, size: Bytes, problems: &mut Problems) {
    if size == Bytes(0) {
        problems.report(
            key,
            format!("`{}` is zero", last_part(key)),
            "it must be at least 1 B",
        );
    }
}

pub(crate) fn positive(key: &str, span: Duration, problems: &mut Problems) {
    if span == Duration::ZERO {
        problems.report(
            key,
            format!("`{}` is zero", last_part(key)),
            "it must be longer",
        );
    }
}
