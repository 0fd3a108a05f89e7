//! Spaced packets: datagrams whose spacing the receiver's feedback sets (packet-spacing paper).

use polypath_core::spacing::{
    AdaptiveConfig, Attribution, ControlConfig, Counting, MAX_RTT, MIN_RTT, RttSource, SenderConfig,
};
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Direction, FlowPacket, TrafficKind};
use crate::check::bounds::{MIN_GAP, at_most_a_day};
use crate::check::{check_packet, check_rate, positive};
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
    /// initial one.
    #[serde(default)]
    pub spacing: Duration,
    /// The spacing after a loss at 0; the paper's is 50 us.
    #[serde(default = "default_first")]
    pub first: Duration,
    /// The decrease of the spacing in a round-trip time without loss; the paper's is 2 us.
    #[serde(default = "default_step")]
    pub step: Duration,
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
        let adaptive = AdaptiveConfig {
            initial: self.spacing,
            first: self.first,
            step: self.step,
            attribution: self.feedback.attribution,
        };
        let control = match self.control {
            Control::Fixed => ControlConfig::Fixed {
                spacing: self.spacing,
            },
            Control::AdHoc => ControlConfig::AdHoc(adaptive),
            Control::Damped => ControlConfig::Damped(adaptive),
        };
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

    /// The same, with the defaults of all that feedback steers.
    fn without_feedback(self) -> Self {
        Self {
            first: default_first(),
            step: default_step(),
            feedback: Feedback::default(),
            ..self
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
        if self.has_feedback() {
            positive(&at("first"), self.first, problems);
            check_base_rtt(&at("feedback.base_rtt"), self, problems);
        } else {
            check_unused(key, self, problems);
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

/// Reports feedback keys that are set although the spacing is fixed.
fn check_unused(key: &str, spaced: &Spaced, problems: &mut Problems) {
    let unset = spaced.without_feedback();
    for (leaf, is_set) in [
        ("first", spaced.first != unset.first),
        ("step", spaced.step != unset.step),
        ("feedback", spaced.feedback != unset.feedback),
    ] {
        if is_set {
            let message = format!("`{leaf}` has no effect while the spacing is fixed");
            let remedy = "remove it, or let `control` be \"ad-hoc\" or \"damped\"";
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
