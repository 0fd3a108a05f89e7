//! Spaced packets: datagrams whose spacing the receiver's feedback sets (packet-spacing paper).

use polypath_core::spacing::{
    AdaptiveConfig, Attribution, ControlConfig, Counting, CubicConfig, MAX_RTT, MIN_RTT, RttSource,
    SenderConfig, SpacingError,
};
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Direction, FlowPacket, TrafficKind};
use crate::check::bounds::{MIN_GAP, at_most_a_day};
use crate::check::{check_packet, check_rate};
use crate::network::graph::GraphLink;
use crate::tcp::Tcp;
use polypath_document::Problems;

/// Spaced packets and their feedback, with the packet-spacing paper's numbers where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spaced {
    /// The size of a packet on the wire.
    pub packet: Bytes,
    /// The spacing controller.
    pub control: Control,
    /// The gap from the end of a packet to the start of the next: constant if fixed, else the
    /// initial one. With `cubic` it is that between starts, and 0 stands for 10 ms.
    #[serde(default)]
    pub spacing: Duration,
    /// The spacing after a loss at 0; the paper's is 50 us.
    #[serde(default = "default_first")]
    pub first: Duration,
    /// The decrease of the spacing in a round-trip time without loss; the paper's is 2 us.
    #[serde(default = "default_step")]
    pub step: Duration,
    /// With `cubic`: the round-trip time, without queueing, of the TCP whose share a sender takes;
    /// by default 40 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_rtt: Option<Duration>,
    /// With `cubic`: the queueing delay that counts as congestion, by default 30 ms; 0 for losses
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queue: Option<Duration>,
    /// The rate from which a packet's own time follows; else that of the flow's first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<Rate>,
    /// The use of feedback.
    #[serde(default)]
    pub feedback: Feedback,
}

/// The controller of the spacing between packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Nothing: it stays; there is no feedback (packet-spacing paper, 3.2).
    Fixed,
    /// Doubles on loss, lowers by a step without (packet-spacing paper, 2.1).
    AdHoc,
    /// The same, but reverts a decrease that led to loss (packet-spacing paper, 2.2).
    Damped,
    /// Grows and reduces the rate as CUBIC does (RFC 9438), and limits the queueing delay.
    Cubic,
}

impl Control {
    /// The name in files.
    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::AdHoc => "ad-hoc",
            Self::Damped => "damped",
            Self::Cubic => "cubic",
        }
    }
}

/// The generation of feedback, and its interpretation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Feedback {
    /// The size of a feedback and of the answer to a ping on the wire; a ping has that of a packet.
    pub size: Bytes,
    /// The base round-trip time, with the transmission of a packet and of its feedback; else a ping
    /// measures it before the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Duration>,
    /// The round-trip time that sets the interval of feedback and bounds the spacing.
    pub rtt: RttSource,
    /// The counting of sent packets.
    pub counting: Counting,
    /// The spacing to which a loss is attributed.
    pub attribution: Attribution,
    /// The reordering tolerance in packets: a packet is lost once one has arrived that is this much
    /// newer; the paper's is 0.
    #[schemars(range(max = 64))]
    pub reordering: u32,
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            size: Bytes(40),
            base_rtt: None,
            rtt: RttSource::default(),
            counting: Counting::default(),
            attribution: Attribution::default(),
            reordering: 0,
        }
    }
}

impl Spaced {
    /// The sender at the start of a link of this rate; `None` if neither the file nor the link has
    /// one.
    #[must_use]
    pub fn sender(&self, first_link: Option<Rate>) -> Option<SenderConfig> {
        let control = self.control_config();
        Some(SenderConfig {
            line_rate: Some(self.line_rate.or(first_link)?),
            base_rtt: self.feedback.base_rtt.filter(|_| control.is_adaptive()),
            rtt: self.feedback.rtt,
            counting: self.feedback.counting,
            // A simulated driver is never late.
            catch_up: Duration::ZERO,
            ..SenderConfig::new(control, self.packet)
        })
    }

    fn control_config(&self) -> ControlConfig {
        let adaptive = AdaptiveConfig {
            initial: self.spacing,
            first: self.first,
            step: self.step,
            attribution: self.feedback.attribution,
        };
        match self.control {
            Control::Fixed => ControlConfig::Fixed {
                spacing: self.spacing,
            },
            Control::AdHoc => ControlConfig::AdHoc(adaptive),
            Control::Damped => ControlConfig::Damped(adaptive),
            Control::Cubic => ControlConfig::Cubic(self.cubic()),
        }
    }

    fn cubic(&self) -> CubicConfig {
        let usual = CubicConfig::default();
        CubicConfig {
            initial: match self.spacing {
                Duration::ZERO => usual.initial,
                spacing => spacing,
            },
            reference_rtt: self.reference_rtt.unwrap_or(usual.reference_rtt),
            max_queue: self.max_queue.unwrap_or(usual.max_queue),
        }
    }

    /// Whether anything comes back.
    #[must_use]
    pub fn has_feedback(&self) -> bool {
        self.control != Control::Fixed
    }
}

impl TrafficKind for Spaced {
    fn check(&self, key: &str, problems: &mut Problems) {
        let at = |leaf: &str| format!("{key}.{leaf}");
        check_packet(&at("packet"), self.packet, problems);
        check_packet(&at("feedback.size"), self.feedback.size, problems);
        if let Some(rate) = self.line_rate {
            check_rate(&at("line_rate"), rate, problems);
        }
        for (leaf, span) in [
            ("spacing", self.spacing),
            ("first", self.first),
            ("step", self.step),
        ] {
            at_most_a_day(&at(leaf), span, problems);
        }
        check_unused(key, self, problems);
        if self.has_feedback() {
            check_base_rtt(&at("feedback.base_rtt"), self, problems);
            check_control(key, self, problems);
        }
    }

    fn check_first_link(&self, key: &str, first: &GraphLink, problems: &mut Problems) -> bool {
        let link = &first.link;
        let Some(sender) = self.sender(link.rate.filter(|_| link.trace.is_none())) else {
            let message = format!("the rate of link `{}` varies", first.name);
            let remedy = "set `line_rate`, which gives the transmission time of a packet";
            problems.report(key, message, remedy);
            return false;
        };
        let rate = sender.line_rate.unwrap_or_default();
        let is_short = rate.transmission_time(self.packet) < MIN_GAP;
        if is_short {
            let message = format!(
                "packets of {} at {rate} take less than {MIN_GAP}",
                self.packet
            );
            let remedy = "make `packet` larger, or set a lower `line_rate`";
            problems.report(&format!("{key}.packet"), message, remedy);
        }
        !is_short
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        let feedback = FlowPacket::new(
            Direction::Back,
            "feedback",
            self.feedback.size,
            "traffic.feedback.size",
        );
        let packet = FlowPacket::new(Direction::There, "packet", self.packet, "traffic.packet");
        let feedback = self.has_feedback().then_some(feedback);
        feedback.into_iter().chain([packet]).collect()
    }

    fn needs_return_route(&self) -> bool {
        self.has_feedback()
    }
}

fn check_base_rtt(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let known = spaced.feedback.base_rtt;
    if let Some(rtt) = known.filter(|rtt| !(MIN_RTT..=MAX_RTT).contains(rtt)) {
        let message = format!("`base_rtt` is {rtt}; it can be {MIN_RTT} to {MAX_RTT}");
        let remedy =
            "set it to the round-trip time of the unloaded path, or remove it: a ping measures it";
        problems.report(key, message, remedy);
    }
}

/// Reports what the controller does not accept.
fn check_control(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let Err(error) = spaced.control_config().check() else {
        return;
    };
    let leaf = match error {
        SpacingError::First => "first",
        SpacingError::ReferenceRtt(_) => "reference_rtt",
        SpacingError::MaxQueue(_) => "max_queue",
        SpacingError::Initial(_) | SpacingError::MaxWait(_) | SpacingError::Spacing { .. } => {
            "spacing"
        }
    };
    problems.report(&format!("{key}.{leaf}"), error.to_string(), error.remedy());
}

/// Reports keys that are set although the controller does not use them.
fn check_unused(key: &str, spaced: &Spaced, problems: &mut Problems) {
    use Control::{AdHoc, Cubic, Damped};
    const ADAPTIVE: &[Control] = &[AdHoc, Damped, Cubic];
    const OF_PAPER: &[Control] = &[AdHoc, Damped];
    const CUBIC: &[Control] = &[Cubic];
    let attribution = spaced.feedback.attribution;
    for (leaf, is_set, users) in [
        ("first", spaced.first != default_first(), OF_PAPER),
        ("step", spaced.step != default_step(), OF_PAPER),
        ("reference_rtt", spaced.reference_rtt.is_some(), CUBIC),
        ("max_queue", spaced.max_queue.is_some(), CUBIC),
        ("feedback", spaced.feedback != Feedback::default(), ADAPTIVE),
        (
            "feedback.attribution",
            attribution != Attribution::default() && spaced.control == Cubic,
            OF_PAPER,
        ),
        (
            "feedback.counting",
            spaced.feedback.counting != Counting::default() && spaced.control == Cubic,
            OF_PAPER,
        ),
    ] {
        if is_set && !users.contains(&spaced.control) {
            let control = spaced.control.name();
            let message = format!("`{leaf}` has no effect while `control` is \"{control}\"");
            let users: Vec<_> = users
                .iter()
                .map(|user| format!("\"{}\"", user.name()))
                .collect();
            let remedy = format!("remove it, or let `control` be {}", users.join(" or "));
            problems.report(&format!("{key}.{leaf}"), message, remedy);
        }
    }
}

fn default_first() -> Duration {
    AdaptiveConfig::default().first
}

fn default_step() -> Duration {
    AdaptiveConfig::default().step
}
