//! What tshark, a program that knows nothing of ours, reads out of captures.

mod analysis;
mod run;
mod well_formed;
