//! P. Mantovani Antunes, G. de Souza Miguel, C. M. Pedroso and E. Parente Ribeiro, "On the
//! stability of multiple delay-centric multi-homed transmissions".

pub(crate) mod mechanism;
pub(crate) mod runs;
pub(crate) mod testbed;
