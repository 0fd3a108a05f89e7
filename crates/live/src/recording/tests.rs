use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use polypath_core::class::Classes;
use polypath_core::connections::wire::SenderMessage;
use polypath_core::connections::{
    ControlConfig as ConnectionControl, ControllerConfig, PlayOutConfig, ReceiverConfig, Reception,
    ReceptionInput, SizedPacket, Target, VariationConfig,
};
use polypath_core::endpoint::{Input, Output, ProbingConfig};
use polypath_core::event::Event;
use polypath_core::frame::{Encapsulation, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::machine::{Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::spacing::{AdaptiveConfig, ControlConfig, SpacingConfig};
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_session::record::{Entry, ReceptionEntry, Recorder, Shape};

use super::*;
use crate::writer_thread::PATIENCE;

fn header() -> RecordingHeader {
    RecordingHeader::new(RecordedMachine::Endpoint(Box::new(EndpointConfig {
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        paths: 2,
        policy: PolicyConfig::probe_and_switch(1),
        encapsulation: Encapsulation::deployed(28),
        window: 8192,
        first_sequence: u64::MAX - 5,
        seed: Seed::default(),
        probing: ProbingConfig {
            // The nearest number to it has 17 digits.
            threshold: 0.1 + 0.2,
            pair_interval: Duration::from_nanos(1_234_567_891),
            ..ProbingConfig::default()
        },
        detector: None,
        liveness: Some(LivenessConfig::default()),
        spacing: Some(SpacingConfig::new(ControlConfig::Damped(
            AdaptiveConfig::default(),
        ))),
    })))
}

fn entry(number: u64) -> Entry {
    let (len, ecn) = (1000, Ecn::Ect0);
    Entry {
        at: Time(number),
        wake: match number % 4 {
            0 => Wake::Timeout,
            1 => Wake::Input(Input::Reachable),
            2 => Wake::Input(Input::PathReachable(PathId(1))),
            _ => Wake::Input(Input::DriverBehind(Time(number + 1))),
        },
        outputs: vec![
            Output::Deliver(Shape {
                flow: None,
                len,
                ecn,
                tcp: false,
                fields: None,
            }),
            Output::Event(Event::Delivered {
                path: PathId(1),
                len,
            }),
        ],
        deadline: number.is_multiple_of(2).then_some(Time(number + 7)),
    }
}

/// A recording with this number of entries.
fn recording(entries: u64) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recording");
    let mut recorder = start(&path, &header()).unwrap();
    (0..entries).for_each(|number| recorder(entry(number)));
    drop(recorder);
    std::fs::read(path).unwrap()
}

fn read(bytes: &[u8]) -> Result<(Vec<Entry>, bool), RecordingError> {
    let (_, mut reader) = Reader::new(bytes)?;
    let lines: Result<Vec<Line<Entry>>, RecordingError> = reader.lines().collect();
    let lines = lines?;
    assert!(
        (2..)
            .zip(&lines)
            .all(|(number, line)| line.number == number)
    );
    let entries = lines.into_iter().map(|line| line.entry).collect();
    Ok((entries, reader.is_truncated()))
}

#[test]
fn a_written_recording_is_read_unchanged() {
    let bytes = recording(100);
    let (read_header, _) = Reader::new(&bytes[..]).unwrap();
    assert_eq!(read_header.machine, header().machine);
    assert_eq!(read_header.software, SOFTWARE);
    let expected: Vec<Entry> = (0..100).map(entry).collect();
    let (entries, truncated) = read(&bytes).unwrap();
    assert!(entries == expected && !truncated);
}

#[test]
fn a_truncated_recording_is_read_up_to_its_end() {
    let bytes = recording(5);
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let is_end = |line: &[u8]| line.starts_with(b"{\"end\":");
    for len in 0..bytes.len() {
        // A last line that lacks only its line end is complete.
        let whole = bytes[..=len].split(|byte| *byte == b'\n').count() - 1;
        match read(&bytes[..len]) {
            Ok((entries, truncated)) => {
                assert_eq!(truncated, len < bytes.len() - 1, "{len}");
                let lines = bytes.split(|byte| *byte == b'\n').take(whole);
                let wanted = lines.skip(1).filter(|line| !is_end(line)).count();
                assert_eq!(entries.len(), wanted, "{len}");
            }
            Err(RecordingError::Foreign(_)) => assert!(len < first, "{len}"),
            Err(error) => panic!("{len}: {error}"),
        }
    }
}

#[test]
fn invalid_lines_and_files_are_named() {
    let text = String::from_utf8(recording(5)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let broken = [&lines[..3], &["{\"at\":1}"], &lines[4..]]
        .concat()
        .join("\n");
    let error = read(broken.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("line 4: unknown field `at`"), "{error}");
    assert!(error.ends_with("head -n 3"), "{error}");
    let other = text.replacen("\"recording\":4", "\"recording\":1", 1);
    let error = read(other.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("version 1") && error.contains("reads version 4"),
        "{error}"
    );
    let unknown = text.replacen("\"started\"", "\"other\":1,\"started\"", 1);
    let two = text.replacen("\"started\"", "\"reception\":{},\"started\"", 1);
    let large = text.replacen("\"window\":8192", "\"window\":4000000000", 1);
    for foreign in [
        "",
        "\n",
        "[1]\n",
        "a,b\n",
        "{\"version\":1}\n",
        &lines[1..].join("\n"),
        &unknown,
        &two,
        &large,
    ] {
        let error = read(foreign.as_bytes()).unwrap_err();
        assert!(
            matches!(error, RecordingError::Foreign(_)),
            "{foreign}: {error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("line 1: this is not a recording")
        );
    }
}

#[test]
fn missing_and_moved_lines_are_detected() {
    let text = String::from_utf8(recording(5)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "with header and end");
    let read_lines = |lines: &[&str]| read((lines.join("\n") + "\n").as_bytes());
    assert!(!read_lines(&lines).unwrap().1);
    for at in 1..6 {
        let mut fewer = lines.clone();
        fewer.remove(at);
        let error = read_lines(&fewer).unwrap_err().to_string();
        let line = at + 1;
        assert!(
            error.starts_with(&format!("line {line}: it was line {}", line + 1)),
            "{error}"
        );
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        let error = read_lines(&moved).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("line {line}: it was line ")),
            "{error}"
        );
        let (entries, truncated) = read_lines(&lines[..=at]).unwrap();
        assert_eq!((entries.len(), truncated), (at, true), "no end");
    }
    let more = [&lines[..], &lines[6..]].concat();
    let error = read_lines(&more).unwrap_err().to_string();
    assert!(error.starts_with("line 8: it follows the end"), "{error}");
}

#[test]
fn a_line_without_an_end_is_refused_before_it_fills_memory() {
    let header = serde_json::to_vec(&header()).unwrap();
    let endless = io::repeat(b' ');
    let chained = io::Read::chain(io::Read::chain(&header[..], &b"\n"[..]), endless);
    let (_, mut reader) = Reader::new(io::BufReader::new(chained)).unwrap();
    let error = reader
        .lines::<Entry>()
        .next()
        .unwrap()
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 2: it is longer"), "{error}");
}

#[test]
fn a_recording_is_readable_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["new", "old"] {
        let path = directory.path().join(name);
        if name == "old" {
            std::fs::write(&path, "what was there\n".repeat(1000)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        let recorder: Recorder<Entry> = start(&path, &header()).unwrap();
        drop(recorder);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert_eq!(
            read(&std::fs::read(&path).unwrap()).unwrap(),
            (vec![], false),
            "header and end"
        );
    }
    let error = start::<Entry>(directory.path(), &header()).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    let full = start::<Entry>("/dev/full".as_ref(), &header())
        .err()
        .unwrap();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
}

/// A disk with space for this number of bytes.
#[derive(Clone)]
struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.lock().unwrap();
        let len = bytes.len().min(disk.1 - disk.0.len());
        disk.0.extend_from_slice(&bytes[..len]);
        match len {
            0 => Err(io::ErrorKind::StorageFull.into()),
            len => Ok(len),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_node() {
    let disk = Disk(Arc::new(Mutex::new((Vec::new(), 20_000))));
    let mut recording = write::Recording::start(disk.clone()).unwrap();
    for number in 0..1000 {
        recording.take(entry(number));
    }
    drop(recording);
    let written = disk.0.lock().unwrap().0.clone();
    assert_eq!(written.len(), 20_000);
    let header = serde_json::to_vec(&header()).unwrap();
    let bytes = [&header[..], b"\n", &written].concat();
    let (entries, truncated) = read(&bytes).unwrap();
    assert!(truncated);
    let expected: Vec<Entry> = (0..).map(entry).take(entries.len()).collect();
    assert!(entries.len() > 50 && entries == expected);
}

/// A disk that blocks all writes until it is released.
struct Stuck(Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stuck_disk_does_not_delay_the_end_forever() {
    let (free, stuck) = channel();
    let mut recording = write::Recording::start(Stuck(stuck)).unwrap();
    recording.take(entry(0));
    let (ended, end) = channel();
    thread::spawn(move || {
        drop(recording);
        ended.send(())
    });
    end.recv_timeout(PATIENCE * 3).unwrap();
    drop(free);
}

/// A recording is untrusted input: its values may be the largest there are.
#[test]
fn extreme_values_of_a_reception_are_replayed() {
    let long = Duration::from_secs(1_000_000_000);
    let config = ReceptionConfig {
        stream: [0; 16],
        receiver: ReceiverConfig {
            target: Target {
                rate: Rate::from_mbits(1_000_000_000),
                segment: Bytes(1),
            },
            controller: ControllerConfig::VariedConnections {
                connections: u32::MAX,
                variation: VariationConfig::default(),
                control: ConnectionControl {
                    round_trips: u32::MAX,
                    spike: f64::MAX,
                    ..ConnectionControl::default()
                },
            },
            buffer: 1 << 20,
            play_out: Some(PlayOutConfig {
                prebuffer: long,
                rebuffer: long,
                refill: u32::MAX,
            }),
            until: Time::MAX,
        },
        patience: long,
    };
    let packet = |connection, sequence| ReceptionInput::Message {
        connection,
        message: SenderMessage::Packet {
            sequence,
            is_application_limited: true,
            payload: SizedPacket {
                packet: (),
                size: Bytes(16_000),
            },
        },
    };
    let welcome = ReceptionInput::Message {
        connection: 1,
        message: SenderMessage::Welcome { source: u64::MAX },
    };
    let wakes = [
        Wake::Input(ReceptionInput::Start),
        Wake::Input(ReceptionInput::Rtt(long)),
        Wake::Input(welcome),
        Wake::Input(packet(1, 1)),
        Wake::Input(packet(u32::MAX, u64::MAX)),
        Wake::Timeout,
    ];
    let header = RecordingHeader::new(RecordedMachine::Reception(config));
    let mut machine = Reception::new(&config);
    let mut lines = vec![serde_json::to_string(&header).unwrap()];
    for (at, wake) in [0, 1, 1 << 40, u64::MAX - 1, u64::MAX, u64::MAX]
        .into_iter()
        .zip(wakes)
    {
        let mut outputs = Vec::new();
        let next = step(&mut machine, Time(at), wake, &mut |output| {
            outputs.push(output);
        });
        let entry = ReceptionEntry {
            at: Time(at),
            wake,
            outputs,
            deadline: next.map(|deadline| deadline.at),
        };
        let number = lines.len() as u64 + 1;
        lines.push(serde_json::to_string(&Line { number, entry }).unwrap());
    }
    let text = lines.join("\n");
    let (header, mut reader) = Reader::new(text.as_bytes()).unwrap();
    let result = replay(&header, &mut reader).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((result.wakes, result.difference), (6, None));
    let larger = text.replacen("\"size\":\"16 kB\"", "\"size\":\"16001 B\"", 1);
    let (header, mut reader) = Reader::new(larger.as_bytes()).unwrap();
    let error = replay(&header, &mut reader).unwrap_err().to_string();
    assert!(
        error.starts_with("line 5: no packet has 16001 B"),
        "{error}"
    );
}
