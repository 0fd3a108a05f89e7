//! Windows in packets that a receiver sets by credits, beside the windows of its kernel.

use alloc::collections::{BTreeMap, BTreeSet};

use super::parameters::Target;
use crate::machine::Deadline;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Windows below this number of packets are set by credits: those of a kernel have a minimum of one
/// segment, and steps of up to 1 kB.
const COARSE: u32 = 16;
/// One that the kernel set remains with it down to this number: where a window moves about
/// [`COARSE`], each change between the two would send a window more.
const STILL_COARSE: u32 = 12;

/// The most by which paced credits make up for late calls.
const CATCH_UP: Duration = Duration::from_millis(5);

/// The credits of the connections of a stream: the number of packets that each may have carried in
/// all ([`SenderInput::Credit`](super::SenderInput)).
///
/// A connection with a window of w packets and a arrived ones has a credit of a + w, so that w are in
/// flight as with a TCP window of that size. A window of at least 16 packets is left to the kernel
/// ([`WindowControl::Kernel`]), and the credit is twice as large.
///
/// **One packet a round trip is the smallest window**, and more than the target where the round-trip
/// time is short: n connections then carry n packets a round trip. The paper has no remedy (its
/// windows are whole segments). While all windows have one packet, credits are given at the rate of
/// the target and half of the guard lambda, where Algorithm 1 changes no window.
///
/// **The round-trip time may be less than its estimate**, as when acknowledgements were delayed while
/// nothing was sent. Windows that were set for the estimate would then carry a multiple of the target.
/// So credits of larger windows are given at most at 5/4 of the windows over the estimate.
#[derive(Clone, Debug)]
pub struct Credits {
    /// The interval of packets at the smallest windows.
    interval: Duration,
    target: Target,
    guard: Rate,
    /// The estimate of the round-trip time; `None` before there is one.
    rtt: Option<Duration>,
    connections: BTreeMap<u32, Connection>,
    /// The connections whose credit is due.
    due: BTreeSet<u32>,
    windows: WindowSummary,
    /// The connection that had the last credit.
    last: u32,
    /// The number of packets of the stream received that the sender knows of, and the growth after
    /// which it has to know more.
    reported: u64,
    unreported: u64,
    /// The time from which the next credit may be given.
    next: Time,
    now: Time,
}

/// The mechanism that limits the packets in flight on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowControl {
    /// Credits at the rate of the target: a packet a round trip exceeds it.
    PacedCredits,
    /// Credits, since the window is too small for the kernel.
    #[default]
    Credits,
    /// The receiver window of the kernel.
    Kernel,
}

impl WindowControl {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacedCredits => "paced credits",
            Self::Credits => "credits",
            Self::Kernel => "the kernel",
        }
    }
}

/// A credit to be sent to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The connection.
    pub connection: u32,
    /// The number of packets that it may have carried in all.
    pub packets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    window: u32,
    /// Whether the kernel limits it, and not its credit.
    is_kernels: bool,
    /// The number of packets that arrived on it.
    arrived: u64,
    credit: u64,
}

impl Credits {
    /// No connections; `guard` is the lambda of Algorithm 1, and `buffer` the number of packets that
    /// the receiver buffers, and so the sender keeps.
    #[must_use]
    pub fn new(target: Target, guard: Rate, buffer: u32) -> Self {
        Self {
            interval: interval(target, guard),
            target,
            guard,
            rtt: None,
            connections: BTreeMap::new(),
            due: BTreeSet::new(),
            windows: WindowSummary::default(),
            last: 0,
            reported: 0,
            unreported: u64::from(buffer / 4).max(1),
            next: Time::ZERO,
            now: Time::ZERO,
        }
    }

    /// Sets the rate of the target.
    pub fn set_rate(&mut self, rate: Rate) {
        if self.target.rate != rate {
            self.target.rate = rate;
            self.interval = interval(self.target, self.guard);
        }
    }

    /// Sets the estimate of the round-trip time by which the windows are chosen.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// Sets the window of a connection in packets, at least 1. An unknown connection is added.
    pub fn set_window(&mut self, connection: u32, packets: u32) {
        let added = Connection {
            window: 1,
            is_kernels: false,
            arrived: 0,
            credit: 0,
        };
        let known = self.connections.entry(connection).or_insert(added);
        known.window = packets.max(1);
        let least = if known.is_kernels {
            STILL_COARSE
        } else {
            COARSE
        };
        known.is_kernels = known.window >= least;
        self.update_due(connection);
        self.windows = WindowSummary::of(self.connections.values());
    }

    /// Notes that a packet arrived on a connection.
    pub fn on_packet(&mut self, connection: u32) {
        if let Some(used) = self.connections.get_mut(&connection) {
            used.arrived += 1;
            self.update_due(connection);
        }
    }

    /// Gives no more credit to a connection.
    pub fn remove(&mut self, connection: u32) {
        if self.connections.remove(&connection).is_some() {
            self.due.remove(&connection);
            self.windows = WindowSummary::of(self.connections.values());
        }
    }

    fn update_due(&mut self, connection: u32) {
        if self
            .connections
            .get(&connection)
            .is_some_and(Connection::is_due)
        {
            self.due.insert(connection);
        } else {
            self.due.remove(&connection);
        }
    }

    /// The mechanism that limits the packets in flight: that of the largest window.
    #[must_use]
    pub const fn control(&self) -> WindowControl {
        self.windows.control
    }

    /// The window of a connection for the kernel, in packets: larger than the one of credits, which
    /// then is the one that limits; `None` for an unknown connection.
    #[must_use]
    pub fn kernel_window(&self, connection: u32) -> Option<u32> {
        let known = self.connections.get(&connection)?;
        Some(if known.is_kernels {
            known.window
        } else {
            known.window + COARSE
        })
    }

    /// Passes on the credits that are due now.
    ///
    /// A credit is due when it is larger than the one before by a quarter of the window, so that at
    /// least three quarters of it are in flight. The number of packets of the stream `received` in
    /// order goes with each; a credit is repeated for it where none is due, since a sender waits
    /// that has sent as much as the receiver buffers.
    pub fn give(&mut self, now: Time, received: u64, out: &mut impl FnMut(Credit)) {
        self.now = now;
        let mut has_reported = false;
        self.give_due(now, &mut |credit| {
            has_reported = true;
            out(credit);
        });
        if has_reported {
            self.reported = received;
        } else if received >= self.reported + self.unreported
            && let Some((connection, known)) = self.connections.first_key_value()
        {
            self.reported = received;
            out(Credit {
                connection: *connection,
                packets: known.credit,
            });
        }
    }

    fn give_due(&mut self, now: Time, out: &mut impl FnMut(Credit)) {
        let interval = self.least_interval();
        while let Some(connection) = self.next_due() {
            if interval.is_some() && self.next > now {
                return;
            }
            let Some(known) = self.connections.get_mut(&connection) else {
                return;
            };
            let before = known.credit;
            known.credit = known.entitlement();
            let packets = known.credit;
            self.due.remove(&connection);
            if let Some(interval) = interval {
                // A late call is made up for, a pause is not.
                self.next = (self.next + interval * (packets - before)).max(now - CATCH_UP);
            }
            self.last = connection;
            out(Credit {
                connection,
                packets,
            });
        }
    }

    /// The least interval of credits; `None` if they are not paced.
    fn least_interval(&self) -> Option<Duration> {
        match self.control() {
            WindowControl::PacedCredits => Some(self.interval),
            WindowControl::Kernel => None,
            WindowControl::Credits => {
                let of_windows = Duration((self.rtt? * 4).0 / 5 / self.windows.sum.max(1));
                Some(of_windows.min(self.interval))
            }
        }
    }

    /// The connection whose credit is due, in turn.
    fn next_due(&self) -> Option<u32> {
        let after = self.due.range(self.last.saturating_add(1)..).next();
        after.or_else(|| self.due.first()).copied()
    }

    /// The time of the next credit, if one is delayed.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        (!self.due.is_empty() && self.least_interval().is_some()).then(|| Deadline {
            at: self.next.max(self.now),
            why: "credit at the rate of the windows",
        })
    }
}

/// All windows together, which change less often than packets arrive.
#[derive(Clone, Copy, Debug)]
struct WindowSummary {
    control: WindowControl,
    /// Their sum in packets.
    sum: u64,
}

impl Default for WindowSummary {
    fn default() -> Self {
        Self::of([].iter())
    }
}

impl WindowSummary {
    fn of<'a>(connections: impl Iterator<Item = &'a Connection> + Clone) -> Self {
        let windows = connections
            .clone()
            .map(|known| (known.window, known.is_kernels));
        Self {
            control: match windows.max().unwrap_or((1, false)) {
                (_, true) => WindowControl::Kernel,
                (1, false) => WindowControl::PacedCredits,
                _ => WindowControl::Credits,
            },
            sum: connections.map(|known| u64::from(known.window)).sum(),
        }
    }
}

impl Connection {
    /// The credit that its window permits.
    fn entitlement(&self) -> u64 {
        let window = u64::from(self.window);
        self.arrived + if self.is_kernels { 2 * window } else { window }
    }

    fn is_due(&self) -> bool {
        let step = u64::from(self.window / 4).max(1);
        self.entitlement() >= self.credit + step
    }
}

/// The interval of packets at the rate of the target and half of lambda.
fn interval(target: Target, guard: Rate) -> Duration {
    let rate = Rate(target.rate.0.saturating_add(guard.0 / 2).max(1));
    rate.transmission_time(target.segment)
}
