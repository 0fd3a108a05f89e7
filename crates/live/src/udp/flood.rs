//! Protection against floods of datagrams from strangers.
//!
//! Reading a datagram and checking its header costs some microseconds. The kernel drops a
//! stranger's datagram for a fraction of that ([`super::filter`]), but does not report why; so the
//! filter is attached only while there are many.

use std::mem::{replace, take};

use polypath_session::event::Reject;

use super::PathSocket;
use super::filter::{Admitted, Handshakes};

/// Datagrams of strangers per second that start a flood: reading them takes about 1 % of a
/// processor.
pub(crate) const MANY_PER_SECOND: u64 = 2000;
/// Seconds with fewer datagrams that end a flood.
pub(crate) const CALM_SECONDS: u32 = 10;
/// Handshakes of strangers that are read per second, at most: besides the system calls that read
/// them and send cookies, each takes 0.7 us (`cargo bench -p polypath-session --bench flood`). Of
/// more only a share is read, and a peer at an unknown address may need several attempts.
const MAX_HANDSHAKES: u64 = 20_000;
/// The least share of handshakes that is read is one in this number.
const MAX_SHARE: u64 = 1 << 16;

/// Counts the datagrams of strangers at a socket, and filters them during a flood.
#[derive(Debug, Default)]
pub(crate) struct FloodGuard {
    /// Datagrams of strangers read in this second, without handshakes.
    junk: u64,
    /// Rejected handshakes and cookie replies read in this second.
    handshakes: u64,
    alarm: Alarm,
    share: HandshakeShare,
    /// The filter that is attached, if one is.
    filter: Option<Filter>,
    /// The kernel's drop counter at the end of the last second.
    drops: u32,
}

/// The datagrams that the kernel passes to a socket during a flood.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    admitted: Admitted,
    handshakes: Handshakes,
}

/// Detects the start and the end of a flood.
#[derive(Debug, Default)]
struct Alarm {
    is_on: bool,
    /// Seconds with few datagrams.
    calm_seconds: u32,
}

/// The share of handshakes that passes the filter.
#[derive(Debug)]
struct HandshakeShare {
    /// One in this number passes: a power of two.
    one_in: u32,
    /// Seconds in which a larger share could have passed.
    calm_seconds: u32,
}

impl Default for HandshakeShare {
    fn default() -> Self {
        Self {
            one_in: 1,
            calm_seconds: 0,
        }
    }
}

impl HandshakeShare {
    /// Handles the number of handshakes that were read in a second. That of those that arrived is
    /// estimated by the share.
    fn end_second(&mut self, read: u64) {
        let arrived = read.saturating_mul(u64::from(self.one_in));
        let wanted = arrived.div_ceil(MAX_HANDSHAKES).min(MAX_SHARE);
        let wanted = u32::try_from(wanted.next_power_of_two()).unwrap_or(u32::MAX);
        self.calm_seconds = if wanted < self.one_in {
            self.calm_seconds + 1
        } else {
            0
        };
        if wanted > self.one_in || self.calm_seconds >= CALM_SECONDS {
            self.one_in = wanted;
            self.calm_seconds = 0;
        }
    }

    fn handshakes(&self) -> Handshakes {
        match self.one_in {
            1 => Handshakes::All,
            one_in => Handshakes::OneIn(one_in),
        }
    }
}

impl Alarm {
    /// Handles the count of a second.
    fn end_second(&mut self, count: u64) {
        let is_many = count >= MANY_PER_SECOND;
        self.calm_seconds = if is_many { 0 } else { self.calm_seconds + 1 };
        self.is_on = is_many || (self.is_on && self.calm_seconds < CALM_SECONDS);
    }
}

impl FloodGuard {
    /// Counts a datagram of a stranger that was rejected for `reason`; none from an address that the
    /// filter passes.
    pub(crate) fn count(&mut self, reason: Reject) {
        match reason {
            Reject::UnknownIndex | Reject::UnknownType | Reject::Truncated | Reject::Oversized => {
                self.junk += 1;
            }
            // Some of them are cheap copies of what the peer sent: anyone can record and repeat it.
            Reject::BadMac
            | Reject::Throttled
            | Reject::CookieRequired
            | Reject::UnexpectedInitiation
            | Reject::UnexpectedCookie
            | Reject::StaleTimestamp
            | Reject::HandshakeCopy => self.handshakes += 1,
            // Those that were decrypted have budgets; the others carry an index that the filter
            // admits, so that no share of them reduces what is read.
            Reject::UnknownPath
            | Reject::WrongKey
            | Reject::TooManyResponses
            | Reject::Undecryptable
            | Reject::WrongResponse
            | Reject::Simultaneous
            | Reject::Replayed
            | Reject::BehindWindow
            | Reject::WrongPath
            | Reject::Malformed
            | Reject::WrongMark => {}
        }
    }

    /// Ends a second: attaches or detaches the filter of `socket`, and returns the number of
    /// datagrams that the kernel dropped in that second.
    pub(crate) fn guard(
        &mut self,
        socket: &PathSocket,
        path: &str,
        admitted: impl FnOnce() -> Admitted,
    ) -> u32 {
        let dropped = self.take_drops(socket);
        let (junk, read) = (take(&mut self.junk), take(&mut self.handshakes));
        let was_on = self.filter.is_some();
        self.share.end_second(read);
        let strangers = junk + read;
        let filtered = if was_on { u64::from(dropped) } else { 0 };
        self.alarm.end_second(strangers + filtered);
        let wanted = self.alarm.is_on.then(|| self.wanted(admitted()));
        if !self.apply(socket, wanted) {
            return dropped;
        }
        match (was_on, self.alarm.is_on) {
            (false, true) => tracing::warn!(
                path,
                datagrams = strangers,
                "a flood of datagrams from strangers: the kernel drops them until it ends"
            ),
            (true, false) => {
                tracing::info!(path, "the flood of datagrams from strangers has ended");
            }
            _ => {}
        }
        dropped
    }

    /// Updates the filter, if one is attached, to what is `admitted` now.
    pub(crate) fn update(&mut self, socket: &PathSocket, admitted: impl FnOnce() -> Admitted) {
        if self.filter.is_some() {
            let wanted = self.wanted(admitted());
            self.apply(socket, Some(wanted));
        }
    }

    /// The share of handshakes that passes the filter while one is attached.
    #[cfg(test)]
    pub(crate) fn handshakes(&self) -> Handshakes {
        self.share.handshakes()
    }

    fn wanted(&self, admitted: Admitted) -> Filter {
        Filter {
            admitted,
            handshakes: self.share.handshakes(),
        }
    }

    /// Attaches or detaches the filter; returns whether that succeeded.
    fn apply(&mut self, socket: &PathSocket, wanted: Option<Filter>) -> bool {
        if wanted == self.filter {
            return true;
        }
        let done = match &wanted {
            Some(filter) => socket.attach_filter(&filter.admitted, filter.handshakes),
            None => socket.detach_filter(),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the filter against floods cannot be changed");
            return false;
        }
        self.filter = wanted;
        true
    }

    /// The number of datagrams that the kernel dropped since the last call.
    fn take_drops(&mut self, socket: &PathSocket) -> u32 {
        let drops = socket.kernel_drops().unwrap_or(self.drops);
        let before = replace(&mut self.drops, drops);
        drops.wrapping_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share after a second in which `arrived` handshakes arrived.
    fn share_after(share: &mut HandshakeShare, arrived: u64) -> Handshakes {
        share.end_second(arrived / u64::from(share.one_in));
        share.handshakes()
    }

    #[test]
    fn the_share_of_handshakes_follows_their_rate() {
        let mut share = HandshakeShare::default();
        assert_eq!(share_after(&mut share, MAX_HANDSHAKES), Handshakes::All);
        assert_eq!(share_after(&mut share, 100_000), Handshakes::OneIn(8));
        assert_eq!(share_after(&mut share, 1_000_000), Handshakes::OneIn(64));
        for _ in 1..CALM_SECONDS {
            assert_eq!(share_after(&mut share, 100_000), Handshakes::OneIn(64));
        }
        assert_eq!(share_after(&mut share, 100_000), Handshakes::OneIn(8));
        for _ in 0..CALM_SECONDS {
            share_after(&mut share, 0);
        }
        assert_eq!(share.handshakes(), Handshakes::All);
        share.end_second(u64::MAX);
        assert_eq!(share.handshakes(), Handshakes::OneIn(1 << 16));
    }

    /// Whatever is read in a second, the share of the next one is a power of two within its bounds,
    /// and no more would be read of the same handshakes than is affordable, or the share is the
    /// least.
    #[test]
    fn every_share_and_count_give_a_share_within_the_bounds() {
        let reads = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let reads: Vec<u64> = reads
            .chain([MAX_HANDSHAKES, MAX_HANDSHAKES + 1, u64::MAX])
            .collect();
        for one_in in (0..=16).map(|bits| 1_u32 << bits) {
            for calm_seconds in 0..CALM_SECONDS {
                for &read in &reads {
                    let mut share = HandshakeShare {
                        one_in,
                        calm_seconds,
                    };
                    share.end_second(read);
                    let next = u64::from(share.one_in);
                    assert!(next.is_power_of_two() && next <= MAX_SHARE);
                    assert!(share.calm_seconds < CALM_SECONDS);
                    let arrived = read.saturating_mul(one_in.into());
                    assert!(arrived / next <= MAX_HANDSHAKES || next == MAX_SHARE);
                    let is_smaller = share.one_in < one_in;
                    assert!(!is_smaller || calm_seconds + 1 == CALM_SECONDS);
                }
            }
        }
    }

    /// All sequences of seconds with many and few datagrams: a flood lasts until ten seconds in a
    /// row had few.
    #[test]
    fn the_alarm_is_on_if_one_of_the_last_ten_seconds_had_many_datagrams() {
        const SECONDS: u32 = 14;
        let recent = (1 << CALM_SECONDS) - 1;
        for sequence in 0..1_u32 << SECONDS {
            let mut alarm = Alarm::default();
            let mut history = 0;
            for second in 0..SECONDS {
                let is_many = sequence >> second & 1;
                history = history << 1 | is_many;
                alarm.end_second(MANY_PER_SECOND - 1 + u64::from(is_many));
                assert_eq!(alarm.is_on, history & recent != 0, "{sequence:b}, {second}");
            }
        }
    }
}
