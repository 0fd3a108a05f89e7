//! Moves at random times: the faster the delay of the current path grows, the sooner.

use super::choice::Decision;
use super::config::GrowthConfig;
use super::{Action, DelayCentric};
use crate::frame::PathId;
use crate::math::exp;
use crate::time::{Duration, Time};

/// The longest time between two draws that counts: between heartbeats nothing is known.
const MAX_SPAN: Duration = Duration::from_secs(1);
/// The growth in seconds per second that jitter causes, which is subtracted from what is measured.
const NOISE: f64 = 0.02;
/// The growth from which a path without measurements is tried, without that of jitter.
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
        if let Some((to, probability)) = self.likely_move(self.choice.current, growth, since)
            && self.stream.chance(probability)
        {
            self.switch(now, to, act);
        }
        let Some(mut flows) = self.flows.take() else {
            return;
        };
        let moves = self.by_path(&flows, |path| self.likely_move(path, growth, since));
        if moves.iter().any(Option::is_some) {
            for choice in flows.choices_mut(now) {
                let likely = moves.get(choice.current.index()).copied().flatten();
                if let Some((to, probability)) = likely
                    && self.stream.chance(probability)
                {
                    self.apply(now, choice, Decision::Switch(to), act);
                }
            }
            flows.update_summary();
        }
        self.flows = Some(flows);
    }

    /// The path to which the data of `current` may move now, and the probability that it does.
    fn likely_move(
        &self,
        current: PathId,
        growth: GrowthConfig,
        since: f64,
    ) -> Option<(PathId, f64)> {
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
        Some((to, 1.0 - exp(-frequency * since)))
    }
}
