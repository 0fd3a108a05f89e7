//! Fades at random times, of one length: all packets are lost while the link fades.

use alloc::vec::Vec;

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::ErrorModel;
use super::on_off::sojourn;
use crate::config_error::{ConfigError, lasting, probability};

/// Fades of a fixed length with exponential times between them; all packets are lost in a fade.
/// Both directions of a duplex link fade at the same times.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct Fades {
    /// The length of each fade.
    pub length: Duration,
    /// The share of the time in which the link fades, from 0 to 1.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 1.0)))]
    pub share: f64,
}

impl Fades {
    /// The problems of the configuration.
    #[must_use]
    pub fn problems(&self) -> Vec<ConfigError> {
        let length = lasting("fades.length", self.length);
        length
            .into_iter()
            .chain(probability("fades.share", self.share))
            .collect()
    }

    /// The mean time from the end of a fade to the next.
    fn mean_pause(&self) -> Duration {
        Duration::from_secs_f64(self.length.as_secs_f64() * (1.0 - self.share) / self.share)
    }
}

/// The current or next fade, advanced when a packet queries it; the run starts without one.
#[derive(Clone, Debug)]
pub(crate) struct FadeProcess {
    config: Fades,
    begin: Time,
    stream: Stream,
}

impl FadeProcess {
    pub(crate) fn new(config: Fades, mut stream: Stream) -> Self {
        let begin = Time::ZERO + sojourn(&mut stream, config.mean_pause());
        Self {
            config,
            begin,
            stream,
        }
    }
}

impl ErrorModel for FadeProcess {
    fn loses(&mut self, at: Time) -> bool {
        while self.begin + self.config.length <= at {
            let pause = sojourn(&mut self.stream, self.config.mean_pause());
            self.begin = self.begin + self.config.length + pause;
        }
        self.begin <= at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    const FADES: Fades = Fades {
        length: Duration::from_millis(50),
        share: 0.03,
    };

    /// Whether the link fades in each millisecond.
    fn fades(config: Fades, milliseconds: u64) -> impl Iterator<Item = bool> {
        let mut process = FadeProcess::new(config, Seed(3).stream("fades"));
        (0..milliseconds).map(move |ms| process.loses(Time(ms * 1_000_000)))
    }

    /// The number of fades in a time T has the variance T v / m^3 of a renewal process, where m and
    /// v are the mean and the variance of the time from fade to fade.
    #[test]
    fn fades_for_its_share_of_the_time() {
        let milliseconds = 4_000_000;
        let faded = fades(FADES, milliseconds).filter(|fades| *fades).count() as f64;
        let (cycle, pause) = (0.05 / 0.03, 0.05 * 0.97 / 0.03);
        let count_sd = f64::sqrt(4000.0 * pause * pause / (cycle * cycle * cycle));
        let bound = 4.0 * count_sd * 0.05 / 4000.0;
        let share = faded / milliseconds as f64;
        assert!((share - 0.03).abs() < bound, "{share} {bound}");
    }

    #[test]
    fn every_fade_has_the_same_length() {
        let seen: Vec<bool> = fades(FADES, 200_000).collect();
        let runs = seen.chunk_by(|a, b| a == b).filter(|run| run[0]);
        let lengths: Vec<usize> = runs.map(<[bool]>::len).collect();
        assert!(lengths.len() > 50, "{lengths:?}");
        // Two fades that are less than a millisecond apart look like one.
        assert!(lengths.iter().all(|length| length % 50 == 0), "{lengths:?}");
    }

    #[test]
    fn more_frequent_queries_change_nothing() {
        let mut rarely = FadeProcess::new(FADES, Seed(3).stream("fades"));
        for (ms, state) in (0..).zip(fades(FADES, 50_000)) {
            if ms % 7 == 0 {
                assert_eq!(state, rarely.loses(Time(ms * 1_000_000)));
            }
        }
    }

    #[test]
    fn shares_of_nothing_and_of_everything_are_possible() {
        let with = |share| Fades { share, ..FADES };
        assert_eq!(
            fades(with(1.0), 1000)
                .skip(1)
                .filter(|fades| !fades)
                .count(),
            0
        );
        assert_eq!(fades(with(0.0), 100_000).filter(|fades| *fades).count(), 0);
        assert_eq!(with(1.1).problems().len(), 1);
        assert_eq!(with(f64::NAN).problems().len(), 1);
    }
}
