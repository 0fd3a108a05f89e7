//! The state of the sender, as far as its messages show it.

use crate::connections::wire::SenderMessage;

/// The packets that the sender has sent, and whether it is idle: it waits for its source. Messages of
/// several connections overtake each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    /// The largest sequence number that was sent.
    newest: u64,
    is_idle: bool,
}

impl Sending {
    /// Whether the sender is idle after a message, if the message shows that it was before or is now.
    pub(super) fn application_limited_by<P>(&mut self, message: &SenderMessage<P>) -> Option<bool> {
        let has_waited = match *message {
            SenderMessage::Packet {
                sequence,
                is_application_limited,
                ..
            } => self.on_packet(sequence) || is_application_limited,
            SenderMessage::Idle { packets } => self.on_idle(packets),
            SenderMessage::Welcome { .. }
            | SenderMessage::Refusal(_)
            | SenderMessage::End { .. } => false,
        };
        has_waited.then_some(self.is_idle)
    }

    /// Whether the sender was idle before this packet.
    fn on_packet(&mut self, sequence: u64) -> bool {
        let is_later = sequence > self.newest;
        self.newest = self.newest.max(sequence);
        is_later && core::mem::replace(&mut self.is_idle, false)
    }

    /// The sender was idle after `packets` packets; those on the way do not end that.
    fn on_idle(&mut self, packets: u64) -> bool {
        if self.newest <= packets {
            (self.newest, self.is_idle) = (packets, true);
        }
        true
    }
}
