//! TCP end hosts as ns-2 has them, in units of segments.
//!
//! # The model
//!
//! A connection carries data one way, in segments of a fixed size on the wire; the size counts as
//! data in full, as in ns-2 with `useHeaders_ false`, and a file is a whole number of segments.
//! Sequence numbers count segments from 0. There is no FIN: a connection ends when its data is
//! acknowledged.
//!
//! *Variants* ([`Variant`]) are two choices in one: how a loss is repaired, and how the window
//! grows.
//!
//! | variant | a loss is repaired by | the window grows by |
//! | --- | --- | --- |
//! | `tahoe` | slow start after three duplicate ACKs | [`Reno`] |
//! | `reno` | fast recovery to the first new ACK (RFC 5681) | [`Reno`] |
//! | `newreno` | fast recovery to the ACK of all that was sent before (RFC 6582) | [`Reno`] |
//! | `sack` | selective acknowledgments (RFC 6675) | [`Reno`] |
//! | `cubic` | selective acknowledgments (RFC 6675) | [`Cubic`] (RFC 9438) |
//!
//! *Sender* ([`Sender`]): the constants of ns-2 2.35: initial window 2, initial ssthresh = the
//! receiver window, slow start by 1 and congestion avoidance by 1/cwnd for each new ACK, three
//! duplicate ACKs, limited transmit (RFC 3042), go-back-N from the first unacknowledged segment
//! after a timeout, past what is selectively acknowledged. All losses of a window reduce it once:
//! no fast retransmit happens before everything that was sent up to the last reduction is
//! acknowledged, and without SACK one segment more (ns-2's `bugFix_`, the `recover` of RFC 6582).
//! What an ACK lets it send may wait for a random [`Overhead`]. Events ([`TcpEvent`]) report every
//! change of the window and every step of loss recovery, if the sender is observed.
//!
//! *Timer* ([`Rto`]): RFC 6298 in integer ticks of 10 ms, least 0.2 s, greatest 60 s, 3 s before
//! the first measurement; one segment at a time is timed and none that was retransmitted (Karn);
//! the back-off ends with the next measurement. A measurement is the number of ticks of the host's
//! clock that pass. All clocks tick at the start of the run, in ns-2 each at a random phase
//! (`boot_time_`): where connections begin and send at times that have nothing to do with the tick,
//! that is the same.
//!
//! *Receiver* ([`Receiver`]): a cumulative ACK for every segment, or for every second one in order;
//! up to three SACK blocks, of 8 bytes each on the wire. The application may change the receiver
//! window at any time; its right edge never moves back. The receiver estimates the round-trip time
//! by the time that a window takes to arrive, which is an event each time.
//!
//! *ECN* (RFC 3168): new data is ECT(0), what is sent again is not; a mark is answered like a loss,
//! once a window. Both ends are taken to have agreed on it.
//!
//! *Set-up*: the first segment of a background connection is a SYN, as in ns-2: of the size of an
//! ACK, alone in flight, and its ACK opens the initial window. The measured transfers ([`Client`],
//! [`Server`]) have a SYN, a SYN-ACK and a request, each with a timer of its own and exponential
//! back-off, and both ends take the round-trip time of the set-up for their first measurement.
//! Either way the set-up costs one round-trip time more than the data. Without set-up (ns-2's
//! `syn_` and `delay_growth_` false) segment 0 is data, the initial window goes at once, and the
//! first measurement is of data.
//!
//! *Known differences from the RFCs*, all of them ns-2's: half of min(cwnd, receiver window) takes
//! the place of half of the flight size, with its fraction, and a second timeout of the same
//! segment takes the half once more. The window grows by ACKs, not by bytes. `NewReno` deflates the
//! window below the threshold if more is acknowledged than duplicates were counted, leaves it
//! there, and sends at most two segments for an ACK in fast recovery. A window of one segment is
//! not reduced further by marks.
//!
//! *Known differences from ns-2*: SACK is RFC 6675 (its pipe, and holes are lost when three
//! segments beyond them have arrived), where `Agent/TCP/Sack1` counts ACKs and holds every hole for
//! lost; and no variant sends again what was selectively acknowledged, even after a timeout. The
//! retransmission timer rests while nothing is outstanding, and restarts with every ACK of new data
//! in SACK's recovery. ECN follows RFC 3168 where ns-2 marks retransmissions as capable and lets
//! windows fall below one segment. `CUBIC` has no counterpart among ns-2's own agents.

mod client;
mod config;
mod congestion;
mod event;
mod overhead;
mod ranges;
mod receiver;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod server;
mod window;

pub use client::{Client, ClientInput};
pub use config::TcpConfig;
pub use congestion::{Congestion, CongestionControl, Cubic, Reduced, Reno};
pub use event::{RecoveryKind, TcpEvent, TcpOutput};
pub use overhead::Overhead;
pub use polypath_scenario::TcpVariant as Variant;
pub use ranges::{Range, RangeSet};
pub use receiver::Receiver;
pub use rto::{Rto, RtoConfig};
pub use segment::{EcnFlags, SackBlocks, Segment, SegmentKind};
pub use sender::{Sender, SenderStats};
pub use server::Server;

#[cfg(test)]
mod tests;
