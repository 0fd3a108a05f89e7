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
    /// Whether all of the media has arrived.
    is_all: bool,
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
    /// All of the media is played.
    Ended,
}

/// What a player is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayOutInput {
    /// So many more bytes have arrived in order.
    Arrived(Bytes),
    /// Nothing more comes: what has arrived is all of the media, and is played however little it is.
    End,
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayOutEvent {
    /// It begins, or goes on.
    Plays,
    /// Its buffer is empty.
    Stops,
    /// It has played all of the media.
    Ends,
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
            is_all: false,
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
            State::Filling | State::Resting(_) | State::Ended => None,
        }
    }

    /// When it begins or goes on with what has arrived, the last of it at `came`.
    fn goes_on(&self, came: Time) -> Option<Time> {
        let is_some = self.arrived > self.played;
        match self.state {
            State::Filling if is_some && (self.is_all || self.arrived >= self.first) => Some(came),
            State::Resting(until) if is_some => Some(until.max(came)),
            _ => None,
        }
    }

    /// Does what is due, at the times at which it was: a late `now` may find it on and dry again.
    fn advance(&mut self, now: Time, came: Time, out: &mut impl FnMut(PlayOutEvent)) {
        loop {
            if let Some(at) = self.runs_dry().filter(|at| *at <= now) {
                self.run_dry(at, out);
            } else if let Some(at) = self.goes_on(came).filter(|at| *at <= now) {
                self.state = State::Playing(at);
                out(PlayOutEvent::Plays);
            } else {
                return;
            }
        }
    }

    /// Nothing more comes; where all was played before, that was the end.
    fn end(&mut self, out: &mut impl FnMut(PlayOutEvent)) {
        self.is_all = true;
        if self.arrived > self.played {
            return;
        }
        self.state = State::Ended;
        if self.played > 0 {
            out(PlayOutEvent::Ends);
        }
    }

    fn run_dry(&mut self, at: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.played = self.arrived;
        if self.is_all {
            self.state = State::Ended;
            return out(PlayOutEvent::Ends);
        }
        self.stops = self.stops.saturating_add(1);
        self.state = State::Resting(at + self.rebuffer);
        out(PlayOutEvent::Stops);
    }
}

impl Machine for PlayOut {
    type Input = PlayOutInput;
    type Output = PlayOutEvent;

    /// What arrives after the end is not played.
    fn handle_input(&mut self, now: Time, input: PlayOutInput, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, Time::ZERO, out);
        match input {
            _ if self.is_all => return,
            PlayOutInput::Arrived(more) => self.arrived = self.arrived.saturating_add(more.0),
            PlayOutInput::End => self.end(out),
        }
        self.advance(now, now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, Time::ZERO, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let of = |at, why| Some(Deadline { at, why });
        let dry = self.runs_dry();
        let dry = dry.and_then(|at| of(at, "the buffer of the player is empty"));
        let on = self.goes_on(Time::ZERO);
        dry.or_else(|| on.and_then(|at| of(at, "the player goes on")))
    }
}

/// What media of this rate takes for so long, rounded up.
fn whole_bytes(rate: Rate, span: Duration) -> u64 {
    let bits_ns = u128::from(rate.0) * u128::from(span.0);
    u64::try_from(bits_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
}
