//! The binary traces of ns-2 (manual, 40.2: `Application/Traffic/Trace`).

use polypath_core::time::Duration;

use super::TraceProblem;
use super::packets::{MAX_BYTES, MAX_SECONDS, TracePacket};
use polypath_document::FilePosition;

/// The bytes of a word. A record is two words in network byte order: the microseconds since the
/// previous record, and the size in bytes.
const WORD: usize = 4;
const FORM: &str = "a record is two big-endian 32-bit words, microseconds and bytes";

/// Parses the datagrams of a trace; the time of the first counts from the start, as in ns-2.
pub(super) fn parse(content: &[u8]) -> Result<Vec<TracePacket>, TraceProblem> {
    let words = content.as_chunks::<WORD>().0;
    let records = words.as_chunks::<2>().0;
    let mut at = Duration::ZERO;
    let mut packets = Vec::with_capacity(records.len());
    for (number, record) in (1..).zip(records) {
        let packet = parse_record(at, *record).map_err(|(message, remedy)| TraceProblem {
            at: FilePosition::Record(number),
            message,
            remedy,
        })?;
        at = packet.at;
        packets.push(packet);
    }
    let rest = content.len() % (2 * WORD);
    if rest > 0 || packets.is_empty() {
        return Err(TraceProblem {
            at: FilePosition::Record(packets.len() + 1),
            message: format!("the file ends after {rest} of {} bytes", 2 * WORD),
            remedy: FORM,
        });
    }
    Ok(packets)
}

fn parse_record(
    before: Duration,
    [pause, size]: [[u8; WORD]; 2],
) -> Result<TracePacket, (String, &'static str)> {
    let pause = Duration::from_micros(u32::from_be_bytes(pause).into());
    let bytes = u32::from_be_bytes(size);
    let at = before + pause;
    if at.as_secs_f64() > MAX_SECONDS {
        return Err((format!("it is sent at {at}, after more than a day"), FORM));
    }
    if !(1..=MAX_BYTES).contains(&bytes) {
        let message = format!("a datagram of {bytes} B does not exist");
        return Err((message, FORM));
    }
    Ok(TracePacket { at, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(records: &[(u32, u32)]) -> Vec<u8> {
        let words = records.iter().flat_map(|(time, size)| [*time, *size]);
        words.flat_map(u32::to_be_bytes).collect()
    }

    #[test]
    fn records_are_gaps_and_sizes() {
        let packets = parse(&file(&[(10_000, 100), (0, 65_535), (1, 1)]))
            .ok()
            .unwrap();
        let found: Vec<_> = packets.iter().map(|p| (p.at.as_nanos(), p.bytes)).collect();
        assert_eq!(
            found,
            [(10_000_000, 100), (10_000_000, 65_535), (10_001_000, 1)]
        );
    }

    #[test]
    fn problems_have_the_number_of_the_record() {
        let day = [(u32::MAX, 9); 21];
        for (content, record, wanted) in [
            (file(&[(1, 9), (1, 0)]), 2, "a datagram of 0 B"),
            (file(&[(1, 65_536)]), 1, "a datagram of 65536 B"),
            (file(&day), 21, "after more than a day"),
            (Vec::new(), 1, "ends after 0 of 8 bytes"),
            (
                [file(&[(1, 9)]), vec![0; 5]].concat(),
                2,
                "ends after 5 of 8 bytes",
            ),
        ] {
            let mistake = parse(&content).err().unwrap();
            assert!(mistake.message.contains(wanted), "{}", mistake.message);
            assert!(matches!(mistake.at, FilePosition::Record(number) if number == record));
        }
    }
}
