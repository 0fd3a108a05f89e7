//! Steps in words.

use polypath_core::time::{Duration, Time};
use polypath_session::datagram::{INITIATION, RESPONSE, is_transport};

use crate::sent::Sent;
use crate::world::{Action, World};

/// A step as a line for a reader.
pub(crate) fn describe(world: &World, action: Action) -> String {
    let datagram = |number: usize| {
        let sent = &world.sent[number];
        let kind = match sent.bytes[0] {
            INITIATION => "initiation",
            RESPONSE => "response",
            first if is_transport(first) => "transport datagram",
            _ => "cookie reply",
        };
        let again = if sent.deliveries > 0 { ", again" } else { "" };
        let Sent {
            from, run, path, ..
        } = sent;
        format!(
            "{kind} {number} of node {from} (run {run}, path {}){again}",
            path.0
        )
    };
    let at = world.now.since(Time::ZERO);
    let step = match action {
        Action::Advance => {
            let wait = world.deadline().since(world.now).max(Duration::ZERO);
            format!("time advances by {wait} to the next deadline")
        }
        Action::Deliver(number) => format!("arrives: {}", datagram(number)),
        Action::Spoof(number) => format!("arrives from another address: {}", datagram(number)),
        Action::Offer(node, path) => format!("node {node} sends a frame on path {}", path.0),
        Action::Restart(node) => format!("node {node} restarts"),
        Action::RestartBehind(node) => format!("node {node} restarts with a clock that is behind"),
        Action::Move(node) => format!("node {node} gets another address"),
    };
    format!("{at:>8}  {step}")
}
