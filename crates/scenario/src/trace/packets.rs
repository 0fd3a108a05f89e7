//! Recorded traffic: one datagram per line, with its time in seconds and its size in bytes.

use polypath_core::time::Duration;

use super::TraceProblem;
use polypath_document::FilePosition;

/// The maximum size of a packet in bytes: that of IPv4.
pub(super) const MAX_BYTES: u32 = 65_535;
/// The maximum time in seconds: a day.
pub(super) const MAX_SECONDS: f64 = 86_400.0;

/// One recorded datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePacket {
    /// The time of transmission since the start of the flow.
    pub at: Duration,
    /// Its size on the wire, in bytes.
    pub bytes: u32,
}

/// Parses the datagrams in the lines of a trace; `#` starts a comment.
pub(super) fn parse(text: &str) -> Result<Vec<TracePacket>, TraceProblem> {
    let mut packets: Vec<TracePacket> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mistake = |(message, remedy)| TraceProblem {
            at: FilePosition::Line(line),
            message,
            remedy,
        };
        let content = text.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let packet = parse_line(content).map_err(mistake)?;
        if packets.last().is_some_and(|last| packet.at < last.at) {
            let message = format!("{} is earlier than the line before", packet.at);
            return Err(mistake((message, "sort the lines")));
        }
        packets.push(packet);
    }
    if packets.is_empty() {
        return Err(TraceProblem {
            at: FilePosition::Line(1),
            message: "there is no datagram in the trace".to_owned(),
            remedy: "write one a line: `SECONDS BYTES`",
        });
    }
    Ok(packets)
}

fn parse_line(content: &str) -> Result<TracePacket, (String, &'static str)> {
    let mut fields = content.split_whitespace();
    let (Some(seconds), Some(bytes), None) = (fields.next(), fields.next(), fields.next()) else {
        let message = format!("`{}` is not a datagram", content.escape_debug());
        return Err((message, "write its time and its size: `SECONDS BYTES`"));
    };
    let at = seconds.parse().ok();
    let Some(at) = at.filter(|at| (0.0..=MAX_SECONDS).contains(at)) else {
        let message = format!("`{}` is not a time in seconds", seconds.escape_debug());
        return Err((message, "write a number from 0 to 86400"));
    };
    let size = bytes.parse().ok();
    let Some(bytes) = size.filter(|size| (1..=MAX_BYTES).contains(size)) else {
        let message = format!("`{}` is not a size in bytes", bytes.escape_debug());
        return Err((message, "write a whole number from 1 to 65535"));
    };
    let at = Duration::from_secs_f64(at);
    Ok(TracePacket { at, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::traffic::datagrams::Recording;
    use crate::network::{Network, Traffic};

    const NETWORK: &str = r#"schema = 1
name = "played"
run = { duration = "10 s" }
[[link]]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "5 packets"
[[flow]]
name = "voice"
from = "a"
to = "b"
traffic = { kind = "trace", file = "voice.txt", repeat = "2 s" }
"#;

    fn read(text: &str, voice: &str) -> Result<Network, Vec<String>> {
        let mut files = |name: &str| match name {
            "voice.txt" => Ok(voice.as_bytes().to_vec()),
            _ => Err("no such file".to_owned()),
        };
        Network::parse_with(text, "net.toml", &[], &mut files).map_err(|errors| {
            let problems = errors.problems().iter();
            problems.map(ToString::to_string).collect()
        })
    }

    #[test]
    fn reads_times_sizes_and_comments() {
        let network = read(NETWORK, "# s B\n0 200\n0.02 1 # small\n\n 1.5e0\t65535 \n").unwrap();
        let Traffic::Trace(Recording { file, repeat, .. }) = &network.flows[0].traffic else {
            panic!("{network:?}");
        };
        let read: Vec<(u64, u32)> = file
            .entries
            .iter()
            .map(|packet| (packet.at.as_nanos(), packet.bytes))
            .collect();
        assert_eq!(read, [(0, 200), (20_000_000, 1), (1_500_000_000, 65_535)]);
        assert_eq!(*repeat, Some(Duration::from_secs(2)));
        let text = toml::to_string(&network).unwrap();
        assert!(text.contains("file = \"voice.txt\""), "{text}");
    }

    fn read_ns2(traffic: &str, content: &[u8]) -> Result<Network, String> {
        let text = NETWORK.replace("file = \"voice.txt\", repeat = \"2 s\"", traffic);
        let mut files = |_: &str| Ok(content.to_vec());
        Network::parse_with(&text, "net.toml", &[], &mut files).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_binary_recording_may_repeat_at_the_time_of_its_last_datagram_as_in_ns2() {
        let content = [
            0, 0, 0x27, 0x10, 0, 0, 0, 100, 0, 0, 0x4e, 0x20, 0, 0, 0, 200,
        ];
        let network = |repeat: &str| {
            let keys = format!("file = \"v.bin\", format = \"ns2\", repeat = \"{repeat}\"");
            read_ns2(&keys, &content)
        };
        let read = network("30 ms").unwrap();
        let Traffic::Trace(Recording { file, .. }) = &read.flows[0].traffic else {
            panic!("{read:?}");
        };
        let at = |packet: &TracePacket| (packet.at.as_nanos() / 1_000_000, packet.bytes);
        assert_eq!(
            file.entries.iter().map(at).collect::<Vec<_>>(),
            [(10, 100), (30, 200)]
        );
        let early = network("29 ms").unwrap_err();
        assert!(
            early.contains("the last datagram is sent at 30 ms; make `repeat` longer"),
            "{early}"
        );
    }

    #[test]
    fn a_file_in_the_other_format_is_refused_with_its_location() {
        let binary = [0, 0, 0x27, 0x10, 0, 0, 0, 0xc8];
        for (keys, content, wanted) in [
            (
                "file = \"v.bin\", format = \"ns2\"",
                &b"0 200\n"[..],
                "v.bin: record 1: the file ends after 6 of 8 bytes; a record is two",
            ),
            (
                "file = \"v.bin\"",
                &binary[..],
                "v.bin:1:1: this is not text; a trace in ns-2's binary form",
            ),
            (
                "file = \"v.bin\", format = \"ns-2\"",
                &binary[..],
                "net.toml:14:54: ",
            ),
        ] {
            let found = read_ns2(keys, content).unwrap_err();
            assert!(found.contains(wanted), "{found}\nwithout {wanted}");
        }
    }

    #[test]
    fn problems_have_file_line_and_remedy() {
        let other_file = NETWORK.replace("voice.txt", "vioce.txt");
        for (text, voice, wanted) in [
            (
                NETWORK,
                "0 200\n1,5 200",
                "voice.txt:2:1: `1,5` is not a time in seconds; write a number",
            ),
            (
                NETWORK,
                "0 200\n\n-1 9",
                "voice.txt:3:1: `-1` is not a time in seconds",
            ),
            (
                NETWORK,
                "nan 9",
                "voice.txt:1:1: `nan` is not a time in seconds",
            ),
            (
                NETWORK,
                "1 0",
                "voice.txt:1:1: `0` is not a size in bytes; write a whole number",
            ),
            (
                NETWORK,
                "1 65536",
                "voice.txt:1:1: `65536` is not a size in bytes",
            ),
            (
                NETWORK,
                "1",
                "voice.txt:1:1: `1` is not a datagram; write its time and its size",
            ),
            (NETWORK, "1 2 3", "voice.txt:1:1: `1 2 3` is not a datagram"),
            (
                NETWORK,
                "1 9\n0.5 9",
                "voice.txt:2:1: 500 ms is earlier than the line before; sort",
            ),
            (
                NETWORK,
                "# nothing",
                "voice.txt:1:1: there is no datagram in the trace; write one a line",
            ),
            (
                NETWORK,
                "2 9",
                "net.toml:14:58: the last datagram is sent at 2 s; make `repeat` longer",
            ),
            (
                &other_file,
                "0 9",
                "net.toml:14:36: cannot read `vioce.txt`: no such file; name a file relative",
            ),
        ] {
            let problems = read(text, voice).unwrap_err();
            assert!(
                problems.iter().any(|p| p.contains(wanted)),
                "{problems:?}\nwithout {wanted}"
            );
        }
    }
}
