//! The network of a run over Fig. 6 as TOML.

use super::{Media, Merge, Protocol, Starts, name_of};

/// A flow table of adaptive senders.
#[derive(Clone, Copy)]
struct Senders<'a> {
    name: &'a str,
    count: u32,
    from: &'a str,
    /// The start in seconds.
    start: u32,
}

const SPREAD: &str = "start_spread = \"100 ms\"\n";

impl Starts {
    /// The additional keys of the traffic's table and of the flow's.
    const fn keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Simul => ("", ""),
            Self::Rand => ("", SPREAD),
            Self::Drift => (", drift = 0.005", SPREAD),
            Self::Jitter => (", jitter = 0.5", SPREAD),
        }
    }
}

impl Merge {
    pub(crate) fn text(&self) -> String {
        let Self { packet, span, .. } = self;
        let nodes = self.senders() + self.tcp.map_or(0, |tcp| tcp.count);
        let (window, variant) = self
            .tcp
            .map_or((20, "reno"), |tcp| (tcp.window, tcp.variant));
        format!(
            "schema = 1\nname = \"packet-spacing\"\n\
             [run]\nduration = \"{} s\"\nwarm_up = \"{} s\"\nbatches = 2\n\
             [topology]\npreset = \"merge\"\nsenders = {nodes}\n\
             access = {{ rate = \"100 Mbit/s\", delay = \"2 ms\", queue = \"1000000 packets\" }}\n\
             bottleneck = {{ rate = \"{} Mbit/s\", delay = \"40 ms\", queue = \"{} packets\" }}\n\
             [tcp]\nvariant = \"{variant}\"\nsegment = \"{packet} B\"\nreceiver_window = {window}\n{}{}",
            span.seconds,
            span.warm_up,
            self.shared,
            self.buffer,
            self.media_text(),
            self.tcp_text(),
        )
    }

    fn media_text(&self) -> String {
        match self.media {
            Media::Fixed {
                senders,
                spacing,
                starts,
            } => {
                let interval = self.interval(f64::from(spacing)) * 1e3;
                let (traffic, flow) = starts.keys();
                let packet = self.packet;
                format!(
                    "[[flow]]\nname = \"media\"\ncount = {senders}\nfrom = \"sender{{}}\"\nto = \"sink\"\n{flow}\
                     traffic = {{ kind = \"cbr\", packet = \"{packet} B\", interval = \"{interval:.0} ns\"{traffic} }}\n"
                )
            }
            Media::Adaptive {
                senders,
                protocol,
                late: 0,
                spread,
            } => self.adaptive_text(
                protocol,
                spread,
                Senders {
                    name: "media",
                    count: senders,
                    from: "sender{}",
                    start: 0,
                },
            ),
            Media::Adaptive {
                protocol,
                late,
                spread,
                ..
            } => {
                let first = self.adaptive_text(
                    protocol,
                    spread,
                    Senders {
                        name: "first",
                        count: 1,
                        from: "sender0",
                        start: 0,
                    },
                );
                first
                    + &self.adaptive_text(
                        protocol,
                        spread,
                        Senders {
                            name: "late",
                            count: 1,
                            from: "sender1",
                            start: late,
                        },
                    )
            }
        }
    }

    fn adaptive_text(&self, protocol: Protocol, spread: u32, senders: Senders<'_>) -> String {
        let Senders {
            name,
            count,
            from,
            start,
        } = senders;
        let packet = self.packet;
        let (control, attribution, counting) = (
            name_of(protocol.control),
            name_of(protocol.attribution),
            name_of(protocol.counting),
        );
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"{from}\"\nto = \"sink\"\n\
             start = \"{start} s\"\nstart_spread = \"{spread} us\"\n\
             traffic = {{ kind = \"spaced\", packet = \"{packet} B\", control = {control}, \
             feedback = {{ attribution = {attribution}, counting = {counting} }} }}\n"
        )
    }

    fn tcp_text(&self) -> String {
        let Some(tcp) = self.tcp else {
            return String::new();
        };
        let (count, first) = (tcp.count, self.senders());
        format!(
            "[[flow]]\nname = \"tcp\"\ncount = {count}\nfrom = \"sender{{+{first}}}\"\nto = \"sink\"\n\
             start_spread = \"1 s\"\ntraffic = {{ kind = \"ftp\" }}\n"
        )
    }
}
