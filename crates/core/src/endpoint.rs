//! One end of the overlay: a [`Sender`] and a [`Receiver`] as one machine.
//!
//! The simulator and the live node drive this same machine. An application's packet goes in with what
//! the policy may know of it, frames come out for the paths; frames of the other end go in, the packets
//! of its application come out, each once.
//!
//! Packets that are not TCP, fragments and TCP segments that cannot be read count as data
//! ([`crate::packet::Kind::Opaque`]); what is not IP at all never comes here, since
//! [`crate::packet::parse`] refuses it.

use crate::event::{DropReason, Event};
use crate::frame::{Body, Encapsulation, Frame, PathId, Payload};
use crate::machine::{Deadline, Machine};
use crate::packet::PacketMeta;
use crate::policy::{Feedback, PathSet, PolicyConfig};
use crate::receiver::{Header, Receiver};
use crate::sender::Sender;
use crate::time::{Duration, Time};

/// How an endpoint is set up; both ends of an overlay agree on all but the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndpointConfig {
    /// The number of paths, 1 to [`PathSet::CAPACITY`].
    pub paths: u8,
    /// Which paths carry which packet.
    pub policy: PolicyConfig,
    /// What frames measure on the wire.
    pub encapsulation: Encapsulation,
    /// How many of the newest packets are remembered to recognise copies.
    pub window: u32,
    /// The sequence number of the first packet. A deployment takes its wall clock in nanoseconds, so that
    /// a restarted sender is always ahead of what the other end remembers; a simulation takes 0.
    pub first_sequence: u64,
    /// Probes and packet pairs.
    pub probing: ProbingConfig,
}

/// How paths are compared (PPD paper, 3.3 and 5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ProbingConfig {
    /// A probe's path wins if the data packet is later than this many times delta T behind the probe.
    pub threshold: f64,
    /// Packet pairs repeat at this interval while data flows.
    pub pair_interval: Duration,
    /// The larger packet of a pair imitates a packet of this many bytes.
    pub pair_len: u16,
}

impl Default for ProbingConfig {
    /// Twice delta T (PPD paper, 5.2), the paper's data packet of 1000 bytes, a pair a second.
    fn default() -> Self {
        Self {
            threshold: 2.0,
            pair_interval: Duration::from_secs(1),
            pair_len: 1000,
        }
    }
}

/// The least length of a pair's larger packet in bytes: shorter ones hardly differ from a probe.
pub const LEAST_PAIR_LEN: u16 = 100;

/// Why an endpoint cannot be set up like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The number of paths is out of range.
    #[error("an endpoint has 1 to {max} paths, not {0}", max = PathSet::CAPACITY)]
    Paths(u8),
    /// The policy names a path that is not there.
    #[error("the policy names path {named}, but the paths are 0 to {last}")]
    NoSuchPath {
        /// The path named.
        named: u8,
        /// The last path that there is.
        last: u8,
    },
    /// The threshold is not a number of at least 0.
    #[error("the threshold must be a finite number of at least 0")]
    Threshold,
    /// Pairs must differ in size to measure anything.
    #[error("a pair of {0} B measures nothing: take at least {LEAST_PAIR_LEN} B")]
    PairLen(u16),
}

/// What comes to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<P> {
    /// A packet of an application, to be carried to the other end.
    Packet {
        /// What the policy may know of it.
        meta: PacketMeta,
        /// The packet.
        payload: P,
    },
    /// A frame of the other end; its `path` is the one it arrived on.
    Frame(Frame<P>),
}

/// What an endpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// Send this frame on its path.
    Transmit(Frame<P>),
    /// Hand this packet to the application.
    Deliver(P),
    /// Something happened.
    Event(Event),
}

/// One end of the overlay.
#[derive(Debug)]
pub struct Endpoint<P> {
    sender: Sender,
    receiver: Receiver,
    paths: PathSet,
    encapsulation: Encapsulation,
    payload: core::marker::PhantomData<fn(P)>,
}

impl EndpointConfig {
    fn check(&self) -> Result<(), ConfigError> {
        if self.paths == 0 || self.paths > PathSet::CAPACITY {
            return Err(ConfigError::Paths(self.paths));
        }
        if let Some(PathId(named)) = self.policy.named_path().filter(|p| p.0 >= self.paths) {
            return Err(ConfigError::NoSuchPath {
                named,
                last: self.paths - 1,
            });
        }
        let threshold = self.probing.threshold;
        if !threshold.is_finite() || threshold < 0.0 {
            return Err(ConfigError::Threshold);
        }
        if self.probing.pair_len < LEAST_PAIR_LEN {
            return Err(ConfigError::PairLen(self.probing.pair_len));
        }
        Ok(())
    }
}

impl<P: Payload> Endpoint<P> {
    /// An endpoint at rest.
    ///
    /// # Errors
    /// Where the configuration contradicts itself.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            paths: PathSet::first(config.paths),
            encapsulation: config.encapsulation,
            payload: core::marker::PhantomData,
        })
    }

    fn on_frame(&mut self, now: Time, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        let len = self.encapsulation.size(&frame.body);
        let Frame {
            path,
            epoch,
            sequence,
            sent,
            body,
        } = frame;
        if !self.paths.contains(path) {
            let reason = DropReason::UnknownPath;
            let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
            return out(Output::Event(Event::Dropped { reason, len }));
        }
        let (kind, delay) = (body.kind(), now.since(sent));
        out(Output::Event(Event::FrameIn {
            path,
            kind,
            len,
            delay,
        }));
        let header = Header {
            path,
            epoch,
            sequence,
        };
        match body {
            Body::Data(payload) => self.receiver.on_data(now, header, payload, out),
            Body::Probe { data_len } => self.receiver.on_probe(now, header, data_len),
            Body::Pair { trailing, .. } => self.receiver.on_pair(now, header, trailing, len, out),
            Body::Switch { to } => {
                self.sender
                    .on_feedback(now, Feedback::Switch { to, epoch }, out);
            }
        }
    }
}

impl<P: Payload> Machine for Endpoint<P> {
    type Input = Input<P>;
    type Output = Output<P>;

    fn handle_input(&mut self, now: Time, input: Input<P>, out: &mut impl FnMut(Output<P>)) {
        match input {
            Input::Packet { meta, payload } => self.sender.on_packet(now, &meta, payload, out),
            Input::Frame(frame) => self.on_frame(now, frame, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        self.sender.on_deadline(now, out);
        if let Some(frame) = self.receiver.on_deadline(now, out) {
            self.sender.broadcast(frame, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.sender.next_deadline(), self.receiver.next_deadline())
    }
}

#[cfg(test)]
mod tests;
