//! What a scenario asks of the TCP of its real hosts, as metrics of a route and parameters of a namespace.

use std::net::IpAddr;

use polypath_core::time::Duration;
use polypath_scenario::{CongestionControl, Scenario};

/// A TCP header without options, in bytes.
const TCP_HEADER: u64 = 20;

/// Bounds on the room for what a receiver has not read, in bytes.
const LEAST_ROOM: u64 = 16 << 10;
const MOST_ROOM: u64 = 256 << 20;

/// What a scenario asks of the TCP of its real hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostTcp {
    congestion_control: CongestionControl,
    /// A full data packet in bytes, headers included.
    segment: u64,
    /// In segments.
    initial_window: u32,
    /// In segments.
    receiver_window: u32,
    min_rto: Duration,
}

impl HostTcp {
    /// What `scenario` asks for.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            congestion_control: scenario.lab.congestion_control,
            segment: scenario.tcp.segment.0,
            initial_window: scenario.tcp.initial_window,
            receiver_window: scenario.foreground_window(),
            min_rto: scenario.tcp.min_rto,
        }
    }

    /// The congestion control by the kernel's name.
    pub(crate) fn congestion_control(&self) -> &'static str {
        self.congestion_control.name()
    }

    /// The parameters of a namespace, by their paths below `/proc/sys/net`, without which a receiver
    /// would leave the window of its route behind as it measures.
    pub(crate) fn parameters(&self) -> [(&'static str, String); 2] {
        // A packet's buffer takes up to four times the room of its payload.
        let room = 4 * self.segment * u64::from(self.receiver_window);
        let room = room.clamp(LEAST_ROOM, MOST_ROOM);
        [
            ("ipv4/tcp_moderate_rcvbuf", "0".to_owned()),
            ("ipv4/tcp_rmem", format!("{LEAST_ROOM} {room} {room}")),
        ]
    }

    /// The metrics of a route to `destination` (ip-route(8)).
    pub(crate) fn metrics(&self, destination: IpAddr) -> Vec<String> {
        let ip_header = if destination.is_ipv4() { 20 } else { 40 };
        let payload = self.segment.saturating_sub(ip_header + TCP_HEADER).max(1);
        let window = payload * u64::from(self.receiver_window);
        let pairs = [
            ("congctl", self.congestion_control().to_owned()),
            ("advmss", payload.to_string()),
            ("initcwnd", self.initial_window.to_string()),
            ("window", window.to_string()),
            (
                "rto_min",
                format!("{}ms", self.min_rto.as_nanos() / 1_000_000),
            ),
        ];
        pairs
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_has_bounds() {
        let tcp = |receiver_window| HostTcp {
            congestion_control: CongestionControl::Reno,
            segment: 1000,
            initial_window: 2,
            receiver_window,
            min_rto: Duration::from_millis(200),
        };
        let room = |window| tcp(window).parameters()[1].1.clone();
        assert_eq!(room(1), "16384 16384 16384");
        assert_eq!(room(20), "16384 80000 80000");
        assert_eq!(room(u32::MAX), "16384 268435456 268435456");
    }

    #[test]
    fn metrics_are_those_of_the_scenario() {
        let tcp = HostTcp {
            congestion_control: CongestionControl::Cubic,
            segment: 1000,
            initial_window: 2,
            receiver_window: 20,
            min_rto: Duration::from_millis(200),
        };
        let v4 = tcp.metrics("10.77.0.1".parse().unwrap()).join(" ");
        let expected = "congctl cubic advmss 960 initcwnd 2 window 19200 rto_min 200ms";
        assert_eq!(v4, expected);
        let v6 = tcp.metrics("fd77::1".parse().unwrap()).join(" ");
        assert!(v6.contains("advmss 940 "), "{v6}");
    }
}
