//! A media stream over the paths of a file, by one policy.
//!
//! The server's application sends datagrams at a constant rate, the client's takes the time of each
//! delivery, and between them are two endpoints and the network, as for transfers. The seed alone
//! determines the background and the losses that run in time (outages, fades), so that they are the
//! same for all policies.

mod hosts;
mod outcome;

use polypath_core::endpoint::EndpointConfig;
use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{MediaScenario, MediaTreatment};

use crate::error::RunError;
use crate::host_pairs::{HostPairs, Listener};
use crate::network::build;
use crate::observer::SimEvent;
use hosts::{Schedule, Sink, Source};
pub use outcome::{
    DelayQuantiles, Delivery, MediaOutcome, PathBytes, WireCount, WireKind, WireUse,
};

/// The time after the longest deadline for which later deliveries count, as late packets with their
/// delays.
pub const MEDIA_DRAIN: Duration = Duration::from_secs(2);

/// The time between two checks of the memory bound.
const STEP: Duration = Duration::from_secs(1);

/// Runs the stream of a scenario once with a policy, and the spacing of packets if they are spaced.
///
/// Bytes on the wire count from the first packet until the longest deadline after the end of the
/// stream, deliveries for 2 s longer.
///
/// # Errors
/// If the scenario makes no network, or a queue without a limit grows beyond memory.
pub fn run_media(
    scenario: &MediaScenario,
    treatment: impl Into<MediaTreatment>,
    seed: Seed,
) -> Result<MediaOutcome, RunError> {
    run_media_observed(scenario, treatment, seed, &mut |_, _, _| {})
}

/// [`run_media`] that calls `on_frame` with the path, the kind and the bytes of each frame that
/// counts.
///
/// # Errors
/// As for [`run_media`].
pub fn run_media_observed(
    scenario: &MediaScenario,
    treatment: impl Into<MediaTreatment>,
    seed: Seed,
    on_frame: &mut dyn FnMut(PathId, FrameKind, u32),
) -> Result<MediaOutcome, RunError> {
    let media = &scenario.media;
    let start = media_start(scenario, seed);
    let schedule = Schedule::new(media, start);
    let endpoint = EndpointConfig {
        seed: seed.child("overlay"),
        ..scenario.endpoint(treatment)
    };
    let mut pairs = HostPairs::new(build(scenario, seed)?, &endpoint);
    pairs.add(
        Source::new(schedule.clone()),
        Sink::new(schedule),
        &endpoint,
    )?;
    let end = start + media.duration + media.longest_deadline();
    let mut listener = WireListener {
        start,
        end,
        wire: WireUse::of_paths(scenario.paths.len()),
        on_frame,
    };
    let mut now = Time::ZERO;
    while now < end + MEDIA_DRAIN {
        now = (now + STEP).min(end + MEDIA_DRAIN);
        pairs.run_until(now, &mut listener);
        pairs.fits_memory()?;
    }
    let deliveries = pairs.clients().next().map_or(&[][..], Sink::deliveries);
    Ok(MediaOutcome::new(media, start, deliveries, listener.wire))
}

/// The time of the first packet of the run with this seed.
#[must_use]
pub fn media_start(scenario: &MediaScenario, seed: Seed) -> Time {
    let spread = scenario.media.start_spread.as_secs_f64();
    let late = seed.stream("media/start").uniform() * spread;
    Time::ZERO + scenario.media.warm_up + Duration::from_secs_f64(late)
}

/// Counts the frames that both endpoints send from the start to the end of the stream.
struct WireListener<'a> {
    start: Time,
    end: Time,
    wire: WireUse,
    on_frame: &'a mut dyn FnMut(PathId, FrameKind, u32),
}

impl Listener<Sink> for WireListener<'_> {
    fn on_event(&mut self, now: Time, _: u32, event: &SimEvent) {
        if let SimEvent::Overlay {
            side,
            event: Event::FrameOut { path, kind, len },
        } = event
            && (self.start..=self.end).contains(&now)
        {
            self.wire.add(*side, WireKind::Frame(*kind), *len);
            self.wire.add_to_path(*side, path.index(), (*len).into());
            (self.on_frame)(*path, *kind, *len);
        }
    }

    fn on_client(&mut self, _: Time, _: u32, _: &Sink) {}
}

#[cfg(test)]
mod tests;
