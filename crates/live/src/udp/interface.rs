//! The kernel's interfaces: names, MTU and binding.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;

use nix::ifaddrs::getifaddrs;
use nix::libc;
use socket2::{Domain, SockRef, Socket, Type};

/// The MTU of Ethernet in bytes.
const ETHERNET: u32 = 1500;

/// The MTU of the interface `name`, or of the one with `address`, in bytes; that of Ethernet if
/// there is none.
pub(super) fn mtu(name: Option<&str>, address: IpAddr) -> u32 {
    let name = name.map(str::to_owned).or_else(|| with_address(address));
    name.and_then(|name| read_mtu(&name).ok())
        .unwrap_or(ETHERNET)
}

/// The names of all interfaces, for a message.
pub(super) fn names() -> String {
    let Ok(addresses) = getifaddrs() else {
        return "none that can be listed".to_owned();
    };
    let names: BTreeSet<String> = addresses.map(|entry| entry.interface_name).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Binds `socket` to the interface with this index, which need not exist (`SO_BINDTOIFINDEX`, Linux
/// 5.1).
pub(super) fn bind_to(socket: &Socket, index: u32) -> io::Result<()> {
    // The option is the same for both address families.
    socket.bind_device_by_index_v4(NonZeroU32::new(index))
}

/// The index of the interface that `socket` is bound to.
pub(super) fn bound_to(socket: &UdpSocket) -> Option<u32> {
    let index = SockRef::from(socket).device_index_v4().ok()?;
    index.map(NonZeroU32::get)
}

fn with_address(address: IpAddr) -> Option<String> {
    let is_it = |entry: &nix::ifaddrs::InterfaceAddress| {
        let storage = entry.address.as_ref();
        storage
            .and_then(super::address)
            .is_some_and(|found| found.ip() == address)
    };
    Some(getifaddrs().ok()?.find(is_it)?.interface_name)
}

#[expect(
    unsafe_code,
    reason = "no library here asks for the MTU of an interface"
)]
fn read_mtu(name: &str) -> io::Result<u32> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    let mut request = request_for(name)?;
    // SAFETY: SIOCGIFMTU reads the name, which ends with a zero, and writes the MTU into the union;
    // the kernel keeps no pointer.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    mtu_in(&request)
}

/// A request that concerns the interface `name`, with a union of zeros.
#[expect(unsafe_code, reason = "`ifreq` has no constructor")]
fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`: an empty name and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and ends the name.
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

/// The MTU in an answered request.
#[expect(unsafe_code, reason = "`ifreq` is a union")]
fn mtu_in(request: &libc::ifreq) -> io::Result<u32> {
    // SAFETY: the union holds zeros or what the kernel wrote, and any bytes are a number.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_holds_a_name_that_ends_with_a_zero() {
        for len in 0..libc::IFNAMSIZ {
            let request = request_for(&"\u{fc}".repeat(len / 2)).unwrap();
            let name: Vec<u8> = request.ifr_name.iter().map(|c| c.cast_unsigned()).collect();
            assert_eq!(name[..len / 2 * 2], *"\u{fc}".repeat(len / 2).as_bytes());
            assert!(name[len / 2 * 2..].iter().all(|byte| *byte == 0));
            assert_eq!(mtu_in(&request).unwrap(), 0);
        }
        for len in [libc::IFNAMSIZ, 100] {
            let error = request_for(&"x".repeat(len)).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn an_answered_request_holds_the_mtu() {
        let mut request = request_for("lo").unwrap();
        request.ifr_ifru.ifru_mtu = 65_536;
        assert_eq!(mtu_in(&request).unwrap(), 65_536);
        request.ifr_ifru.ifru_mtu = -1;
        assert!(mtu_in(&request).is_err());
    }
}
