//! Datagrams over several paths, of which a path policy selects one for each: the test program of
//! the delay-centric paper (III) without its sockets.
//!
//! A [`MultihomedSource`] sends datagrams at even intervals, and heartbeats on the paths that carry
//! none. The receiver answers each [`MultihomedFrame`] on the path on which it arrived
//! ([`MultihomedFrame::answer`]), and the answers are the measurements of the policy
//! ([`MultihomedFrame::feedback`]). The simulator and the live program drive both; frames have the
//! wire format of [`MultihomedDatagram`] in the latter.

mod frame;
mod source;
#[cfg(test)]
mod tests;

pub use frame::{HEADER_LEN, MultihomedDatagram, MultihomedError, MultihomedFrame};
pub use source::{MultihomedOutput, MultihomedSource, SourceSchedule};
