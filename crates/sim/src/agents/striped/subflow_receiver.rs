//! One connection of a stream at its receiver.

use std::collections::VecDeque;

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use crate::tcp::{Receiver, Rto, RtoConfig, Segment, SegmentKind, TcpConfig};

/// A TCP receiver, and the packets of the stream in its segments.
#[derive(Clone, Debug)]
pub(super) struct SubflowReceiver {
    number: u32,
    ack_size: u32,
    receiver: Receiver,
    /// The request for the connection, until its first segment arrives.
    request: Option<Repeated>,
    /// The time from the request to the first segment, if the request was not repeated.
    set_up: Option<Duration>,
    /// The packets in the segments that have not arrived, in order.
    written: VecDeque<u64>,
    /// The packets that have arrived in order and that the application has not read.
    unread: VecDeque<u64>,
    /// The wanted window when everything is read, in segments; 0 once the connection is to end.
    window: u32,
    /// The update of a closed window, repeated until a segment arrives: if it were lost, both
    /// ends would wait forever.
    update: Option<Repeated>,
    /// The timer of updates.
    rto: RtoConfig,
}

/// A segment that is retransmitted until it is answered.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    rto: Rto,
    expires: Time,
    /// The time of transmission; `None` after a retransmission (Karn).
    sent: Option<Time>,
}

impl Repeated {
    /// A segment first sent at `now`.
    fn new(now: Time, rto: Rto) -> Self {
        Self {
            rto,
            expires: now + rto.timeout(),
            sent: Some(now),
        }
    }

    /// Whether to retransmit it now.
    fn expires(&mut self, now: Time) -> bool {
        if self.expires > now {
            return false;
        }
        self.rto.back_off();
        self.expires = now + self.rto.timeout();
        self.sent = None;
        true
    }
}

impl SubflowReceiver {
    /// A connection requested at `now`, with a window of `window` segments.
    pub(super) fn new(number: u32, window: u32, tcp: &TcpConfig, now: Time) -> Self {
        let request = Repeated::new(now, Rto::new(tcp.rto));
        let rto = tcp.rto;
        let tcp = TcpConfig {
            receiver_window: window,
            syn: true,
            ..*tcp
        };
        Self {
            number,
            ack_size: tcp.ack,
            receiver: Receiver::new(&tcp),
            request: Some(request),
            set_up: None,
            written: VecDeque::new(),
            unread: VecDeque::new(),
            window,
            update: None,
            rto,
        }
    }

    /// The request for it.
    pub(super) fn request(&self) -> Segment {
        Segment::new(SegmentKind::Request, self.number, 0, self.ack_size)
    }

    pub(super) fn note_written(&mut self, sequence: u64) {
        self.written.push_back(sequence);
    }

    /// The minimum of the times that its set-up and its windows took.
    pub(super) fn rtt(&self) -> Option<Duration> {
        let times = [self.set_up, self.receiver.rtt()];
        times.into_iter().flatten().min()
    }

    /// Sets the wanted window to `window` segments, of which unread packets take a part.
    pub(super) fn set_window(&mut self, window: u32) {
        self.window = window;
        let unread = u32::try_from(self.unread.len()).unwrap_or(u32::MAX);
        self.receiver.limit_window(window.saturating_sub(unread));
    }

    /// Sends an update if the window was closed and is open again. The sender does not probe (RFC
    /// 9293, 3.8.6.1): the receiver repeats the update until something arrives.
    pub(super) fn reopen(&mut self, now: Time, out: &mut impl FnMut(Segment)) {
        if let Some(update) = self.receiver.reopen() {
            self.update = Some(Repeated::new(now, Rto::new(self.rto)));
            out(update);
        }
    }

    /// Ends the connection after the data within its advertised window.
    pub(super) fn close(&mut self) {
        self.window = 0;
        self.update = None;
        // Before its first segment the receiver cannot accept even that data.
        if self.request.is_none() {
            self.receiver.close();
        }
    }

    /// Whether the connection is ending, all its data is read, and no ACK is pending.
    pub(super) fn is_exhausted(&self) -> bool {
        let owes = self.receiver.deadline().is_some();
        self.receiver.is_exhausted() && self.unread.is_empty() && !owes
    }

    /// The first unread packet.
    pub(super) fn front(&self) -> Option<u64> {
        self.unread.front().copied()
    }

    /// The number of unread packets.
    #[cfg(test)]
    pub(super) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Removes the first unread packet.
    pub(super) fn pop(&mut self) {
        self.unread.pop_front();
        if self.window > 0 {
            self.set_window(self.window);
        }
    }

    /// Accepts a segment; returns whether it is the first.
    pub(super) fn take(&mut self, now: Time, data: Segment, out: &mut impl FnMut(Segment)) -> bool {
        let request = self.request.take();
        self.update = None;
        if let Some(sent) = request.and_then(|request| request.sent) {
            self.set_up = Some(now.since(sent));
        }
        // Segment 0 is the SYN.
        let before = self.receiver.in_order().max(1);
        self.receiver.handle_input(now, data, out);
        if request.is_some() && self.window == 0 {
            self.receiver.close();
        }
        let more = self.receiver.in_order().saturating_sub(before) as usize;
        self.unread
            .extend(self.written.drain(..more.min(self.written.len())));
        if more > 0 && self.window > 0 {
            self.set_window(self.window);
        }
        request.is_some()
    }

    pub(super) fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Segment)) {
        self.receiver.handle_timeout(now, out);
        if self.request.as_mut().is_some_and(|r| r.expires(now)) {
            out(self.request());
        }
        if self.update.as_mut().is_some_and(|u| u.expires(now)) {
            out(self.receiver.ack());
        }
    }

    /// Stops repeating the window update.
    pub(super) fn rest(&mut self) {
        self.update = None;
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let request = self.request.map(|request| Deadline {
            at: request.expires,
            why: "request for a connection is sent again",
        });
        let update = self.update.map(|update| Deadline {
            at: update.expires,
            why: "update of a window is sent again",
        });
        let repeated = Deadline::earlier(request, update);
        Deadline::earlier(self.receiver.deadline(), repeated)
    }
}
