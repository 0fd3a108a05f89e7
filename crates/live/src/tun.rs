//! TUN devices, which exchange IP packets with the kernel.
//!
//! A device without [offload] reads and writes one packet per call, so that packets are not merged
//! and keep their times. A device exists as long as its [`Tun`], in the network namespace of the
//! thread that opens it.

pub mod batch;
pub mod offload;

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use ipnet::IpNet;
use nix::net::if_::if_nametoindex;
use nix::sys::uio::writev;
use tun_rs::{DeviceBuilder, SyncDevice};

/// The configuration of a TUN device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// The interface name, at most 15 bytes.
    pub name: String,
    /// The addresses of the interface with their prefix lengths.
    pub addresses: Vec<IpNet>,
    /// The MTU in bytes.
    pub mtu: u16,
    /// The length of its queue in packets; in a user namespace it is always the kernel's 500.
    pub queue: u32,
    /// Whether packets have the header of [offload] in both directions.
    pub offload: bool,
}

/// An error in opening a TUN device.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The kernel has no TUN driver, or the container hides it.
    #[error(
        "no TUN devices here: /dev/net/tun is missing; load the module (modprobe tun) or give the \
         container the device (docker run --device /dev/net/tun --cap-add NET_ADMIN)"
    )]
    Missing,
    /// The user may not create TUN devices.
    #[error(
        "may not create TUN device `{name}`: run as root or with CAP_NET_ADMIN; in an unprivileged user \
         namespace /dev/net/tun must be open to all (chmod 0666 /dev/net/tun, once, as root)"
    )]
    NotPermitted {
        /// The device's name.
        name: String,
    },
    /// Another program uses the device.
    #[error("TUN device `{name}` is in use: choose another name or stop the program that uses it")]
    InUse {
        /// The device's name.
        name: String,
    },
    /// The name belongs to an interface of another kind.
    #[error(
        "`{name}` is the name of an interface that is no TUN device: choose another for `node.tun.name`"
    )]
    Taken {
        /// The device's name.
        name: String,
    },
    /// Any other error.
    #[error("cannot set up TUN device `{name}`")]
    Other {
        /// The device's name.
        name: String,
        /// The error of the kernel.
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
    /// Creates the device and brings it up, non-blocking.
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
            // The kernel permits it in the initial user namespace only; elsewhere its default of
            // 500 serves.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            result => result.map_err(error)?,
        }
        for prefix in &config.addresses {
            match prefix {
                IpNet::V4(v4) => device.add_address_v4(v4.addr(), v4.prefix_len()),
                IpNet::V6(v6) => device.add_address_v6(v6.addr(), v6.prefix_len()),
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

    /// The MTU in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Reads the next packet that the kernel sends into `buffer` and returns its length; none if
    /// none waits.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(self.explain(e)),
        }
    }

    /// Whether the kernel can split UDP for the device; never without offload.
    #[must_use]
    pub fn splits_udp(&self) -> bool {
        self.device.udp_gso()
    }

    /// Delivers `packet` to the kernel; returns false if the kernel refuses it.
    ///
    /// It refuses packets that are not IP, and all while memory is short or the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        self.write_slices(&[IoSlice::new(packet)])
    }

    /// Delivers the packet that `slices` form to the kernel, like [`Tun::write`].
    pub fn write_slices(&self, slices: &[IoSlice<'_>]) -> io::Result<bool> {
        use nix::errno::Errno::{EAGAIN, EINVAL, EIO, ENOBUFS, ENOMEM};
        match writev(self, slices) {
            Ok(_) => Ok(true),
            Err(EAGAIN | EINVAL | EIO | ENOBUFS | ENOMEM) => Ok(false),
            Err(errno) => Err(self.explain(errno.into())),
        }
    }
}

impl Tun {
    /// Adds the remedy to the error of a device that was deleted.
    fn explain(&self, error: io::Error) -> io::Error {
        // The kernel returns this for the descriptor of a deleted device.
        if error.raw_os_error() != Some(nix::errno::Errno::EBADFD as i32) {
            return error;
        }
        let name = &self.name;
        let words = format!(
            "TUN device `{name}` was deleted (`ip link delete {name}`); start the node again, which creates it"
        );
        io::Error::new(io::ErrorKind::NotConnected, words)
    }
}

impl AsFd for Tun {
    #[expect(unsafe_code, reason = "tun-rs gives its descriptor only as a number")]
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the device owns the descriptor and exists at least as long as the borrow of
        // `self`.
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
