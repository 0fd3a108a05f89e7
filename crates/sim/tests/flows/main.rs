//! Flows: the start of connections, the behaviour of receivers, the end of files, and measurement.

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
mod tunnel;
