//! The parameters of a run on the testbed, with the source of each choice.

use super::sweep::Load;
use crate::jobs::delay_centric::testbed::{FirstPaths, PACKET, SOURCES, Testbed};

impl Testbed {
    /// The parameters of runs under this load, each with its source.
    pub(super) fn parameters(load: Load) -> Vec<[String; 2]> {
        let choices = load.choices;
        let first = match choices.first {
            FirstPaths::Random => "drawn for each source",
            FirstPaths::Listed => "the same for all sources",
            FirstPaths::Even => "each of them for three sources",
        };
        let named = [
            (
                "sources",
                format!(
                    "{SOURCES} of constant rate, datagrams of {PACKET} B, ACKs of 52 B, start within 1 s; stated (III)"
                ),
            ),
            (
                "paths",
                "two of 1 Mb/s from one host, which limits the rate; stated (III). Behind them \
                 Ethernet of 100 Mb/s, 50 us; chosen"
                    .to_owned(),
            ),
            (
                "queue",
                format!(
                    "{} packets per path, drop-tail; chosen: the default of Linux (txqueuelen)",
                    choices.queue
                ),
            ),
            (
                "packets",
                format!(
                    "{} per source; chosen of two interpretations of \"3000 packets\" (III)",
                    load.packets
                ),
            ),
            (
                "first path",
                format!("{first}; chosen, since the lower mode needs even starts"),
            ),
            (
                "heartbeats",
                format!(
                    "{} B, every .5 to 1.5 s, in guard time every {} ms; stated (III), outside the utilisation",
                    choices.heartbeat, choices.fast
                ),
            ),
            (
                "rules",
                format!(
                    "hysteresis {} ms, threshold 70 ms; stated (III)",
                    choices.hysteresis
                ),
            ),
            (
                "guard time",
                format!(
                    "{} to {} ms; stated (III)",
                    choices.guard[0], choices.guard[1]
                ),
            ),
            (
                "time-out",
                format!("{} ms, longer than the queue; chosen", choices.timeout),
            ),
            (
                "background",
                format!(
                    "{} % of the utilisation, Poisson, half on each path; stated (III)",
                    load.background
                ),
            ),
            (
                "delay",
                "from the transmission of a datagram to its arrival, mean over the datagrams \
                       of a run; chosen"
                    .to_owned(),
            ),
        ];
        named.map(|(name, value)| [name.to_owned(), value]).to_vec()
    }
}
