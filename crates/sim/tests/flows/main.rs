//! Flows: how their connections begin, what their receivers do, how their files end, and what is
//! measured of them.

mod connections;
mod datagrams;
mod files;
mod lossy_windows;
mod multihomed;
mod receiver_rtt;
mod receiver_window;
mod recorder;
mod spaced;
mod striped;
