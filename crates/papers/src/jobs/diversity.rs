//! Y. Zhang, J. Chapin and V. W. S. Chan, "Failure of TCP Congestion Control under Diversity
//! Routing".

pub(crate) mod detection;
pub(crate) mod downloads;
pub(crate) mod exposure;
pub(crate) mod fading_links;
pub(crate) mod latecomer;
pub(crate) mod run;
pub(crate) mod setting;
