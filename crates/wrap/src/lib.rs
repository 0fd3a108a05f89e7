//! The part of `polypath wrap` that is loaded into the wrapped program (`LD_PRELOAD`).
//!
//! It replaces four functions of the C library. Before a TCP connection is made, `connect` asks the
//! wrapping program, over a Unix socket, where it goes: to its destination, or to a socket of the
//! wrapping program, which carries the bytes over several connections. After `listen` the wrapping
//! program learns the address. `getpeername` returns the destination that the program asked for. The
//! program's own socket stays a socket of the kernel: threads, non-blocking sockets, epoll, sendfile
//! and fork work as before.
//!
//! Whatever fails leaves the call as it would be without this library.

#![allow(unsafe_code, reason = "functions of the C library are replaced")]

mod control;

use std::collections::BTreeMap;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use control::{Route, announce, route};
use nix::libc::{self, c_int, c_void, sockaddr, socklen_t};
use nix::sys::socket::{
    AddressFamily, SockType, SockaddrLike, SockaddrStorage, getsockname, getsockopt, sockopt,
};
use std::os::fd::BorrowedFd;

type Connect = unsafe extern "C" fn(c_int, *const sockaddr, socklen_t) -> c_int;
type Listen = unsafe extern "C" fn(c_int, c_int) -> c_int;
type GetPeerName = unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;
type Close = unsafe extern "C" fn(c_int) -> c_int;

/// The destinations of the sockets that are connected to the wrapping program.
fn destinations() -> &'static Mutex<BTreeMap<RawFd, SockaddrStorage>> {
    static DESTINATIONS: OnceLock<Mutex<BTreeMap<RawFd, SockaddrStorage>>> = OnceLock::new();
    DESTINATIONS.get_or_init(Mutex::default)
}

/// The function of the C library that this library hides.
///
/// # Safety
/// `F` is the type of the function.
unsafe fn hidden<F: Copy>(name: &'static std::ffi::CStr) -> Option<F> {
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    // SAFETY: the caller states that the symbol is of type `F`, a function pointer, which has the
    // size of a data pointer here.
    (!found.is_null()).then(|| unsafe { mem::transmute_copy::<*mut c_void, F>(&found) })
}

/// Sets `errno` and returns the value of a failed call.
fn failed(errno: nix::errno::Errno) -> c_int {
    errno.set();
    -1
}

/// The address of a call, if it is one of IP.
///
/// # Safety
/// `address` has `len` readable bytes, or is null.
unsafe fn read_address(address: *const sockaddr, len: socklen_t) -> Option<SocketAddr> {
    // SAFETY: as the caller states; too short addresses are refused.
    let storage = unsafe { SockaddrStorage::from_raw(address, Some(len)) }?;
    to_std(&storage)
}

fn to_std(storage: &SockaddrStorage) -> Option<SocketAddr> {
    match storage.family()? {
        AddressFamily::Inet => {
            let v4 = storage.as_sockaddr_in()?;
            Some((v4.ip(), v4.port()).into())
        }
        AddressFamily::Inet6 => {
            let v6 = storage.as_sockaddr_in6()?;
            Some((v6.ip(), v6.port()).into())
        }
        _ => None,
    }
}

/// Whether a descriptor is a stream socket.
fn is_stream(fd: c_int) -> bool {
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor is used for this call only; if it is closed, the call fails.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    getsockopt(&borrowed, sockopt::SockType).is_ok_and(|kind| kind == SockType::Stream)
}

/// Connects a socket, to its destination or to the wrapping program (connect(2)).
///
/// # Safety
/// As with connect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the name and the type are those of connect(2).
    let Some(next) = (unsafe { hidden::<Connect>(c"connect") }) else {
        return failed(nix::errno::Errno::ENOSYS);
    };
    // SAFETY: as with connect(2).
    let wanted = unsafe { read_address(address, len) }.filter(|_| is_stream(fd));
    if let Some(Route::Through(to)) = wanted.and_then(route) {
        let storage = SockaddrStorage::from(to);
        // SAFETY: the address is valid for its length.
        let result = unsafe { next(fd, storage.as_ptr(), storage.len()) };
        if let Some(wanted) = wanted {
            let mut known = destinations()
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            known.insert(fd, SockaddrStorage::from(wanted));
        }
        return result;
    }
    // SAFETY: these are the arguments of the caller.
    unsafe { next(fd, address, len) }
}

/// Listens, and announces the address to the wrapping program (listen(2)).
///
/// # Safety
/// As with listen(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: the name and the type are those of listen(2).
    let Some(next) = (unsafe { hidden::<Listen>(c"listen") }) else {
        return failed(nix::errno::Errno::ENOSYS);
    };
    // SAFETY: these are the arguments of the caller.
    let result = unsafe { next(fd, backlog) };
    if result == 0 && is_stream(fd) {
        let own = getsockname::<SockaddrStorage>(fd).ok();
        if let Some(address) = own.as_ref().and_then(to_std) {
            announce(address);
        }
    }
    result
}

/// Returns the destination that the program asked for (getpeername(2)).
///
/// # Safety
/// As with getpeername(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the name and the type are those of getpeername(2).
    let Some(next) = (unsafe { hidden::<GetPeerName>(c"getpeername") }) else {
        return failed(nix::errno::Errno::ENOSYS);
    };
    let known = destinations()
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let known = known.get(&fd).copied();
    // SAFETY: these are the arguments of the caller. An unconnected socket is an error as before.
    let given = unsafe { len.as_ref() }.copied().unwrap_or(0);
    // SAFETY: as above.
    let result = unsafe { next(fd, address, len) };
    let (Some(wanted), 0) = (known, result) else {
        return result;
    };
    let count = usize::try_from(given.min(wanted.len())).unwrap_or(0);
    // SAFETY: the caller gave `given` writable bytes at `address`, and `wanted` has `wanted.len()`;
    // the two do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(wanted.as_ptr().cast::<u8>(), address.cast::<u8>(), count);
        *len = wanted.len();
    }
    result
}

/// Closes a descriptor, and forgets its destination (close(2)).
///
/// # Safety
/// As with close(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: the name and the type are those of close(2).
    let Some(next) = (unsafe { hidden::<Close>(c"close") }) else {
        return failed(nix::errno::Errno::ENOSYS);
    };
    // A program closes descriptors in signal handlers, too, which must not wait for the lock.
    if let Ok(mut known) = destinations().try_lock() {
        known.remove(&fd);
    }
    // SAFETY: this is the argument of the caller.
    unsafe { next(fd) }
}
