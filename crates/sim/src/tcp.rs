//! TCP end hosts like those of ns-2, in units of segments.
//!
//! # Model
//!
//! A connection carries data in one direction, in segments of a fixed size on the wire. The whole
//! size counts as data, as in ns-2 with `useHeaders_ false`, and a file is a whole number of
//! segments. Sequence numbers count segments from 0. There is no FIN: a connection ends when its
//! data is acknowledged.
//!
//! *Variants.* A [`Variant`] selects both loss recovery and window growth:
//!
//! | variant | loss recovery | window growth |
//! | --- | --- | --- |
//! | `tahoe` | slow start after three duplicate ACKs | [`Reno`] |
//! | `reno` | fast recovery until the first new ACK (RFC 5681) | [`Reno`] |
//! | `newreno` | fast recovery until all data sent before is acknowledged (RFC 6582) | [`Reno`] |
//! | `sack` | selective acknowledgments (RFC 6675) | [`Reno`] |
//! | `cubic` | selective acknowledgments (RFC 6675) | [`Cubic`] (RFC 9438) |
//! | `bbr` | selective acknowledgments (RFC 6675) | [`Bbr`] (version 1), with pacing |
//!
//! *Sender* ([`Sender`]): the constants of ns-2 2.35. The initial window is 2, and the initial
//! ssthresh is the receiver window. For each new ACK the window grows by 1 in slow start and by
//! 1/cwnd in congestion avoidance. Three duplicate ACKs start fast retransmit; limited transmit
//! (RFC 3042) applies. After a timeout the sender goes back to the first unacknowledged segment and
//! skips selectively acknowledged ones. All losses of one window reduce it once: no fast retransmit
//! starts before all segments sent before the last reduction are acknowledged, and without SACK one
//! more (ns-2's `bugFix_`, the `recover` of RFC 6582). A random [`Overhead`] may delay the segments
//! that an ACK releases. If the sender is observed, a [`TcpEvent`] reports every change of the
//! window and every step of loss recovery.
//!
//! *Timer* ([`Rto`]): RFC 6298 in integer ticks of 10 ms, at least 0.2 s, at most 60 s, and 3 s
//! before the first measurement. One segment at a time is timed, never a retransmitted one (Karn).
//! The back-off ends with the next measurement, which counts the ticks of the host's clock. All
//! clocks tick from the start of the run; those of ns-2 have a random phase (`boot_time_`). The
//! results are equal if connections start and send at times unrelated to the tick.
//!
//! *Receiver* ([`Receiver`]): a cumulative ACK for every segment, or for every second one in order,
//! with up to three SACK blocks of 8 bytes each on the wire. The application may change the
//! receiver window at any time; the right edge never moves back. The receiver estimates the
//! round-trip time as the time in which a window arrives, and emits an event for each estimate.
//!
//! *ECN* (RFC 3168): new data is ECT(0), retransmissions are not ECN-capable. The sender reacts to
//! a mark as to a loss, at most once per window. Both ends are assumed to have negotiated ECN.
//!
//! *Connection set-up.* The first segment of a background connection is a SYN, as in ns-2: it has
//! the size of an ACK, is alone in flight, and its ACK opens the initial window. The measured
//! transfers ([`Client`], [`Server`]) have a SYN, a SYN-ACK and a request, each with its own timer
//! and exponential back-off; both ends use the round-trip time of the set-up as their first
//! measurement. In both cases the set-up takes one round-trip time. Without set-up (`syn_` and
//! `delay_growth_` false in ns-2) segment 0 is data, the initial window is sent immediately, and
//! data gives the first measurement.
//!
//! *Known differences from the RFCs*, all inherited from ns-2: a reduction uses half of min(cwnd,
//! receiver window), with its fraction, instead of half of the flight size, and a second timeout of
//! the same segment halves it again. The window grows by ACKs, not by bytes. `NewReno` deflates the
//! window below the threshold if more segments are acknowledged than duplicates were counted, keeps
//! it there, and sends at most two segments for an ACK in fast recovery. Marks do not reduce a
//! window of one segment further.
//!
//! *Known differences from ns-2*: SACK is that of RFC 6675 (its pipe; a hole is lost once three
//! segments beyond it have arrived), while `Agent/TCP/Sack1` counts ACKs and regards every hole as
//! lost. No variant retransmits selectively acknowledged segments, even after a timeout. The
//! retransmission timer stops if nothing is outstanding, and restarts with every ACK of new data in
//! SACK recovery. ECN follows RFC 3168, while ns-2 marks retransmissions as ECN-capable and lets
//! windows fall below one segment. `CUBIC` has no equivalent among ns-2's own agents.
//!
//! *Known differences from the draft of BBR*: the initial window is not paced; three segments, in
//! place of three quanta, keep the window open; the first phase of a cycle follows from the time and
//! not from a random number; and there is neither limited transmit nor send overhead.

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
pub use congestion::{Bbr, Congestion, CongestionControl, Cubic, DeliverySample, Reduced, Reno};
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
