//! Retransmission of lost packets on other paths, before a deadline and within a budget.
//!
//! The receiver reports what arrived ([`Report`], made by a [`Reporter`]); the sender keeps each
//! packet until its deadline and sends it again once it is missing ([`Repair`]). Where a repair
//! would be late, a copy goes on a second path at once. Repairs and copies together never exceed a
//! share of the bytes sent and of 1 MiB ([`Budget`]).
//!
//! **Missing.** A path delivers its frames in order, but for the reordering that the receiver
//! measures. A packet that a report does not contain is missing on a path if
//!
//! 1. a frame that was sent later arrived on the path, or
//! 2. the report was made [`MARGIN`] or more after the packet was due, by the one-way delay of the
//!    path, or
//! 3. no report has covered it within the time in which one usually does, and [`SLACK`].
//!
//! The first detects losses between arrivals, the second a path that falls silent, the third lost
//! reports. Only differences of times of the same clock are compared, so that the clocks of sender
//! and receiver need not agree; drift is followed, because minimum delays expire
//! ([`Estimates`]).
//!
//! **Choice of paths.** A missing packet goes on the path that is expected to deliver it first and
//! that has not lost it; from the second repair on, on two paths. A first repair that can be
//! repeated goes on a path of the lowest cost. A packet that no path would deliver in time is given
//! up.

mod budget;
mod config;
mod credit;
mod delay;
mod estimates;
mod outstanding;
mod queue;
mod rate;
mod report;
mod reporter;
mod sender;
mod statistics;

pub use budget::{Budget, HEAD_START};
pub(crate) use config::check_deadline;
pub use config::{RepairConfig, RepairError, Share};
pub use estimates::{Estimates, PathEstimate};
pub use rate::{Delivery, PathLimit, PathRateController, TARGET_QUEUE};
pub use report::{MAX_BITMAP, PATH_LEN, PathArrival, REPORT_LEN, Report, SendTime};
pub use reporter::{MAX_TICKS, Reporter};
pub(crate) use reporter::{NumberedReport, ReportPaths};
pub use sender::{
    MARGIN, MAX_UNREPAIRED, OutgoingPacket, RISING_QUEUE, Repair, RepairOutput, SLACK,
};
pub use statistics::RepairStatistics;
