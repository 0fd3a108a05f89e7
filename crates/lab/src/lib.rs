//! A scenario between real programs.

pub mod emulation;
mod ends;
mod error;
mod http;
pub mod namespace;
pub mod network;
mod node;
mod plan;
mod preflight;
mod program;

pub use ends::Ends;
pub use error::LabError;
pub use preflight::{Footing, Refusal, enter_user_namespace, preflight};
