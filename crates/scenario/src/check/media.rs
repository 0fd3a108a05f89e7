//! Checks of a media stream that no schema can state.

use std::collections::BTreeSet;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_document::{Problems, check_classes, check_spacing};

use super::bounds::{self, at_most_a_day};
use super::{
    Largest, check_effects, check_endpoint_policy, check_form, check_frame, check_liveness,
    check_loaded_paths, check_name, check_packet, check_probing, check_rate, check_tcp, positive,
};
use crate::media::{MEDIA_HEADERS, Media, MediaPolicy, MediaScenario};

/// The maximum number of packets of a stream; the delay of each is kept until the end of its run.
const MAX_PACKETS: u64 = 2_000_000;

/// The maximum number of deadlines.
const MAX_DEADLINES: usize = 8;

/// Reports all problems of a media scenario with valid types.
pub(crate) fn check_media(scenario: &MediaScenario, problems: &mut Problems) {
    check_form(scenario.schema, &scenario.name, &scenario.title, problems);
    check_stream(&scenario.media, problems);
    check_deadlines(&scenario.media, problems);
    check_policies(scenario, problems);
    check_classes(&scenario.classes, problems);
    let policies = scenario.media.policies.iter().map(MediaPolicy::config);
    check_effects(
        "media.policies",
        &policies.collect::<Vec<_>>(),
        &scenario.classes,
        &scenario.paths,
        problems,
    );
    check_liveness("liveness", scenario.liveness.config(), problems);
    check_probing("probing", &scenario.probing, problems);
    check_tcp("tcp", &scenario.tcp, problems);
    bounds::check_tcp("tcp", &scenario.tcp, problems);
    let overhead = scenario.frame_overhead().0;
    let frame = |what, size: Bytes, key: &str| Largest {
        what,
        size: Bytes(size.0.saturating_add(overhead)),
        keys: vec![key.to_owned()],
    };
    let packet = scenario.media.packet_len();
    let pair = Bytes(scenario.probing.pair_len.into());
    let frames = [
        frame("frame with a packet", packet, "media.packet"),
        frame("frame with a pair", pair, "probing.pair_len"),
    ];
    check_loaded_paths(scenario.into(), &frames, problems);
    bounds::check_loaded_paths(scenario.into(), problems);
    if !scenario.sweep.is_empty() {
        let remedy = "remove `[sweep]`, and vary the key by runs with different --set";
        problems.report("sweep", "a media stream has no sweep", remedy);
    }
}

fn check_stream(media: &Media, problems: &mut Problems) {
    check_rate("media.rate", media.rate, problems);
    if media.packet == Bytes(0) {
        let message = "a packet without payload carries no media";
        problems.report("media.packet", message, "use for example \"1316 B\"");
    } else {
        check_packet("media.packet", media.packet_len(), problems);
        check_frame("media.packet", media.packet, MEDIA_HEADERS, problems);
        bounds::check_gap("media", "rate", media.rate, media.packet, problems);
    }
    positive("media.duration", media.duration, problems);
    for (key, span) in [
        ("media.duration", media.duration),
        ("media.warm_up", media.warm_up),
        ("media.start_spread", media.start_spread),
        ("media.burst", media.burst),
    ] {
        at_most_a_day(key, span, problems);
    }
    let packets = media.packets();
    if packets > MAX_PACKETS {
        let message = format!("the stream has {packets} packets");
        let remedy = format!("at most {MAX_PACKETS} are possible: shorten it, and raise `runs`");
        let keys = ["media.duration", "media.rate", "media.packet"];
        problems.report_among(&keys, message, remedy);
    }
}

fn check_deadlines(media: &Media, problems: &mut Problems) {
    let deadlines = &media.deadlines;
    if deadlines.is_empty() || deadlines.len() > MAX_DEADLINES {
        let message = format!("{} deadlines", deadlines.len());
        let remedy = format!("name 1 to {MAX_DEADLINES}, for example [\"200 ms\"]");
        problems.report("media.deadlines", message, remedy);
    }
    let mut before = Duration::ZERO;
    for (index, deadline) in deadlines.iter().enumerate() {
        let key = format!("media.deadlines.{index}");
        if *deadline == Duration::ZERO {
            let message = "a deadline of 0 is too short: it must be longer than 0";
            problems.report(&key, message, "for example \"200 ms\"");
        } else if *deadline <= before {
            let message = format!("the deadline {deadline} is not longer than {before}");
            problems.report(&key, message, "list deadlines in ascending order");
        }
        at_most_a_day(&key, *deadline, problems);
        before = *deadline;
    }
}

fn check_policies(scenario: &MediaScenario, problems: &mut Problems) {
    let policies = &scenario.media.policies;
    if policies.is_empty() {
        let remedy = "name at least one, for example { kind = \"single-path\" }";
        problems.report("media.policies", "`policies` is empty", remedy);
    }
    let mut seen = BTreeSet::new();
    for (index, policy) in policies.iter().enumerate() {
        let key = format!("media.policies.{index}");
        let (name, config) = (policy.name(), policy.config());
        check_name(&format!("{key}.name"), name, problems);
        if !seen.insert(name) {
            let message = format!("two policies are called `{name}`");
            let remedy = "give one a name: { name = \"...\", policy = { ... } }";
            problems.report(&key, message, remedy);
        }
        let table = match policy {
            MediaPolicy::Named(_) => format!("{key}.policy"),
            MediaPolicy::Policy(_) => key,
        };
        let (paths, liveness) = (scenario.paths.len(), scenario.liveness.config());
        check_endpoint_policy(&table, name, config, paths, liveness, problems);
        let spacing = policy.treatment().spacing;
        check_spacing(&format!("media.policies.{index}"), spacing, problems);
    }
}
