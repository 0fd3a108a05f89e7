//! The multipath mechanisms of polypath as machines: no I/O, no clock, no entropy.
//!
//! Each mechanism of the papers stands here once. The simulator, the lab and the live runtime drive the
//! same code through [`machine::step`], so that a result of the simulator is a statement about the code
//! that is deployed.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod combine;
pub mod connections;
pub mod endpoint;
pub mod estimate;
pub mod event;
pub mod frame;
pub mod liveness;
pub mod machine;
pub mod math;
pub mod packet;
pub mod pmtu;
pub mod policy;
pub mod rng;
pub mod spacing;
pub mod time;
pub mod units;
pub mod window;
pub mod wire;
