//! Links that go up and down.

use polypath_core::rng::{Seed, Stream};

use super::config::{Fading, Outage, RoundModelConfig};

/// The state of the links in the current round.
#[derive(Clone, Debug)]
pub(super) struct Links {
    processes: Vec<Process>,
    outage: Outage,
    /// The fraction of the current round in which each link is down.
    down: Vec<f64>,
}

/// One link.
#[derive(Clone, Debug)]
struct Process {
    fading: Fading,
    up: bool,
    /// The next change of state, in rounds from the start of the current one.
    changes: f64,
    stream: Stream,
}

impl Links {
    pub(super) fn new(config: &RoundModelConfig, seed: Seed) -> Self {
        let process = |link: u32| {
            let stream = seed.stream(&format!("rounds/link/{link}"));
            Some(Process::new(config.fading?, stream))
        };
        Self {
            processes: (0..config.links).filter_map(process).collect(),
            outage: config.outage,
            down: vec![0.0; config.links as usize],
        }
    }

    /// Advances the links by a round.
    pub(super) fn advance(&mut self) {
        for (process, down) in self.processes.iter_mut().zip(&mut self.down) {
            *down = process.advance();
            if self.outage == Outage::Window && *down > 0.0 {
                *down = 1.0;
            }
        }
    }

    pub(super) fn any_down(&self) -> bool {
        self.down.iter().any(|&down| down > 0.0)
    }

    /// The number of links that are down for a part of the round.
    pub(super) fn down(&self) -> u32 {
        let down = self.down.iter().filter(|&&down| down > 0.0);
        u32::try_from(down.count()).unwrap_or(u32::MAX)
    }

    /// The links that are down for a part of the round, as bits.
    pub(super) fn down_set(&self) -> u8 {
        let down = (0..).zip(&self.down).filter(|(_, down)| **down > 0.0);
        down.fold(0, |set, (link, _): (u32, _)| set | 1 << link)
    }

    /// The number of packets that a link carries of those offered.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count lies between 0 and the count"
    )]
    pub(super) fn carried(&self, link: u32, offered: u64, capacity: u64) -> u64 {
        let up = 1.0 - self.down[link as usize];
        (up * offered.min(capacity) as f64).round() as u64
    }
}

impl Process {
    fn new(fading: Fading, mut stream: Stream) -> Self {
        Self {
            fading,
            up: true,
            changes: stream.exponential(fading.up),
            stream,
        }
    }

    /// The fraction of the next round in which it is down.
    fn advance(&mut self) -> f64 {
        let (mut from, mut down) = (0.0, 0.0);
        while self.changes < 1.0 {
            if !self.up {
                down += self.changes - from;
            }
            from = self.changes;
            self.up = !self.up;
            let Fading { up, down } = self.fading;
            self.changes += self.stream.exponential(if self.up { up } else { down });
        }
        if !self.up {
            down += 1.0 - from;
        }
        self.changes -= 1.0;
        down
    }
}
