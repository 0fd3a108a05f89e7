//! Datagrams whose times nothing in the network changes: their sources and sinks.

mod cbr;
mod on_off;
mod playback;
mod poisson;
mod source;
#[cfg(test)]
mod tests;

pub use cbr::{Cbr, CbrConfig};
pub use on_off::{OnOff, OnOffConfig, Sojourn};
pub use playback::Playback;
pub use poisson::Poisson;
pub use source::{Datagram, DatagramSource, Pattern, Traffic};
