//! Captures, read by tshark as an independent program.

mod analysis;
mod run;
mod well_formed;
