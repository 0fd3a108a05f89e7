//! The paper's topology (3.1, Fig. 6): senders on a fast Ethernet, a gateway with a small buffer, a
//! wide-area link.

mod text;

use polypath_claims::JobError;
use polypath_core::spacing::{Attribution, Counting};
use polypath_scenario::Network;
use polypath_scenario::network::traffic::spaced::Control;
use serde::Serialize;

/// The size of a packet on the wire in bytes, of media and of TCP: near the sizes that the paper's
/// numbers imply (table `implied` of `psp.sensitivity`), and one that ns-2 ran.
pub(crate) const PACKET: u32 = 1400;
/// The variant of TCP, as scenarios write it; the paper names none.
const VARIANT: &str = "sack";
/// The rate of a sender's link in Mb/s (3.1).
pub(crate) const ACCESS: f64 = 100.0;
/// The rate of the shared link in Mb/s (3.1).
pub(crate) const SHARED: u32 = 155;
/// The gateway's buffer in packets (3.1).
const BUFFER: u32 = 10;

/// The approximate run time of a packet over its two links, in seconds of one core.
const SECONDS_OF_PACKET: f64 = 8e-8;

/// A run over the topology of Fig. 6: each sender, of media and of TCP, has a node of its own.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Merge {
    /// The datagram senders.
    pub(crate) media: Media,
    /// Endless TCP transfers at the same time.
    pub(crate) tcp: Option<Transfers>,
    /// The size of every data packet on the wire in bytes.
    pub(crate) packet: u32,
    /// The gateway's buffer in packets.
    pub(crate) buffer: u32,
    /// The rate of the shared link in Mb/s.
    pub(crate) shared: u32,
    /// The duration and the warm-up.
    pub(crate) span: Span,
    /// The seed.
    pub(crate) seed: u64,
}

/// The duration of a run and of its warm-up, which is not measured, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Span {
    pub(crate) seconds: u32,
    pub(crate) warm_up: u32,
}

/// Senders of datagrams.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Media {
    /// Without feedback (3.2).
    Fixed {
        senders: u32,
        /// From the end of a packet to the start of the next, in microseconds.
        spacing: u32,
        starts: Starts,
    },
    /// With feedback (2.1, 2.2, 3.3).
    Adaptive {
        senders: u32,
        protocol: Protocol,
        /// The delay in seconds of the second sender's start after the first.
        late: u32,
        /// The span in microseconds within which each sender starts at a random time.
        spread: u32,
    },
}

/// The relative phases of senders with equal spacing, as in validation/reference/spacing.csv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Starts {
    /// All start at once.
    Simul,
    /// Each starts at a random time within 0.1 s and keeps its phase.
    Rand,
    /// The same with clocks that differ by up to 0.5 %: each interval is drawn once.
    Drift,
    /// The same with each interval varied at random by up to half.
    Jitter,
}

/// A packet-spacing protocol with the choices that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Protocol {
    pub(crate) control: Control,
    pub(crate) attribution: Attribution,
    pub(crate) counting: Counting,
}

/// Endless TCP transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Transfers {
    pub(crate) count: u32,
    /// The receiver's window in packets.
    pub(crate) window: u32,
    /// The variant of TCP, as scenarios write it.
    pub(crate) variant: &'static str,
}

impl Starts {
    pub(crate) const ALL: [Self; 4] = [Self::Simul, Self::Rand, Self::Drift, Self::Jitter];

    /// The name in validation/reference/spacing.csv.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Simul => "simul",
            Self::Rand => "rand",
            Self::Drift => "drift",
            Self::Jitter => "jitter",
        }
    }
}

impl Merge {
    /// Senders of a fixed spacing over the paper's topology, for its 500 s.
    pub(crate) const fn fixed(senders: u32, spacing: u32, span: Span, seed: u64) -> Self {
        Self {
            media: Media::Fixed {
                senders,
                spacing,
                starts: Starts::Drift,
            },
            tcp: None,
            packet: PACKET,
            buffer: BUFFER,
            shared: SHARED,
            span,
            seed,
        }
    }

    /// The same with another start mode of senders with a fixed spacing.
    pub(crate) const fn starting(mut self, mode: Starts) -> Self {
        if let Media::Fixed { starts, .. } = &mut self.media {
            *starts = mode;
        }
        self
    }

    /// The same with TCP transfers.
    pub(crate) const fn with_tcp(mut self, count: u32, window: u32) -> Self {
        self.tcp = Some(Transfers {
            count,
            window,
            variant: VARIANT,
        });
        self
    }

    /// Adaptive senders over the same topology.
    pub(crate) const fn adaptive(senders: u32, protocol: Protocol, span: Span, seed: u64) -> Self {
        Self {
            media: Media::Adaptive {
                senders,
                protocol,
                late: 0,
                spread: 100_000,
            },
            ..Self::fixed(senders, 0, span, seed)
        }
    }

    /// The network.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub(crate) fn network(&self) -> Result<Network, JobError> {
        Ok(Network::parse(&self.text(), "packet-spacing.toml", &[])?)
    }

    /// The number of datagram senders.
    pub(crate) const fn senders(&self) -> u32 {
        match self.media {
            Media::Fixed { senders, .. } | Media::Adaptive { senders, .. } => senders,
        }
    }

    /// The time between the starts of two packets of spacing `spacing`, in microseconds.
    pub(crate) fn interval(&self, spacing: f64) -> f64 {
        spacing + f64::from(self.packet) * 8.0 / ACCESS
    }

    /// The rate at which a sender of that spacing sends, in Mb/s.
    pub(crate) fn rate_at(&self, spacing: f64) -> f64 {
        f64::from(self.packet) * 8.0 / self.interval(spacing)
    }

    /// The approximate run time in seconds of one core.
    pub(crate) fn cost(&self) -> f64 {
        let media = match self.media {
            Media::Fixed {
                senders, spacing, ..
            } => f64::from(senders) * self.rate_at(f64::from(spacing)),
            Media::Adaptive { .. } => f64::from(self.shared),
        };
        let tcp = self.tcp.map_or(0.0, |_| 2.0 * f64::from(self.shared));
        let packets =
            (media + tcp) * f64::from(self.span.seconds) * 1e6 / 8.0 / f64::from(self.packet);
        packets * SECONDS_OF_PACKET
    }
}

/// The serialised name of a choice, in quotes.
pub(crate) fn name_of(choice: impl Serialize) -> String {
    // A choice without fields is a name.
    serde_json::to_string(&choice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        seconds: 20,
        warm_up: 1,
    };

    #[test]
    fn every_kind_of_run_is_a_network_with_its_flows() {
        let protocol = Protocol {
            control: Control::Damped,
            attribution: Attribution::Latest,
            counting: Counting::Clock,
        };
        let adaptive = Merge::adaptive(2, protocol, SPAN, 1);
        let late = Media::Adaptive {
            senders: 2,
            protocol,
            late: 10,
            spread: 0,
        };
        let late = Merge {
            media: late,
            ..adaptive.clone()
        };
        let count = |merge: &Merge| {
            let network = merge.network().unwrap();
            network.flows.iter().map(|flow| flow.count).sum::<u32>()
        };
        for starts in Starts::ALL {
            let alone = Merge::fixed(16, 1000, SPAN, 1).starting(starts);
            assert_eq!(count(&alone), 16);
            assert_eq!(count(&alone.with_tcp(10, 800)), 26);
        }
        assert_eq!(count(&adaptive.with_tcp(10, 20)), 12);
        assert_eq!(count(&late), 2);
    }

    #[test]
    fn a_packet_takes_its_time_besides_the_spacing() {
        let merge = Merge::fixed(1, 0, SPAN, 1);
        assert!((merge.rate_at(0.0) - ACCESS).abs() < 1e-9);
        assert!((merge.rate_at(1000.0) - 11.2 / 1.112).abs() < 1e-9);
    }
}
