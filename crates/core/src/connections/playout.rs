//! The player: it begins once enough has come, and stops where the buffer is empty (the paper's 5.3).

use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// How a player buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PlayOutConfig {
    /// It begins once so much of the media has come, by its playing time.
    pub prebuffer: Duration,
    /// It rests for so long where the buffer is empty.
    pub rebuffer: Duration,
}

/// Plays media of a constant rate as it arrives in order.
#[derive(Clone, Copy, Debug)]
pub struct PlayOut {
    rate: Rate,
    rebuffer: Duration,
    /// The bytes with which it begins.
    first: u64,
    /// What has arrived in order, in bytes.
    arrived: u64,
    /// What was played when it rested last, in bytes.
    played: u64,
    state: State,
    stops: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Until enough has come.
    Filling,
    /// Since then.
    Playing(Time),
    /// Until then, and until there is something to play.
    Resting(Time),
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayOutEvent {
    /// It begins, or goes on.
    Plays,
    /// Its buffer is empty.
    Stops,
}

impl PlayOut {
    /// A player of media of this rate, before anything has come.
    #[must_use]
    pub fn new(config: PlayOutConfig, rate: Rate) -> Self {
        Self {
            rate,
            rebuffer: config.rebuffer,
            first: whole_bytes(rate, config.prebuffer),
            arrived: 0,
            played: 0,
            state: State::Filling,
            stops: 0,
        }
    }

    /// How often it has stopped.
    #[must_use]
    pub const fn stops(&self) -> u32 {
        self.stops
    }

    /// When the buffer is empty, if nothing more comes.
    fn runs_dry(&self) -> Option<Time> {
        match self.state {
            State::Playing(since) => {
                let left = Bytes(self.arrived - self.played);
                Some(since + self.rate.transmission_time(left))
            }
            State::Filling | State::Resting(_) => None,
        }
    }

    fn play(&mut self, now: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.state = State::Playing(now);
        out(PlayOutEvent::Plays);
    }

    /// Does what is due: it may run dry and go on again several times before a late `now`.
    fn advance(&mut self, now: Time, out: &mut impl FnMut(PlayOutEvent)) {
        if let Some(at) = self.runs_dry().filter(|at| *at <= now) {
            self.played = self.arrived;
            self.stops = self.stops.saturating_add(1);
            self.state = State::Resting(at + self.rebuffer);
            out(PlayOutEvent::Stops);
        }
        match self.state {
            State::Filling if self.arrived >= self.first && self.arrived > 0 => self.play(now, out),
            State::Resting(until) if until <= now && self.arrived > self.played => {
                self.play(now, out);
            }
            _ => {}
        }
    }
}

impl Machine for PlayOut {
    /// So many more bytes have arrived in order.
    type Input = Bytes;
    type Output = PlayOutEvent;

    fn handle_input(&mut self, now: Time, more: Bytes, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, out);
        self.arrived = self.arrived.saturating_add(more.0);
        self.advance(now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        if let Some(at) = self.runs_dry() {
            let why = "the buffer of the player is empty";
            return Some(Deadline { at, why });
        }
        match self.state {
            State::Resting(at) if self.arrived > self.played => Some(Deadline {
                at,
                why: "the player goes on",
            }),
            _ => None,
        }
    }
}

/// What media of this rate takes for so long, rounded up.
fn whole_bytes(rate: Rate, span: Duration) -> u64 {
    let bits_ns = u128::from(rate.0) * u128::from(span.0);
    u64::try_from(bits_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
}
