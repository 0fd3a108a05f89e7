//! The networks: a sender and a traffic generator whose links meet at a router, and the link from
//! there to the receiver (the paper's Fig. 3; of the Internet experiments a model).

use polypath_claims::JobError;
use polypath_core::connections::{ControllerConfig, PlayOutConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_scenario::Network;
use polypath_scenario::network::{Striped, Traffic};
use serde::Serialize;

use super::parameters::SEGMENT;

/// A run: a stream among other traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Setting {
    pub(crate) links: Links,
    pub(crate) stream: Stream,
    /// The other traffic, in the order of its starts.
    pub(crate) cross: Vec<CrossTraffic>,
    /// The parameters of all TCP connections.
    pub(crate) hosts: Hosts,
    /// The duration in seconds.
    pub(crate) seconds: u32,
    /// The seed of all random streams.
    pub(crate) seed: u64,
}

/// The links; queues of one kind and limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Links {
    /// From the sender to the router, from the traffic generator to it, and from there to the
    /// receiver.
    pub(crate) sender: Wire,
    pub(crate) generator: Wire,
    pub(crate) receiver: Wire,
    pub(crate) queue: Queue,
}

/// The queue of a link; its limit is in packets, that in transmission included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Queue {
    DropTail(u32),
    /// RED in packets (Floyd and Jacobson 1993), with the other defaults of ns-2.
    Red(u32),
    /// RED with all defaults of ns-2, which count the queue in bytes: its limit is this number of
    /// packets of 500 B.
    RedInBytes(u32),
}

/// The rate of a link in kb/s and its propagation delay in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Wire {
    pub(crate) kbits: u32,
    pub(crate) delay: u32,
}

/// The stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Stream {
    /// The rate of the media in kb/s.
    pub(crate) kbits: u32,
    pub(crate) by: StreamCarrier,
    /// The rate to which the server limits a connection in kb/s, if it does.
    pub(crate) limit: Option<u32>,
    /// The seconds of a pre-buffer and of a re-buffer, if it is played.
    pub(crate) play: Option<[u32; 2]>,
}

/// The connections that carry the stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamCarrier {
    /// Connections under a controller.
    Controller(ControllerConfig),
    /// This number of endless plain TCP transfers in place of the stream.
    Transfers(u32),
    /// No stream.
    Nothing,
}

/// Traffic from the generator to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct CrossTraffic {
    pub(crate) what: CrossKind,
    /// The start in ms.
    pub(crate) from: u32,
    /// The end in ms.
    pub(crate) to: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CrossKind {
    /// Datagrams of a constant rate in kb/s.
    Udp(u32),
    /// This number of endless TCP transfers.
    Tcp(u32),
}

/// The parameters of all TCP connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Hosts {
    pub(crate) variant: &'static str,
    /// The maximum random time before a packet is sent, in microseconds.
    pub(crate) overhead: u32,
    /// The receiver window of the other transfers in segments.
    pub(crate) window: u32,
    /// The random variation of the intervals between datagrams, as a share of them.
    pub(crate) jitter: f64,
}

/// The size in bytes that ns-2 assumes of a packet by default.
const MEAN_PACKET: u32 = 500;
/// The span in seconds within which a transfer starts at a random time.
const SPREAD: u32 = 1;

impl Hosts {
    /// ns-2's Reno, with a random time of up to that of a packet on a link of `kbits` before it
    /// sends: that much breaks the phases of a drop-tail queue before such a link (Floyd and
    /// Jacobson 1991).
    pub(crate) const fn reno(kbits: u32) -> Self {
        Self {
            variant: "reno",
            overhead: SEGMENT * 8000 / kbits,
            window: 20,
            jitter: 0.0,
        }
    }
}

impl Setting {
    /// The network.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub(crate) fn network(&self) -> Result<Network, JobError> {
        let mut network = Network::parse(&self.text(), "multitcp.toml", &[])?;
        if let StreamCarrier::Controller(controller) = self.stream.by {
            network.flows[0].traffic = Traffic::Striped(self.striped(controller));
        }
        Ok(network)
    }

    fn striped(&self, controller: ControllerConfig) -> Striped {
        let Stream { kbits, limit, .. } = self.stream;
        let rate = |kbits: u32| Rate(u64::from(kbits) * 1000);
        Striped {
            rate: rate(kbits),
            controller,
            buffer: 4096,
            connection_limit: limit.map(rate),
            play_out: self.play_out(),
        }
    }

    /// The player, if the stream is played.
    pub(crate) fn play_out(&self) -> Option<PlayOutConfig> {
        let seconds = |s: u32| Duration::from_secs(u64::from(s));
        let [prebuffer, rebuffer] = self.stream.play?;
        Some(PlayOutConfig {
            prebuffer: seconds(prebuffer),
            rebuffer: seconds(rebuffer),
            refill: 0,
        })
    }

    /// The network as TOML, with an FTP in place of a stream with a controller.
    fn text(&self) -> String {
        let Self {
            links,
            hosts,
            seconds,
            ..
        } = self;
        let spans = (*seconds).min(1000);
        format!(
            "schema = 1\nname = \"multitcp\"\n\
             [run]\nduration = \"{seconds} s\"\nbatches = {spans}\n\
             [tcp]\nvariant = \"{}\"\nsegment = \"{SEGMENT} B\"\noverhead = \"{} us\"\nreceiver_window = {}\n{}{}{}{}{}",
            hosts.variant,
            hosts.overhead,
            hosts.window,
            link_text("sender", "router", links.sender, links.queue),
            link_text("generator", "router", links.generator, links.queue),
            link_text("router", "receiver", links.receiver, links.queue),
            self.stream_text(),
            self.cross_text(),
        )
    }

    fn stream_text(&self) -> String {
        let count = match self.stream.by {
            StreamCarrier::Nothing => return String::new(),
            StreamCarrier::Controller(_) => 1,
            StreamCarrier::Transfers(count) => count,
        };
        format!(
            "[[flow]]\nname = \"stream\"\ncount = {count}\nfrom = \"sender\"\nto = \"receiver\"\n\
             traffic = {{ kind = \"ftp\" }}\n"
        )
    }

    fn cross_text(&self) -> String {
        let numbered = self.cross.iter().enumerate();
        numbered
            .map(|(number, cross)| self.one_cross(number, cross))
            .collect()
    }

    fn one_cross(&self, number: usize, CrossTraffic { what, from, to }: &CrossTraffic) -> String {
        let (count, traffic, spread) = match what {
            CrossKind::Udp(kbits) => {
                let interval = f64::from(SEGMENT) * 8e6 / f64::from(*kbits);
                let jitter = self.hosts.jitter;
                let traffic = format!(
                    "{{ kind = \"cbr\", packet = \"{SEGMENT} B\", interval = \"{interval:.0} ns\", jitter = {jitter:?} }}"
                );
                (1, traffic, 0)
            }
            CrossKind::Tcp(count) => (*count, "{ kind = \"ftp\" }".to_owned(), SPREAD),
        };
        format!(
            "[[flow]]\nname = \"cross{number}\"\ncount = {count}\nfrom = \"generator\"\nto = \"receiver\"\n\
             start = \"{from} ms\"\nstart_spread = \"{spread} s\"\nstop = \"{to} ms\"\ntraffic = {traffic}\n"
        )
    }

    /// The packets that the last link carries at most, to which the run time is proportional.
    pub(crate) fn packets(&self) -> f64 {
        let kbits = f64::from(self.links.receiver.kbits);
        kbits * 125.0 / f64::from(SEGMENT) * f64::from(self.seconds)
    }
}

fn link_text(from: &str, to: &str, wire: Wire, queue: Queue) -> String {
    let queue = match queue {
        Queue::DropTail(limit) => format!("\"{limit} packets\""),
        Queue::Red(limit) => format!("{{ kind = \"red\", limit = \"{limit} packets\" }}"),
        Queue::RedInBytes(limit) => {
            format!(
                "{{ kind = \"red\", limit = \"{} B\" }}",
                limit * MEAN_PACKET
            )
        }
    };
    format!(
        "[[link]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{} kbit/s\"\ndelay = \"{} ms\"\n\
         queue = {queue}\n",
        wire.kbits, wire.delay
    )
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{adjust, table_1};
    use super::*;

    #[test]
    fn a_setting_is_a_network_that_can_be() {
        let wire = Wire {
            kbits: 6000,
            delay: 20,
        };
        let cross = [CrossKind::Udp(5500), CrossKind::Tcp(15)].map(|what| CrossTraffic {
            what,
            from: 500,
            to: 900,
        });
        let setting = Setting {
            links: Links {
                sender: wire,
                generator: wire,
                receiver: wire,
                queue: Queue::Red(50),
            },
            stream: Stream {
                kbits: 800,
                by: StreamCarrier::Controller(adjust(2, table_1())),
                limit: Some(480),
                play: Some([10, 5]),
            },
            cross: cross.to_vec(),
            hosts: Hosts::reno(6000),
            seconds: 2,
            seed: 1,
        };
        let network = setting.network().unwrap();
        assert_eq!(network.flows.len(), 3);
        assert!(matches!(network.flows[0].traffic, Traffic::Striped(_)));
        assert_eq!(network.flows[2].count, 15);
    }
}
