//! Media playback: starts after prebuffering and stalls when the buffer is empty (the paper's 5.3).

use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// Buffering of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PlayOutConfig {
    /// Playback starts once this much media is buffered, in playing time.
    pub prebuffer: Duration,
    /// The pause after the buffer has run empty.
    pub rebuffer: Duration,
    /// The most by which more than the rate of the media is wanted while less than `prebuffer` is
    /// buffered, in per cent: what a congestion took from the buffer comes back. The paper has no
    /// such thing (0).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 0, max = 900)))]
    pub refill: u32,
}

#[cfg(feature = "serde")]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(refill: &u32) -> bool {
    *refill == 0
}

/// Plays media of a constant rate from a buffer that fills in order.
#[derive(Clone, Copy, Debug)]
pub struct PlayOut {
    rate: Rate,
    rebuffer: Duration,
    /// The bytes needed to start playback.
    prebuffer: u64,
    /// The most that is wanted above the rate, in per cent.
    refill: u32,
    /// The bytes received in order.
    arrived: u64,
    /// The bytes played up to the last stall.
    played: u64,
    state: State,
    /// Whether all media has arrived.
    is_complete: bool,
    stops: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for the prebuffer.
    Filling,
    /// Playing since this time.
    Playing(Time),
    /// Stalled until this time, and until the buffer has data.
    Stalled(Time),
    /// All media has been played.
    Ended,
}

/// An input of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayOutInput {
    /// This many more bytes arrived in order.
    Arrived(Bytes),
    /// The media is complete; the rest is played even if it is shorter than the prebuffer.
    End,
}

/// A change of the playback state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayOutEvent {
    /// Playback starts or resumes.
    Plays,
    /// Playback stalls: the buffer is empty.
    Stops,
    /// All media has been played.
    Ends,
}

impl PlayOut {
    /// Creates a player of media of this rate with an empty buffer.
    #[must_use]
    pub fn new(config: PlayOutConfig, rate: Rate) -> Self {
        Self {
            rate,
            rebuffer: config.rebuffer,
            prebuffer: whole_bytes(rate, config.prebuffer),
            refill: config.refill,
            arrived: 0,
            played: 0,
            state: State::Filling,
            is_complete: false,
            stops: 0,
        }
    }

    /// The number of stalls.
    #[must_use]
    pub const fn stops(&self) -> u32 {
        self.stops
    }

    /// The rate at which media should arrive: that of the media, and more the less is buffered.
    #[must_use]
    pub fn wanted_rate(&self, now: Time) -> Rate {
        let played = match self.state {
            State::Playing(since) => self
                .played
                .saturating_add(self.rate.bytes_in(now.since(since)).0),
            State::Filling | State::Stalled(_) | State::Ended => self.played,
        };
        let missing = self
            .prebuffer
            .saturating_sub(self.arrived.saturating_sub(played));
        if self.is_complete || missing == 0 {
            return self.rate;
        }
        let most = u128::from(self.rate.0) * u128::from(self.refill);
        let above = most.saturating_mul(missing.into()) / (100 * u128::from(self.prebuffer));
        Rate(
            self.rate
                .0
                .saturating_add(u64::try_from(above).unwrap_or(u64::MAX)),
        )
    }

    /// The time at which the buffer runs empty, if nothing more arrives.
    fn empty_at(&self) -> Option<Time> {
        match self.state {
            State::Playing(since) => {
                let left = Bytes(self.arrived - self.played);
                Some(since + self.rate.transmission_time(left))
            }
            State::Filling | State::Stalled(_) | State::Ended => None,
        }
    }

    /// The time at which playback starts or resumes, if the last data arrived at `arrival`.
    fn resumes_at(&self, arrival: Time) -> Option<Time> {
        let has_data = self.arrived > self.played;
        match self.state {
            State::Filling if has_data && (self.is_complete || self.arrived >= self.prebuffer) => {
                Some(arrival)
            }
            State::Stalled(until) if has_data => Some(until.max(arrival)),
            _ => None,
        }
    }

    /// Performs all due changes at their scheduled times: after a late wake there may be several.
    fn advance(&mut self, now: Time, arrival: Time, out: &mut impl FnMut(PlayOutEvent)) {
        loop {
            if let Some(at) = self.empty_at().filter(|at| *at <= now) {
                self.drain(at, out);
            } else if let Some(at) = self.resumes_at(arrival).filter(|at| *at <= now) {
                self.state = State::Playing(at);
                out(PlayOutEvent::Plays);
            } else {
                return;
            }
        }
    }

    /// Marks the media as complete; playback ends immediately if the buffer is empty.
    fn end(&mut self, out: &mut impl FnMut(PlayOutEvent)) {
        self.is_complete = true;
        if self.arrived > self.played {
            return;
        }
        self.state = State::Ended;
        if self.played > 0 {
            out(PlayOutEvent::Ends);
        }
    }

    fn drain(&mut self, at: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.played = self.arrived;
        if self.is_complete {
            self.state = State::Ended;
            return out(PlayOutEvent::Ends);
        }
        self.stops = self.stops.saturating_add(1);
        self.state = State::Stalled(at + self.rebuffer);
        out(PlayOutEvent::Stops);
    }
}

impl Machine for PlayOut {
    type Input = PlayOutInput;
    type Output = PlayOutEvent;

    /// Data after [`PlayOutInput::End`] is ignored.
    fn handle_input(&mut self, now: Time, input: PlayOutInput, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, Time::ZERO, out);
        match input {
            _ if self.is_complete => return,
            PlayOutInput::Arrived(more) => self.arrived = self.arrived.saturating_add(more.0),
            PlayOutInput::End => self.end(out),
        }
        self.advance(now, now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(PlayOutEvent)) {
        self.advance(now, Time::ZERO, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let empty = self.empty_at().map(|at| Deadline {
            at,
            why: "the buffer of the player is empty",
        });
        let resumes = || self.resumes_at(Time::ZERO);
        empty.or_else(|| {
            resumes().map(|at| Deadline {
                at,
                why: "playback resumes",
            })
        })
    }
}

/// The bytes of `span` at this rate, rounded up.
fn whole_bytes(rate: Rate, span: Duration) -> u64 {
    let bits_ns = u128::from(rate.0) * u128::from(span.0);
    u64::try_from(bits_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
}
