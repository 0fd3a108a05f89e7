//! S. Tullimas, T. Nguyen, R. Edgecombe and S. Cheung, "Multimedia Streaming Using Multiple TCP
//! Connections".

pub(crate) mod in_lab;
pub(crate) mod losses;
pub(crate) mod parameters;
pub(crate) mod setting;
pub(crate) mod time_series;
