//! E. Steinbach, Y. Liang and B. Girod, "A Simulation Study of Packet Path Diversity for TCP File
//! Transfer and Media Transport on the Internet".

pub(crate) mod calibration;
pub(crate) mod delay_probe;
pub(crate) mod idle;
pub(crate) mod moments;
pub(crate) mod pairs;
pub(crate) mod search;
pub(crate) mod setting;
pub(crate) mod transfers;
