//! The two ends of a scenario: a namespace each, with a device for every path.

use std::io;

use polypath_core::frame::PathId;
use polypath_live::tun::{Tun, TunConfig};
use polypath_sim::{PortId, Side};

use crate::LabError;
use crate::addressing::{SIDES, is_path_device, path_address, path_device};
use crate::namespace::Namespace;

/// The largest packet of a path, in bytes: that of Ethernet.
const MTU: u16 = 1500;
/// How many packets wait in a device for the emulator; more than a burst of a host, so that packets are
/// lost on the simulated links alone.
const DEVICE_QUEUE: u32 = 5000;

/// The column of the kernel's table of devices after eight of reception, bytes, packets and errors.
const TRANSMIT_DROPS: usize = 11;

/// The namespaces of server and client.
#[derive(Debug)]
pub struct Endpoints {
    server: Namespace,
    client: Namespace,
}

/// Where packets of the real world enter and leave the simulated one.
#[derive(Debug)]
pub(crate) struct PortDevice {
    pub(crate) port: PortId,
    pub(crate) device: Tun,
}

impl Endpoints {
    /// Two namespaces, and in each a device for every path, with addresses of one network; fails where either
    /// is refused.
    pub(crate) fn open(paths: u8) -> Result<(Self, Vec<PortDevice>), LabError> {
        let namespace = || open_namespace().map_err(LabError::Namespace);
        let endpoints = Self {
            server: namespace()?,
            client: namespace()?,
        };
        let mut gates = Vec::new();
        for path in (0..paths).map(PathId) {
            for side in SIDES {
                let port = PortId { path, side };
                gates.push(endpoints.open_gate(port)?);
            }
        }
        for side in SIDES {
            let namespace = endpoints.at(side);
            // The overlay's device, which comes later, does speak IPv6.
            set_where_known(namespace, "ipv6/conf/default/disable_ipv6", "0")
                .map_err(LabError::Namespace)?;
        }
        Ok((endpoints, gates))
    }

    /// The namespace of one end.
    #[must_use]
    pub fn at(&self, side: Side) -> &Namespace {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    /// How many packets the kernel has dropped on the way to the simulated network, because a device's queue
    /// was full; fails where the system does not tell.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let mut dropped = 0;
        for side in SIDES {
            let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
            dropped += dropped_on_paths(&self.at(side).run(read)?);
        }
        Ok(dropped)
    }

    fn open_gate(&self, port: PortId) -> Result<PortDevice, LabError> {
        let config = TunConfig {
            name: path_device(port.path),
            addresses: vec![path_address(port.path, port.side)],
            mtu: MTU,
            queue: DEVICE_QUEUE,
            // Each packet is to have its time.
            offload: false,
        };
        let opened = self.at(port.side).run(|| Ok(Tun::open(&config)));
        let device = opened.map_err(LabError::Namespace)??;
        Ok(PortDevice { port, device })
    }
}

/// The transmit drops of the paths' devices in the kernel's table of devices (proc(5), /proc/net/dev).
fn dropped_on_paths(table: &str) -> u64 {
    let rows = table.lines().filter_map(|line| line.split_once(':'));
    rows.filter(|(name, _)| is_path_device(name.trim()))
        .filter_map(|(_, counters)| counters.split_whitespace().nth(TRANSMIT_DROPS))
        .filter_map(|drops| drops.parse::<u64>().ok())
        .sum()
}

/// A namespace whose hosts behave alike in every transfer and send nothing of their own accord.
fn open_namespace() -> io::Result<Namespace> {
    let namespace = Namespace::new()?;
    // Without this a connection starts with what the last one learnt of the path.
    namespace.set("ipv4/tcp_no_metrics_save", "1")?;
    for (parameter, value) in [("disable_ipv6", "1"), ("router_solicitations", "0")] {
        set_where_known(&namespace, &format!("ipv6/conf/default/{parameter}"), value)?;
    }
    Ok(namespace)
}

/// Sets a parameter, unless the kernel does not have it (IPv6 may be left out).
fn set_where_known(namespace: &Namespace, parameter: &str, value: &str) -> io::Result<()> {
    match namespace.set(parameter, value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_paths() {
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
