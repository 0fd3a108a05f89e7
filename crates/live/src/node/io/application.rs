//! The applications of a node: behind a TUN device, or at UDP ports of this host.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;

use crate::drive::{Driver, Token};
use crate::stats::TunStats;
use crate::tun::batch::BatchedTun;
use crate::udp_ports::UdpPorts;

/// The source and the destination of a node's packets.
#[derive(Debug)]
pub(in crate::node) enum Application {
    /// The kernel, which routes packets to a TUN device.
    Tun(BatchedTun),
    /// Programs that exchange datagrams with UDP ports.
    Udp(UdpPorts),
}

impl Application {
    /// The name of the node on this machine.
    pub(in crate::node) fn name(&self) -> &str {
        match self {
            Self::Tun(tun) => tun.tun().name(),
            Self::Udp(ports) => ports.name(),
        }
    }

    /// Whether packets are read and written in batches.
    pub(in crate::node) fn has_offload(&self) -> bool {
        match self {
            Self::Tun(tun) => tun.has_offload(),
            Self::Udp(ports) => ports.has_offload(),
        }
    }

    /// The counters so far.
    pub(in crate::node) fn stats(&self) -> TunStats {
        match self {
            Self::Tun(tun) => tun.stats(),
            Self::Udp(ports) => ports.stats(),
        }
    }

    /// Has `driver` watch the descriptors as `token`.
    pub(in crate::node) fn watch(&self, driver: &Driver, token: Token) -> io::Result<()> {
        match self {
            Self::Tun(tun) => driver.watch(tun.tun(), token),
            Self::Udp(ports) => ports
                .descriptors()
                .try_for_each(|descriptor| driver.watch(descriptor, token)),
        }
    }

    /// Appends the next packet, or the next batch, to `packets`; returns false if none waits.
    pub(super) fn read(&mut self, packets: &mut VecDeque<Bytes>) -> io::Result<bool> {
        match self {
            Self::Tun(tun) => tun.read(packets),
            Self::Udp(ports) => ports.read(packets),
        }
    }

    /// Delivers a packet, at the latest with the next [`Application::flush`].
    pub(super) fn write(&mut self, packet: Bytes) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.write(packet)?,
            Self::Udp(ports) => ports.write(&packet),
        }
        Ok(())
    }

    /// Delivers the packets that wait for others of their batch.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.flush()?,
            Self::Udp(ports) => ports.flush(),
        }
        Ok(())
    }
}
