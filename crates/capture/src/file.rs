//! The file: pcapng blocks (draft-ietf-opsawg-pcapng).

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use polypath_core::time::Time;

/// The exponent of the timestamp resolution: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A captured direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) description: String,
    /// In bits per second; 0 if it varies.
    pub(crate) rate: u64,
}

/// An open pcapng file.
pub(crate) struct File<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> File<W> {
    /// Writes the file header; `comment` describes the content.
    pub(crate) fn new(writer: W, comment: String, interfaces: &[Interface]) -> io::Result<Self> {
        let program = concat!("polypath ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(comment)),
                SectionHeaderOption::UserApplication(Cow::Borrowed(program)),
            ],
            ..Default::default()
        };
        let writer = PcapNgWriter::with_section_header(writer, section).map_err(as_io)?;
        let mut file = Self { writer };
        for interface in interfaces {
            file.write_interface(interface)?;
        }
        Ok(file)
    }

    fn write_interface(&mut self, interface: &Interface) -> io::Result<()> {
        let speed = InterfaceDescriptionOption::IfSpeed(interface.rate);
        let mut options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(&interface.name)),
            InterfaceDescriptionOption::IfDescription(Cow::Borrowed(&interface.description)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        options.extend((interface.rate > 0).then_some(speed));
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options,
        };
        self.writer.write_pcapng_block(block).map_err(as_io)?;
        Ok(())
    }

    /// Writes a complete packet.
    pub(crate) fn write(&mut self, at: Time, interface: u32, bytes: &[u8]) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(at.0),
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map_err(as_io)?;
        Ok(())
    }

    /// Flushes buffered packets.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

fn as_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
