//! Checks of what an endpoint has in common with the file of a node.

use polypath_core::class::Classes;
use polypath_core::endpoint::ProbingConfig;
use polypath_core::liveness::LivenessConfig;
use polypath_core::policy::PolicyConfig;
use polypath_core::units::Bytes;
use polypath_document::{Problems, UsedPolicies};

use super::{MAX_PACKET, bounds, check_pair_len, positive};
use crate::endpoint::DEPLOYED_FRAMES;
use crate::path::Path;

/// Checks the policy of the table at `key`, over `paths` paths with `liveness`. Messages begin with
/// `name`, unless it is empty.
pub(crate) fn check_endpoint_policy(
    key: &str,
    name: &str,
    policy: PolicyConfig,
    paths: usize,
    liveness: Option<LivenessConfig>,
    problems: &mut Problems,
) {
    let message = |text: &str| match name {
        "" => text.to_owned(),
        name => format!("policy `{name}`: {text}"),
    };
    if policy.needs_liveness() && liveness.is_none() {
        let remedy = "omit it, or `liveness = \"off\"`";
        let text = message("`leave` needs heartbeats, and `liveness` is off");
        problems.report(&format!("{key}.leave"), text, remedy);
    }
    if let Err(error) = policy.check(paths) {
        let text = message(&error.to_string());
        problems.report(&error.key(key), text, error.remedy());
    }
}

/// The MTU of a path: that of Ethernet. Nodes give their TUN device the MTU that fits it, and the
/// kernel fragments larger packets, which the simulator does not.
const PATH_MTU: Bytes = Bytes(1500);

/// Checks that a deployed node carries `packet`, the value of `key`, with its `headers` in one frame.
pub(crate) fn check_frame(key: &str, packet: Bytes, headers: Bytes, problems: &mut Problems) {
    let most = PATH_MTU.0 - u64::from(DEPLOYED_FRAMES.data) - headers.0;
    if packet.0 > most && packet.0.saturating_add(headers.0) <= MAX_PACKET.0 {
        let message = format!("nodes carry a packet of {packet} in several frames");
        problems.report(key, message, format!("use at most {}", Bytes(most)));
    }
}

/// Checks that one of the compared `policies`, of the list at `key`, uses the classes of the file and
/// the costs of its paths: they would change nothing otherwise.
pub(crate) fn check_effects(
    key: &str,
    policies: &[PolicyConfig],
    classes: &Classes,
    paths: &[Path],
    problems: &mut Problems,
) {
    let costs: Vec<u8> = paths.iter().map(|path| path.tariff.cost).collect();
    let items = (0..policies.len()).map(|index| format!("{key}.{index}"));
    let used = UsedPolicies {
        policies,
        keys: &items.collect::<Vec<_>>(),
        remedy: &format!("add {{ kind = \"in-time\" }} to `{key}`"),
    };
    used.check(classes, &costs, problems);
}

/// Checks the heartbeats of the table at `key`.
pub(crate) fn check_liveness(key: &str, liveness: Option<LivenessConfig>, problems: &mut Problems) {
    for problem in liveness.iter().flat_map(LivenessConfig::problems) {
        let key = format!("{key}.{}", problem.key());
        let remedy = "leave it out for the usual one";
        problems.report(&key, problem.to_string(), remedy);
    }
}

/// Checks the comparison of paths of the table at `key`.
pub(crate) fn check_probing(key: &str, probing: &ProbingConfig, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    if !probing.threshold.is_finite() || probing.threshold < 0.0 {
        let remedy = "use a number of at least 0; the paper uses 2";
        problems.report(&at("threshold"), "invalid threshold", remedy);
    }
    positive(&at("pair_interval"), probing.pair_interval, problems);
    bounds::check_pair_interval(&at("pair_interval"), probing.pair_interval, problems);
    check_pair_len(&at("pair_len"), Bytes(probing.pair_len.into()), problems);
}
