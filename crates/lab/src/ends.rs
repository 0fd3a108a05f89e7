//! The two ends of a scenario: a namespace each, with a device for every path.

use std::io;

use polypath_core::frame::PathId;
use polypath_live::tun::{Tun, TunConfig};
use polypath_sim::{PortId, Side};

use crate::LabError;
use crate::namespace::Namespace;
use crate::plan::{SIDES, path_address, path_device};

/// The largest packet of a path, in bytes: that of Ethernet.
const MTU: u16 = 1500;
/// How many packets wait in a device for the emulator; more than a burst of a host, so that packets are
/// lost on the simulated links alone.
const DEVICE_QUEUE: u32 = 5000;

/// The namespaces of server and client.
#[derive(Debug)]
pub struct Ends {
    server: Namespace,
    client: Namespace,
}

/// Where packets of the real world enter and leave the simulated one.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) port: PortId,
    pub(crate) device: Tun,
}

impl Ends {
    /// Two namespaces, and in each a device for every path, with addresses of one network.
    pub(crate) fn open(paths: u8) -> Result<(Self, Vec<Gate>), LabError> {
        let namespace = || open_namespace().map_err(LabError::Namespace);
        let ends = Self {
            server: namespace()?,
            client: namespace()?,
        };
        let mut gates = Vec::new();
        for path in (0..paths).map(PathId) {
            for side in SIDES {
                let port = PortId { path, side };
                gates.push(ends.open_gate(port)?);
            }
        }
        for side in SIDES {
            let namespace = ends.at(side);
            // The overlay's device, which comes later, does speak IPv6.
            set_where_known(namespace, "ipv6/conf/default/disable_ipv6", "0")
                .map_err(LabError::Namespace)?;
        }
        Ok((ends, gates))
    }

    /// The namespace of one end.
    #[must_use]
    pub fn at(&self, side: Side) -> &Namespace {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    fn open_gate(&self, port: PortId) -> Result<Gate, LabError> {
        let config = TunConfig {
            name: path_device(port.path),
            addresses: vec![path_address(port.path, port.side)],
            mtu: MTU,
            queue: DEVICE_QUEUE,
        };
        let opened = self.at(port.side).run(|| Ok(Tun::open(&config)));
        let device = opened.map_err(LabError::Namespace)??;
        Ok(Gate { port, device })
    }
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
