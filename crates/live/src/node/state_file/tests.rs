use super::*;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use polypath_core::rng::Seed;
use polypath_session::key::PrivateKey;
use std::fs;

const WALL: u64 = 1_790_000_000_000_000_000;

fn peer(name: &str) -> PublicKey {
    let stream = &mut Seed(1).stream(name);
    PrivateKey::generate(stream).unwrap().public()
}

/// A state without addresses.
fn at(timestamp: u64) -> SavedState {
    SavedState {
        timestamp,
        ..SavedState::default()
    }
}

/// The addresses of a path `lte`.
fn address(text: &str) -> BTreeMap<String, SocketAddr> {
    [("lte".to_owned(), text.parse().unwrap())].into()
}

#[test]
fn the_newest_timestamp_is_kept_for_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let open = |peer| StateFile::open(&path, peer, WALL);
    let mut file = open(peer("b"));
    assert_eq!(file.kept().timestamp, 0);
    file.finish(at(0));
    assert!(!path.exists(), "nothing to keep");
    let mut file = open(peer("b"));
    file.keep(at(WALL + 5), Time::ZERO);
    file.finish(at(WALL + 9));
    assert_eq!(open(peer("b")).kept().timestamp, WALL + 9);
    assert_eq!(open(peer("c")).kept().timestamp, 0, "of another peer");
}

#[test]
fn the_last_addresses_are_kept_for_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let open = |peer| StateFile::open(&path, peer, WALL);
    let state = |text| SavedState {
        addresses: address(text),
        ..SavedState::default()
    };
    let mut file = open(peer("b"));
    file.keep(state("192.0.2.1:7001"), Time::ZERO);
    file.finish(state("[2001:db8::1]:7001"));
    assert_eq!(open(peer("b")).kept(), &state("[2001:db8::1]:7001"));
    assert_eq!(open(peer("c")).kept(), &SavedState::default());
    // An address that is configured now, and learned no longer.
    let mut file = open(peer("b"));
    file.keep(SavedState::default(), Time::ZERO);
    file.finish(SavedState::default());
    assert_eq!(open(peer("b")).kept(), &SavedState::default());
}

#[test]
fn a_file_without_addresses_of_an_older_version_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let text = format!(
        r#"{{"version":1,"peer":"{}","timestamp":{WALL}}}"#,
        peer("b")
    );
    fs::write(&path, text).unwrap();
    assert_eq!(StateFile::open(&path, peer("b"), WALL).kept(), &at(WALL));
}

#[test]
fn a_wrong_clock_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let state = SavedState {
        timestamp: u64::MAX,
        addresses: address("192.0.2.1:7001"),
        ..SavedState::default()
    };
    StateFile::open(&path, peer("b"), u64::MAX).finish(state.clone());
    let mut file = StateFile::open(&path, peer("b"), WALL);
    assert_eq!(file.kept(), &state);
    file.finish(at(WALL));
    let kept = StateFile::open(&path, peer("b"), WALL).kept().timestamp;
    assert_eq!(kept, WALL, "what the session gives replaces it");
}

#[test]
fn a_file_that_cannot_be_read_or_written_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    for text in [
        "",
        "{",
        "[relay]",
        r#"{"version":2,"peer":"","timestamp":1}"#,
    ] {
        fs::write(&path, text).unwrap();
        let mut file = StateFile::open(&path, peer("b"), WALL);
        assert_eq!(file.kept().timestamp, 0, "{text}");
        file.finish(at(5));
        let reopened = StateFile::open(&path, peer("b"), WALL);
        assert_eq!(reopened.kept().timestamp, 5, "{text}");
    }
    let nowhere = directory.path().join("none/state.json");
    let fifo = directory.path().join("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    for path in [directory.path(), &nowhere, &fifo] {
        let mut file = StateFile::open(path, peer("b"), WALL);
        file.keep(at(5), Time::ZERO);
        file.finish(at(6));
        assert_eq!(file.kept().timestamp, 0);
    }
}

#[test]
fn a_state_that_is_kept_now_is_in_the_file_or_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("state.json");
    let clock = Clock::starting_now();
    let mut file = StateFile::open(&path, peer("b"), WALL);
    // The writer may be busy with an earlier state.
    file.keep(at(1), clock.now());
    file.keep_now(&at(2), clock);
    assert_eq!(read(&path).unwrap().kept, at(2));
    assert!(file.limit(clock.now()).is_none());
    fs::remove_dir_all(&folder).unwrap();
    file.keep_now(&at(3), clock);
    assert_eq!(file.kept(), &at(2));
    assert!(file.limit(clock.now()).is_some(), "the failure is known");
}

#[test]
fn the_limit_is_what_the_last_write_has_until_one_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mut file = StateFile::open(&folder.join("state.json"), peer("b"), WALL);
    let second = |n| Time::ZERO + Duration::from_secs(n);
    let mut keep = |timestamp, n| {
        file.keep(at(timestamp), second(n));
        while file.writer.as_ref().unwrap().state() == WriteState::Busy {
            std::thread::yield_now();
        }
        let is_limited = file.limit(second(n)).is_some();
        (is_limited, file.kept().timestamp)
    };
    assert_eq!(keep(1, 0), (false, 1));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(keep(2, 1), (true, 1));
    fs::create_dir(&folder).unwrap();
    assert_eq!(keep(3, 1), (true, 1), "not before a second");
    assert_eq!(keep(3, 2), (false, 3));
}

#[test]
fn a_file_belongs_to_one_process_until_its_last_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let mut first = StateFile::open(&path, peer("b"), WALL);
    let second = StateFile::open(&path, peer("b"), WALL);
    assert!(matches!(second.defect(), Some(StateError::InUse)));
    let other = directory.path().join("other.json");
    assert!(StateFile::open(&other, peer("b"), WALL).defect().is_none());
    first.finish(at(5));
    let third = StateFile::open(&path, peer("b"), WALL);
    assert!(third.defect().is_none());
    assert_eq!(third.kept().timestamp, 5);
}

#[test]
fn a_defect_has_its_own_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    fs::write(file("malformed"), "{]").unwrap();
    fs::write(file("empty"), "").unwrap();
    fs::write(file("else"), "{}").unwrap();
    fs::write(file("part"), "{\"version\":1,").unwrap();
    fs::write(file("newer"), r#"{"version":9,"peer":""}"#).unwrap();
    fs::create_dir(file("folder")).unwrap();
    mkfifo(&file("fifo"), Mode::S_IRWXU).unwrap();
    for (name, reason, remedy) in [
        (
            "malformed",
            "line 1, column 2 is wrong",
            "remove it to begin",
        ),
        ("empty", "it is empty", "remove it to begin"),
        ("part", "it is cut off", "remove it to begin"),
        ("else", "missing field `version`", "remove it to begin"),
        ("newer", "version 9", "update polypath"),
        ("folder", "is a directory", "a file in it"),
        ("fifo", "not a regular file", "name a regular file"),
        ("none/state", "cannot be written", "which must exist"),
    ] {
        let state = StateFile::open(&file(name), peer("b"), WALL);
        let defect = state.defect().unwrap();
        let text = format!("{defect}; {}", defect.quota_remedy());
        assert!(text.contains(reason) && text.contains(remedy), "{text}");
    }
    let read_only = || io::ErrorKind::ReadOnlyFilesystem.into();
    for defect in [
        StateError::Io(read_only()),
        StateError::Unwritable(read_only()),
    ] {
        assert!(defect.quota_remedy().contains("another file system"));
        assert!(defect.remedy().contains("another file system"));
    }
    // A node without quotas starts, and its warnings have the remedy.
    let folder = StateFile::open(&file("folder"), peer("b"), WALL);
    let remedy = |warning: &String| warning.ends_with("; name a file in it");
    assert!(!folder.warnings.is_empty());
    assert!(folder.warnings.iter().all(remedy), "{:?}", folder.warnings);
}

#[test]
fn a_file_that_can_no_longer_be_written_is_found_defective() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mut file = StateFile::open(&folder.join("state.json"), peer("b"), WALL);
    file.check_writable();
    assert!(file.defect().is_none());
    fs::remove_dir_all(&folder).unwrap();
    file.check_writable();
    assert!(matches!(file.defect(), Some(StateError::Unwritable(_))));
}
