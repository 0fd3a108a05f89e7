//! The TCP header of a segment.

use etherparse::{TcpHeader, TcpOptionElement};
use polypath_sim::tcp::{Segment, SegmentKind, TcpConfig};

use crate::address::Direction;
use crate::connection::Origins;

/// Headers of IPv4 and TCP without options, in bytes.
const HEADERS: u32 = 40;
/// The maximum window scale (RFC 7323, 2.3).
const MAX_SHIFT: u8 = 14;
/// The window that the sender of the data advertises, in bytes.
const UNUSED_WINDOW: u16 = u16::MAX;

/// The common parameters of the headers of a flow's segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentFormat {
    /// Bytes of the stream in a segment: the maximum segment size (RFC 9293, 3.7.1).
    payload: u32,
    /// The first segment with data: 1 after a SYN.
    first_data: u32,
    /// The window scale of the receiver, in bits; 0 without a handshake to negotiate it.
    shift: u8,
    selective: bool,
    ecn: bool,
}

impl SegmentFormat {
    pub(crate) fn new(tcp: &TcpConfig) -> Self {
        let payload = tcp.segment.saturating_sub(HEADERS).max(1);
        let window = u64::from(tcp.receiver_window) * u64::from(payload);
        let fits = |shift: &u8| u16::try_from(window.div_ceil(1 << shift)).is_ok();
        Self {
            payload,
            first_data: u32::from(tcp.syn),
            shift: if tcp.syn {
                (0..MAX_SHIFT).find(fits).unwrap_or(MAX_SHIFT)
            } else {
                0
            },
            selective: tcp.variant.selective(),
            ecn: tcp.ecn,
        }
    }

    /// The first segment with data.
    pub(crate) const fn first_data(&self) -> u32 {
        self.first_data
    }

    /// The bytes of the stream that a segment carries.
    pub(crate) fn payload(&self, segment: &Segment) -> u32 {
        let has_data = segment.kind == SegmentKind::Data && segment.number >= self.first_data;
        if has_data { self.payload } else { 0 }
    }

    /// The header of a segment that the sender of the data sends; its checksum is left 0.
    pub(crate) fn header_forward(
        &self,
        segment: &Segment,
        direction: Direction,
        origins: Origins,
    ) -> TcpHeader {
        let sequence = self.position(origins.source, segment.number);
        let mut header = TcpHeader::new(
            direction.from.port,
            direction.to.port,
            sequence,
            UNUSED_WINDOW,
        );
        if segment.number < self.first_data {
            header.syn = true;
            header.ece = self.ecn;
            header.cwr = self.ecn;
            self.set_handshake_options(&mut header, 0);
        } else {
            header.ack = true;
            header.acknowledgment_number = origins.sink.wrapping_add(1);
            header.cwr = segment.ecn_flags.reduced;
        }
        header
    }

    /// The header of an ACK that the receiver of the data sends, as part of the handshake or after
    /// it; its checksum is left 0.
    pub(crate) fn header_reverse(
        &self,
        ack: &Segment,
        direction: Direction,
        origins: Origins,
        established: bool,
    ) -> TcpHeader {
        let answers_syn = !established && self.first_data > 0 && ack.number == self.first_data;
        let sequence = origins.sink.wrapping_add(u32::from(!answers_syn));
        let unit = if answers_syn { 0 } else { self.shift };
        let window = self.window(ack.window, unit);
        let mut header = TcpHeader::new(direction.from.port, direction.to.port, sequence, window);
        header.ack = true;
        header.acknowledgment_number = self.position(origins.source, ack.number);
        header.ece = ack.ecn_flags.echo;
        if answers_syn {
            header.syn = true;
            header.ece = self.ecn;
            self.set_handshake_options(&mut header, self.shift);
        } else {
            self.set_blocks(&mut header, ack, origins);
        }
        header
    }

    /// The sequence number of the first byte of a segment.
    fn position(&self, origin: u32, number: u32) -> u32 {
        let syn = u32::from(self.first_data > 0 && number > 0);
        let data = number.saturating_sub(self.first_data);
        origin
            .wrapping_add(syn)
            .wrapping_add(data.wrapping_mul(self.payload))
    }

    /// A window of `segments` in units of 2^`shift` bytes.
    fn window(&self, segments: u32, shift: u8) -> u16 {
        let bytes = u64::from(segments) * u64::from(self.payload);
        u16::try_from(bytes.div_ceil(1 << shift)).unwrap_or(u16::MAX)
    }

    fn set_handshake_options(&self, header: &mut TcpHeader, shift: u8) {
        let greatest = u16::try_from(self.payload).unwrap_or(u16::MAX);
        let greatest = [TcpOptionElement::MaximumSegmentSize(greatest)];
        let scale = [TcpOptionElement::Noop, TcpOptionElement::WindowScale(shift)];
        let selective = [
            TcpOptionElement::Noop,
            TcpOptionElement::Noop,
            TcpOptionElement::SelectiveAcknowledgementPermitted,
        ];
        let scale = scale.into_iter().filter(|_| self.shift > 0);
        let selective = selective.into_iter().filter(|_| self.selective);
        let options = greatest.into_iter().chain(scale).chain(selective);
        set_options(header, &options.collect::<Vec<_>>());
    }

    fn set_blocks(&self, header: &mut TcpHeader, ack: &Segment, origins: Origins) {
        let mut blocks = ack.sack.iter(ack.number).map(|block| {
            let edge = |number| self.position(origins.source, number);
            (edge(block.start), edge(block.end))
        });
        let Some(first) = blocks.next() else { return };
        let others = [blocks.next(), blocks.next(), blocks.next()];
        let blocks = TcpOptionElement::SelectiveAcknowledgement(first, others);
        let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, blocks];
        set_options(header, &options);
    }
}

fn set_options(header: &mut TcpHeader, options: &[TcpOptionElement]) {
    // Three blocks and two bytes of padding are 28 bytes, of 40 that there may be.
    let set = header.set_options(options);
    set.expect("the options fit");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::End;

    const DIRECTION: Direction = Direction {
        from: End {
            address: [10, 0, 0, 1],
            port: 49152,
        },
        to: End {
            address: [10, 0, 0, 2],
            port: 49153,
        },
    };

    fn form(receiver_window: u32) -> SegmentFormat {
        SegmentFormat::new(&TcpConfig {
            segment: 1000,
            receiver_window,
            ..TcpConfig::default()
        })
    }

    #[test]
    fn sequence_numbers_follow_the_stream_and_wrap() {
        let origins = Origins {
            source: u32::MAX - 960,
            sink: u32::MAX,
        };
        let sent = |number| {
            let segment = Segment::new(SegmentKind::Data, 1, number, 1000);
            form(20).header_forward(&segment, DIRECTION, origins)
        };
        assert!(sent(0).syn && !sent(0).ack);
        assert_eq!(sent(0).sequence_number, u32::MAX - 960);
        assert_eq!(sent(1).sequence_number, u32::MAX - 959);
        assert_eq!(sent(2).sequence_number, 0);
        assert_eq!(sent(1).acknowledgment_number, 0);
        let ack = Segment::new(SegmentKind::Ack, 1, 3, 40);
        let header = form(20).header_reverse(&ack, DIRECTION, origins, true);
        assert_eq!(header.acknowledgment_number, 960);
        assert_eq!(header.sequence_number, 0);
    }

    #[test]
    fn only_the_syns_carry_the_maximum_segment_size() {
        let origins = Origins { source: 1, sink: 2 };
        let has_mss = |header: &TcpHeader| {
            let mut options = header.options_iterator();
            options.any(|option| option == Ok(TcpOptionElement::MaximumSegmentSize(960)))
        };
        let form = form(20);
        let sent = |number| {
            let segment = Segment::new(SegmentKind::Data, 1, number, 1000);
            form.header_forward(&segment, DIRECTION, origins)
        };
        assert!(has_mss(&sent(0)) && !has_mss(&sent(1)));
        assert_eq!(sent(0).header_len(), 24, "4 bytes more than the model's 40");
        let ack = Segment::new(SegmentKind::Ack, 1, 1, 40);
        let answer = |established| form.header_reverse(&ack, DIRECTION, origins, established);
        assert!(has_mss(&answer(false)) && !has_mss(&answer(true)));
    }

    #[test]
    fn a_window_has_the_smallest_sufficient_scale_and_is_never_rounded_down() {
        assert_eq!(form(68).shift, 0, "65280 bytes");
        assert_eq!(form(69).shift, 1);
        assert_eq!(form(1000).shift, 4);
        let form = form(1000);
        for segments in [0, 1, 7, 1000] {
            let advertised = u32::from(form.window(segments, form.shift)) << form.shift;
            assert!(advertised >= segments * 960 && advertised < segments * 960 + 16);
        }
        assert_eq!(form.window(u32::MAX, form.shift), u16::MAX);
    }

    #[test]
    fn without_set_up_there_is_no_handshake_and_no_window_scale() {
        let form = SegmentFormat::new(&TcpConfig {
            receiver_window: 1000,
            syn: false,
            ..TcpConfig::default()
        });
        let origins = Origins {
            source: 100,
            sink: 200,
        };
        let first = Segment::new(SegmentKind::Data, 1, 0, 1000);
        let header = form.header_forward(&first, DIRECTION, origins);
        assert!(header.ack && !header.syn);
        assert_eq!((header.sequence_number, form.payload(&first)), (100, 960));
        for established in [false, true] {
            let mut ack = Segment::new(SegmentKind::Ack, 1, 0, 40);
            ack.window = 1000;
            let header = form.header_reverse(&ack, DIRECTION, origins, established);
            assert!(!header.syn, "not an answer to a SYN");
            assert_eq!(header.window_size, u16::MAX);
        }
    }
}
