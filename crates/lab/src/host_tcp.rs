//! The scenario's TCP settings for its real hosts, as route metrics and namespace parameters.

use std::net::IpAddr;

use polypath_core::time::Duration;
use polypath_scenario::{CongestionControl, Scenario};

/// A TCP header without options, in bytes.
const TCP_HEADER: u64 = 20;

/// Bounds on the receive buffer in bytes.
const MIN_BUFFER: u64 = 16 << 10;
const MAX_BUFFER: u64 = 256 << 20;

/// The TCP settings of the real hosts.
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
    /// The settings of `scenario`.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            congestion_control: scenario.lab.congestion_control,
            segment: scenario.tcp.segment.0,
            initial_window: scenario.tcp.initial_window,
            receiver_window: scenario.foreground_window(),
            min_rto: scenario.tcp.min_rto,
        }
    }

    /// The kernel's name of the congestion control.
    pub(crate) fn congestion_control(&self) -> &'static str {
        self.congestion_control.name()
    }

    /// The namespace parameters, by their paths below `/proc/sys/net`, that keep the kernel's
    /// receive buffer autotuning from exceeding the window of the route.
    pub(crate) fn parameters(&self) -> [(&'static str, String); 2] {
        // The kernel accounts up to four times the payload for a packet's buffer.
        let buffer = 4 * self.segment * u64::from(self.receiver_window);
        let buffer = buffer.clamp(MIN_BUFFER, MAX_BUFFER);
        [
            ("ipv4/tcp_moderate_rcvbuf", "0".to_owned()),
            ("ipv4/tcp_rmem", format!("{MIN_BUFFER} {buffer} {buffer}")),
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
    fn the_receive_buffer_is_bounded() {
        let tcp = |receiver_window| HostTcp {
            congestion_control: CongestionControl::Reno,
            segment: 1000,
            initial_window: 2,
            receiver_window,
            min_rto: Duration::from_millis(200),
        };
        let buffer = |window| tcp(window).parameters()[1].1.clone();
        assert_eq!(buffer(1), "16384 16384 16384");
        assert_eq!(buffer(20), "16384 80000 80000");
        assert_eq!(buffer(u32::MAX), "16384 268435456 268435456");
    }

    #[test]
    fn metrics_follow_the_scenario() {
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
