//! The parameters of a run over Fig. 6, with the source of each choice.

use crate::jobs::psp::merge::{ACCESS, Media, Merge, PACKET, Protocol, Starts, name_of};

/// The descriptions of the start modes, for tables that name them.
pub(super) const STARTS: &str = "Start modes: `simul`, all senders at once; `rand`, each at a \
                                 random time within 0.1 s, with equal periods and therefore \
                                 constant phases; `drift`, like `rand`, but clocks differ by up to \
                                 0.5 %, so phases change; `jitter`, like `rand`, but each interval \
                                 varies randomly by up to half.";

/// The descriptions of the interpretations of the protocol, for tables that name them.
pub(super) const READINGS: &str = "Interpretations of Fig. 4: `when-sent`, a loss is attributed to \
                                   the spacing at which its packet was sent, so each loss has one \
                                   reaction; `latest`, each feedback with loss doubles the latest \
                                   spacing. `range`: the sent packets are those of the sequence \
                                   numbers that a feedback covers; `clock`: those sent so long ago \
                                   that they would have arrived without queues, so a packet in a \
                                   queue counts as lost.";

impl Merge {
    /// The parameters of runs like this one, each with its source; `time` is the source of their
    /// length.
    pub(super) fn parameters(&self, time: &str) -> Vec<[String; 2]> {
        let access = format!("{ACCESS} Mb/s, 2 ms; stated (3.1, Fig. 6)");
        let shared = format!("{} Mb/s, 40 ms; stated (3.1, Fig. 6)", self.shared);
        let buffer = format!(
            "{} packets, stated (3.1); not counting the one in transmission, drop-tail: chosen",
            self.buffer
        );
        let span = self.span;
        let named = [
            ("sender's link", access),
            ("shared link", shared),
            ("gateway's buffer", buffer),
            ("packet", self.packet_text()),
            ("senders", self.senders_text()),
            ("TCP", self.transfers_text()),
            (
                "a run",
                format!(
                    "{} s, the first {} s not measured; {time}",
                    span.seconds, span.warm_up
                ),
            ),
        ];
        named.map(|(name, value)| [name.to_owned(), value]).to_vec()
    }

    fn packet_text(&self) -> String {
        let chosen = match self.packet {
            PACKET => "chosen: table `implied` of psp.sensitivity",
            _ => "chosen",
        };
        format!("{} B on the wire, media and TCP; {chosen}", self.packet)
    }

    fn senders_text(&self) -> String {
        match self.media {
            Media::Fixed {
                senders, starts, ..
            } => format!(
                "{senders} of a fixed spacing, stated (3.2); start mode `{}`, {}",
                starts.name(),
                starts.why()
            ),
            Media::Adaptive {
                senders,
                protocol,
                late,
                spread,
            } => {
                let late = match late {
                    0 => String::new(),
                    late => format!("; the second {late} s later, stated (3.3)"),
                };
                format!(
                    "{senders}, {}; start within {} s, chosen{late}",
                    protocol.text(),
                    f64::from(spread) / 1e6
                )
            }
        }
    }

    fn transfers_text(&self) -> String {
        self.tcp.map_or_else(
            || "none".to_owned(),
            |tcp| {
                format!(
                    "{}, stated (3.2.3, 3.3.2); window of {} packets, as in 3.2.3; {} without end, \
                     on separate nodes, started within 1 s: chosen",
                    tcp.count, tcp.window, tcp.variant
                )
            },
        )
    }
}

impl Starts {
    /// The reason for the start mode of a figure.
    const fn why(self) -> &'static str {
        match self {
            Self::Simul => "all at once: with one sender there is nothing to choose",
            Self::Rand | Self::Jitter => "for comparison",
            Self::Drift => {
                "within 0.1 s and with clocks that differ by up to 0.5 %: chosen, table `starts` of psp.fig8_9"
            }
        }
    }
}

impl Protocol {
    fn text(self) -> String {
        let names = [
            name_of(self.control),
            name_of(self.attribution),
            name_of(self.counting),
        ];
        let [control, attribution, counting] = names.map(|name| name.replace('"', ""));
        format!(
            "{control} (2.1, 2.2, Fig. 4), step of 2 us; interpretations `{attribution}` and \
             `{counting}`: chosen"
        )
    }
}
