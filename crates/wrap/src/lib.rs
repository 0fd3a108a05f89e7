//! The part of `polypath wrap` that is loaded into the wrapped program (`LD_PRELOAD`).
//!
//! It replaces three functions of the C library. Before a TCP connection is made, `connect` asks the
//! wrapping program, over a Unix socket, where it goes: to its destination, or to a socket of the
//! wrapping program, which carries the bytes over several connections. After `listen` the wrapping
//! program learns the address. `getpeername` returns the destination that the program asked for. The
//! program's own socket stays a socket of the kernel: threads, non-blocking sockets, epoll, sendfile
//! and fork work as before.
//!
//! When it is loaded, it removes a file of the wrapping program, which warns if it finds that file
//! later.
//!
//! Whatever fails leaves the call as it would be without this library.

#![allow(unsafe_code, reason = "functions of the C library are replaced")]

mod control;
mod destinations;

use std::ffi::CStr;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use control::{Route, announce, route};
use destinations::Socket;
use nix::errno::Errno;
use nix::libc::{self, c_int, sockaddr, socklen_t};
use nix::sys::socket::{
    AddressFamily, SockType, SockaddrLike, SockaddrStorage, getsockname, getsockopt, sockopt,
};

type Connect = unsafe extern "C" fn(c_int, *const sockaddr, socklen_t) -> c_int;
type Listen = unsafe extern "C" fn(c_int, c_int) -> c_int;
type GetPeerName = unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;

/// The dynamic linker calls it when a process has loaded this library.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    control::announce_loaded();
    // Before any thread: a process that is forked while another looks them up would wait for ever.
    let _ = hidden();
}

/// The functions of the C library that this library hides.
#[derive(Clone, Copy)]
struct Hidden {
    connect: Connect,
    listen: Listen,
    getpeername: GetPeerName,
}

/// The hidden functions, looked up once; `None` if the C library lacks one.
fn hidden() -> Option<Hidden> {
    static HIDDEN: OnceLock<Option<Hidden>> = OnceLock::new();
    *HIDDEN.get_or_init(|| {
        // SAFETY: the names and the types are those of POSIX.
        unsafe {
            Some(Hidden {
                connect: symbol(c"connect")?,
                listen: symbol(c"listen")?,
                getpeername: symbol(c"getpeername")?,
            })
        }
    })
}

/// The function of this name in the libraries after this one.
///
/// # Safety
/// `F` is the type of the function.
unsafe fn symbol<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    // SAFETY: the caller states that the symbol is of type `F`, a function pointer, which has the
    // size of a data pointer here.
    (!found.is_null()).then(|| unsafe { mem::transmute_copy(&found) })
}

/// The value of a call that the C library does not have.
fn missing() -> c_int {
    Errno::ENOSYS.set();
    -1
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

/// The socket of the wrapping program for a connection; `None` if it goes to its destination.
fn proxy_of(fd: c_int, destination: SocketAddr) -> Option<SocketAddr> {
    if !is_stream(fd) {
        return None;
    }
    let socket = Socket::of(fd)?;
    // A second call for the same connection asks for its result.
    if let Some(known) = destinations::proxy(socket, destination) {
        return Some(known);
    }
    let Some(Route::Through(proxy)) = route(destination) else {
        return None;
    };
    destinations::remember(socket, proxy, destination).then_some(proxy)
}

/// Connects a socket, to its destination or to the wrapping program (connect(2)).
///
/// # Safety
/// As with connect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let Some(hidden) = hidden() else {
        return missing();
    };
    // SAFETY: as with connect(2); too short addresses are refused.
    let wanted = unsafe { SockaddrStorage::from_raw(address, Some(len)) };
    let proxy = wanted
        .as_ref()
        .and_then(to_std)
        .and_then(|wanted| proxy_of(fd, wanted));
    if let Some(proxy) = proxy {
        let to = SockaddrStorage::from(proxy);
        // SAFETY: the address is valid for its length.
        let result = unsafe { (hidden.connect)(fd, to.as_ptr(), to.len()) };
        if result == 0 || is_made(Errno::last()) {
            return result;
        }
        // As for a socket that is bound to another device than loopback.
        if let Some(socket) = Socket::of(fd) {
            destinations::forget(socket, proxy);
        }
    }
    // The call is the last one, so that its `errno` remains.
    // SAFETY: these are the arguments of the caller.
    unsafe { (hidden.connect)(fd, address, len) }
}

/// Whether a connection with this error of `connect` is made, or goes on to be.
fn is_made(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::EINPROGRESS | Errno::EALREADY | Errno::EISCONN | Errno::EINTR
    )
}

/// Listens, and announces the address to the wrapping program (listen(2)).
///
/// # Safety
/// As with listen(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let Some(hidden) = hidden() else {
        return missing();
    };
    // SAFETY: these are the arguments of the caller.
    let result = unsafe { (hidden.listen)(fd, backlog) };
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
    let Some(hidden) = hidden() else {
        return missing();
    };
    // SAFETY: the length is the caller's.
    let given = unsafe { len.as_ref() }.copied().unwrap_or(0);
    // SAFETY: these are the arguments of the caller.
    let result = unsafe { (hidden.getpeername)(fd, address, len) };
    if result != 0 {
        return result;
    }
    // SAFETY: the call has written an address of at most `given` bytes, and its whole length.
    let answered = unsafe { SockaddrStorage::from_raw(address, Some((*len).min(given))) };
    let peer = answered.as_ref().and_then(to_std);
    let destination = peer.and_then(|peer| destinations::destination(Socket::of(fd)?, peer));
    if let Some(wanted) = destination.map(SockaddrStorage::from) {
        let count = usize::try_from(given.min(wanted.len())).unwrap_or(0);
        // SAFETY: the caller gave `given` writable bytes at `address`, and `wanted` has
        // `wanted.len()`; the two do not overlap.
        unsafe {
            let (from, to) = (wanted.as_ptr().cast::<u8>(), address.cast::<u8>());
            std::ptr::copy_nonoverlapping(from, to, count);
            *len = wanted.len();
        }
    }
    result
}
