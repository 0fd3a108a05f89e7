//! Moves at random times: the faster the delay of the current path grows, the sooner.

use alloc::vec::Vec;

use super::choice::{Choice, Decision};
use super::config::GrowthConfig;
use super::{Action, DelayCentric};
use crate::frame::PathId;
use crate::math::exp;
use crate::packet::FlowId;
use crate::time::{Duration, Time};

/// The longest time between two draws that counts: between heartbeats nothing is known.
const MAX_SPAN: Duration = Duration::from_secs(1);
/// The growth in seconds per second below which it counts as zero: jitter causes as much.
const NOISE: f64 = 0.02;
/// The growth from which a path without measurements is tried.
const UNKNOWN_FROM: f64 = 0.05;

impl DelayCentric {
    /// Draws for each choice whether it leaves its path, whose delay grows: with the probability of the
    /// time since the last draw.
    pub(super) fn draw_moves(
        &mut self,
        now: Time,
        growth: GrowthConfig,
        act: &mut dyn FnMut(Action),
    ) {
        let since = now.since(self.last_draw).min(MAX_SPAN).as_secs_f64();
        self.last_draw = now;
        if let Some(to) = self.drawn_move(self.choice.current, growth, since) {
            self.switch(now, to, act);
        }
        let Some(mut flows) = self.flows.take() else {
            return;
        };
        let all: Vec<(FlowId, Choice)> = flows.all().collect();
        for (flow, choice) in all {
            if let Some(to) = self.drawn_move(choice.current, growth, since)
                && let Some(choice) = flows.choice_mut(flow)
            {
                self.apply(now, choice, Decision::Switch(to), act);
            }
        }
        self.flows = Some(flows);
    }

    /// The path to which a choice moves now, if it is drawn to leave its own.
    fn drawn_move(&mut self, current: PathId, growth: GrowthConfig, since: f64) -> Option<PathId> {
        let estimates = self.paths[current.index()].estimates()?;
        let rate = (estimates.growth.as_ref()?.rate() - NOISE).max(0.0);
        let to = self.preferred(current).or_else(|| {
            // Nothing is known of a path without measurements; a queue that fills is worse.
            let mut others = self.candidates(current);
            let unknown = others.find(|(_, path)| path.estimates().is_none());
            unknown
                .filter(|_| rate > UNKNOWN_FROM)
                .map(|(path, _)| path)
        })?;
        let other = self.paths[to.index()].estimates();
        let saved = other.map_or(0.0, |other| {
            let [own, other] = [estimates, other].map(|of| of.srtt.value().as_secs_f64());
            (1.0 - other / own.max(1e-9)).max(0.0)
        });
        // The effect of those who left shows after a round trip.
        let time = growth.reaction.as_secs_f64() + estimates.srtt.value().as_secs_f64();
        let leaving = rate / (1.0 + rate) / time;
        let frequency = leaving + saved / growth.patience.as_secs_f64();
        let probability = 1.0 - exp(-frequency * since);
        self.stream.chance(probability).then_some(to)
    }
}
