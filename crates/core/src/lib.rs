//! The multipath mechanisms of polypath as machines: no I/O, no clock, no entropy.
//!
//! Each mechanism of the papers is implemented once. The simulator, the lab and the live runtime
//! drive the same machines ([`machine`]), so that a simulation result describes the deployed code.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cbr;
pub mod class;
pub mod combine;
pub mod connections;
pub mod cubic;
pub mod endpoint;
pub mod estimate;
pub mod event;
pub mod fragment;
pub mod frame;
mod hold;
pub mod liveness;
pub mod machine;
pub mod math;
pub mod metering;
pub mod multihomed;
#[cfg(feature = "serde")]
mod notation;
pub mod order;
pub mod packet;
pub mod pmtu;
pub mod policy;
pub mod repair;
pub mod rng;
pub mod spacing;
pub mod tariff;
pub mod time;
pub mod truncated;
pub mod units;
pub mod window;
pub mod wire;
