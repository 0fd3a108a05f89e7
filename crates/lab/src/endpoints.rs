//! The two endpoints of a scenario: a network namespace each, with a TUN device for every path.

use std::io;

use polypath_core::frame::PathId;
use polypath_live::tun::{Tun, TunConfig};
use polypath_sim::{PortId, Side};

use crate::LabError;
use crate::addressing::{SIDES, is_path_device, path_address, path_device};
use crate::namespace::Namespace;

/// The MTU of a path in bytes: Ethernet's.
const MTU: u16 = 1500;
/// The queue of a device in packets: longer than a burst of a host, so that packets are lost on
/// simulated links alone.
const DEVICE_QUEUE: u32 = 5000;

/// The column of transmit drops in /proc/net/dev: after eight columns of reception, bytes, packets,
/// errors.
const TRANSMIT_DROPS: usize = 11;

/// The namespaces of server and client.
#[derive(Debug)]
pub struct Endpoints {
    server: Namespace,
    client: Namespace,
}

/// A port of the simulated network and the TUN device through which its packets enter and leave.
#[derive(Debug)]
pub(crate) struct PortDevice {
    pub(crate) port: PortId,
    pub(crate) device: Tun,
}

impl Endpoints {
    /// Creates both namespaces with a device for every path in each; the devices of a path share a
    /// subnet.
    ///
    /// Fails if the system refuses a namespace or a device.
    pub(crate) fn open(paths: u8) -> Result<(Self, Vec<PortDevice>), LabError> {
        let namespace = || open_namespace().map_err(LabError::Namespace);
        let endpoints = Self {
            server: namespace()?,
            client: namespace()?,
        };
        let mut devices = Vec::new();
        for path in (0..paths).map(PathId) {
            for side in SIDES {
                let port = PortId { path, side };
                devices.push(endpoints.open_device(port)?);
            }
        }
        for side in SIDES {
            let namespace = endpoints.at(side);
            // The overlay's device, created later, uses IPv6.
            set_if_present(namespace, "ipv6/conf/default/disable_ipv6", "0")
                .map_err(LabError::Namespace)?;
        }
        Ok((endpoints, devices))
    }

    /// The namespace of one side.
    #[must_use]
    pub fn at(&self, side: Side) -> &Namespace {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    /// The number of packets that the kernel dropped at full device queues before the simulated
    /// network.
    ///
    /// Fails if the namespace cannot be entered or /proc/net/dev cannot be read.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let mut dropped = 0;
        for side in SIDES {
            let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
            dropped += dropped_on_paths(&self.at(side).run(read)?);
        }
        Ok(dropped)
    }

    fn open_device(&self, port: PortId) -> Result<PortDevice, LabError> {
        let config = TunConfig {
            name: path_device(port.path),
            addresses: vec![path_address(port.path, port.side)],
            mtu: MTU,
            queue: DEVICE_QUEUE,
            // Aggregated packets would lose their individual times.
            offload: false,
        };
        let opened = self.at(port.side).run(|| Ok(Tun::open(&config)));
        let device = opened.map_err(LabError::Namespace)??;
        Ok(PortDevice { port, device })
    }
}

/// The transmit drops of the paths' devices in a table of /proc/net/dev (proc(5)).
fn dropped_on_paths(table: &str) -> u64 {
    let rows = table.lines().filter_map(|line| line.split_once(':'));
    rows.filter(|(name, _)| is_path_device(name.trim()))
        .filter_map(|(_, counters)| counters.split_whitespace().nth(TRANSMIT_DROPS))
        .filter_map(|drops| drops.parse::<u64>().ok())
        .sum()
}

/// A namespace whose host behaves alike in every transfer and sends nothing unasked.
fn open_namespace() -> io::Result<Namespace> {
    let namespace = Namespace::new()?;
    // Otherwise a connection starts with cached metrics of the previous one.
    namespace.set("ipv4/tcp_no_metrics_save", "1")?;
    for (parameter, value) in [("disable_ipv6", "1"), ("router_solicitations", "0")] {
        set_if_present(&namespace, &format!("ipv6/conf/default/{parameter}"), value)?;
    }
    Ok(namespace)
}

/// Sets a parameter if the kernel has it: it may be built without IPv6.
fn set_if_present(namespace: &Namespace, parameter: &str, value: &str) -> io::Result<()> {
    match namespace.set(parameter, value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drops_of_path_devices_count() {
        let table = "\
Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:   1 2 0 0 0 0 0 0  1 2 0 9 0 0 0 0
    p1:   1 2 0 5 0 0 0 0  1 2 0 3 0 0 0 0
   p12:   1 2 0 5 0 0 0 0  1 2 0 4 0 0 0 0
   pp0:   1 2 0 5 0 0 0 0  1 2 0 6 0 0 0 0
";
        assert_eq!(dropped_on_paths(table), 7);
    }
}
