//! The log lines about interfaces and the binding of paths to them.

use std::fmt::Display;
use std::io;

use crate::stats::Missing;

/// A path lacks its interface, address or uplink; `present` lists the interfaces that exist.
pub(crate) fn missing(path: &str, missing: &Missing, present: &str) {
    tracing::warn!(
        path,
        %missing,
        there_are = present,
        "not there; the path carries nothing until it is (see `ip address`)"
    );
}

/// The part that a path lacked exists again.
pub(super) fn present_again(path: &str, missing: &Missing) {
    tracing::info!(path, %missing, "there now; the path is used once the peer answers");
}

/// A path is bound to an uplink that was found for it.
pub(super) fn bound_to_uplink(path: &str, interface: Option<&str>, source: Option<impl Display>) {
    let source = source.map(tracing::field::display);
    tracing::info!(path, interface, source, "the path uses this uplink");
}

/// A path is bound to a new interface with the name of the former one.
pub(super) fn rebound(path: &str, interface: Option<&str>) {
    tracing::info!(path, interface, "bound to a new interface of the same name");
}

/// There are more uplinks than paths.
pub(super) fn surplus_uplinks(uplinks: &[String]) {
    let uplinks = uplinks.join(", ");
    tracing::info!(uplinks, "more uplinks than paths: these carry nothing");
}

/// A path has no uplink; each of `interfaces` comes with the reason why it is not one.
pub(super) fn no_uplink(interfaces: &[String]) {
    let interfaces = interfaces.join("; ");
    tracing::info!(
        interfaces,
        "a path waits for an uplink; these interfaces are not usable as one"
    );
}

/// The socket of a path could not be opened.
pub(super) fn socket_failed(why: &str) {
    tracing::warn!("{why}; retrying");
}

/// The interfaces could not be read, or a change not be applied.
pub(super) fn update_failed(why: &str) {
    tracing::warn!("{why}; the paths keep their interfaces until a retry succeeds");
}

/// The kernel's answer was incomplete.
pub(super) fn read_again(error: &io::Error) {
    tracing::debug!(%error, "reading the interfaces again");
}

/// Interfaces cannot be monitored from the start.
pub(crate) fn monitor_unavailable(error: &io::Error) {
    tracing::warn!(%error, "changes of interfaces cannot be monitored; restart the node after one");
}

/// Interfaces can no longer be monitored.
pub(crate) fn monitor_failed(error: &io::Error) {
    tracing::error!(%error, "changes of interfaces are no longer monitored");
}
