//! TUN devices: whole IP packets in and out of the kernel.
//!
//! A device without [offload] carries a packet per call, so that no packet is merged with its neighbour and each keeps its
//! time. A device lives as long as its [`Tun`], and appears in the network namespace of the thread that opens it.

pub mod batch;
pub mod offload;

mod prefix;

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::uio::writev;
use tun_rs::{DeviceBuilder, SyncDevice};

pub use prefix::{ParsePrefixError, Prefix};

/// What a TUN device is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// The interface name, at most 15 bytes.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<Prefix>,
    /// The largest IP packet that it carries, in bytes.
    pub mtu: u16,
    /// How many packets wait in it for a reader that is late; the kernel's 500 in a user namespace.
    pub queue: u32,
    /// Whether what crosses has the header of [offload] in front, in both directions.
    pub offload: bool,
}

/// Why a TUN device could not be had.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The kernel has no TUN driver, or the container hides it.
    #[error(
        "no TUN devices here: /dev/net/tun is missing; load the module (modprobe tun) or give the \
         container the device (docker run --device /dev/net/tun --cap-add NET_ADMIN)"
    )]
    Missing,
    /// The user may not make TUN devices.
    #[error(
        "may not make TUN device `{name}`: run as root or with CAP_NET_ADMIN; in an unprivileged user \
         namespace /dev/net/tun must be open to all (chmod 0666 /dev/net/tun, once, as root)"
    )]
    NotPermitted {
        /// The device's name.
        name: String,
    },
    /// Another program has the device.
    #[error("TUN device `{name}` is in use: choose another name or stop the program that has it")]
    InUse {
        /// The device's name.
        name: String,
    },
    /// An interface of another kind has the name.
    #[error(
        "`{name}` is the name of an interface that is no TUN device: choose another for `node.tun.name`"
    )]
    Taken {
        /// The device's name.
        name: String,
    },
    /// Anything else.
    #[error("cannot set up TUN device `{name}`")]
    Other {
        /// The device's name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A TUN device.
pub struct Tun {
    device: SyncDevice,
    name: String,
    mtu: u16,
}

impl Tun {
    /// Makes the device, non-blocking and up.
    pub fn open(config: &TunConfig) -> Result<Self, TunError> {
        let error = |source: io::Error| TunError::of(&config.name, source);
        let device = DeviceBuilder::new()
            .name(&config.name)
            .mtu(config.mtu)
            .with(|builder| {
                builder.offload(config.offload);
            })
            .build_sync()
            .map_err(error)?;
        device.set_nonblocking(true).map_err(error)?;
        match device.set_tx_queue_len(config.queue) {
            // The kernel allows it in the first user namespace only; elsewhere its own 500 will do.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            result => result.map_err(error)?,
        }
        for prefix in &config.addresses {
            match prefix.address() {
                IpAddr::V4(ip) => device.add_address_v4(ip, prefix.len()),
                IpAddr::V6(ip) => device.add_address_v6(ip, prefix.len()),
            }
            .map_err(error)?;
        }
        Ok(Self {
            device,
            name: config.name.clone(),
            mtu: config.mtu,
        })
    }

    /// The interface name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest IP packet that the device carries, in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Reads the next packet that the kernel sends into `buffer` and gives its length; none if none waits.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(self.in_words(e)),
        }
    }

    /// Whether the device can split UDP; without offload it splits nothing.
    #[must_use]
    pub fn splits_udp(&self) -> bool {
        self.device.udp_gso()
    }

    /// Hands `packet` to the kernel as received; false if the kernel does not take it.
    ///
    /// It takes none that is not IP, and none while it is short of memory or the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        self.write_slices(&[IoSlice::new(packet)])
    }

    /// Hands the packet that `slices` make up to the kernel, like [`Tun::write`].
    pub fn write_slices(&self, slices: &[IoSlice<'_>]) -> io::Result<bool> {
        use nix::errno::Errno::{EAGAIN, EINVAL, EIO, ENOBUFS, ENOMEM};
        match writev(self, slices) {
            Ok(_) => Ok(true),
            Err(EAGAIN | EINVAL | EIO | ENOBUFS | ENOMEM) => Ok(false),
            Err(errno) => Err(self.in_words(errno.into())),
        }
    }
}

impl Tun {
    /// What ends the device, with the remedy where there is one.
    fn in_words(&self, error: io::Error) -> io::Error {
        // The kernel says so of the descriptor of a device that was deleted.
        if error.raw_os_error() != Some(nix::errno::Errno::EBADFD as i32) {
            return error;
        }
        let name = &self.name;
        let words = format!(
            "TUN device `{name}` is gone: somebody has deleted it (`ip link delete {name}`); start the node again, \
             which makes it anew"
        );
        io::Error::new(io::ErrorKind::NotConnected, words)
    }
}

impl AsFd for Tun {
    #[expect(unsafe_code, reason = "tun-rs gives its descriptor only as a number")]
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the device owns the descriptor and lives at least as long as the borrow of `self`.
        unsafe { BorrowedFd::borrow_raw(self.device.as_raw_fd()) }
    }
}

impl std::fmt::Debug for Tun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tun")
            .field("name", &self.name)
            .field("mtu", &self.mtu)
            .finish_non_exhaustive()
    }
}

impl TunError {
    fn of(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::NotPermitted { name },
            io::ErrorKind::ResourceBusy => Self::InUse { name },
            io::ErrorKind::InvalidInput if if_nametoindex(name.as_str()).is_ok() => {
                Self::Taken { name }
            }
            _ => Self::Other { name, source },
        }
    }
}
