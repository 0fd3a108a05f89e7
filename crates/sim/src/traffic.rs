//! Sources of background traffic.
//!
//! *TCP sessions* ([`Sessions`]): idle for an exponential time, then one file of log-normal size over a new
//! connection, then idle again from the moment at which its last segment is acknowledged (PPD paper, 5).
//! *UDP* ([`OnOffSource`]): exponential on and off times, a constant rate while on; it begins off.

mod on_off;
mod session;

pub use on_off::{Datagram, OnOffConfig, OnOffSource};
pub use session::{SessionConfig, Sessions};
