//! One transfer by the HTTP client, with the time at which each byte could have been played.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use sha2::{Digest, Sha256};

use crate::interrupt::Interrupt;
use crate::namespace::Namespace;
use crate::program;

/// How often a transfer looks whether the lab was told to stop, in milliseconds.
const STOP_INTERVAL: u8 = 50;
/// How long the client may take to end by itself after the transfer's timeout.
const GRACE: Duration = Duration::from_secs(2);

/// The exit code by which curl says that a transfer took longer than it may.
const TIMED_OUT: i32 = 28;

/// How often a client that has closed its output is asked whether it has ended.
const END_INTERVAL: std::time::Duration = std::time::Duration::from_millis(2);

/// A transfer to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    /// Where the client runs.
    pub(crate) namespace: &'a Namespace,
    /// The run's clock.
    pub(crate) clock: Clock,
    /// What to fetch.
    pub(crate) url: &'a str,
    /// When to give up.
    pub(crate) timeout: Duration,
    /// Endpoints the transfer.
    pub(crate) interrupt: &'a Interrupt,
}

/// What became of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FetchResult {
    /// When the client began to connect.
    pub(crate) started: Time,
    /// From then to the last byte; none if the transfer took too long.
    pub(crate) duration: Option<Duration>,
    /// The SHA-256 of what arrived.
    pub(crate) digest: [u8; 32],
    /// Bytes that arrived in order, by the time since `started`.
    pub(crate) progress: Vec<(Duration, u64)>,
}

/// What came out of the client's pipe, by the run's clock.
struct Received {
    digest: [u8; 32],
    chunks: Vec<(Time, u64)>,
}

impl Fetch<'_> {
    /// Fetches; a transfer that takes too long is a result. Fails where the client could not be run, with
    /// its own words where it failed for any other reason, and where the lab is to stop (`Interrupted`).
    pub(crate) fn run(&self) -> io::Result<FetchResult> {
        let begun = self.clock.now();
        let mut child = self.namespace.spawn(&mut self.command())?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match self.receive(stdout, begun + self.timeout + GRACE) {
            Ok(received) => {
                let total = finish(&mut child, self.clock)?;
                Ok(assemble(begun, received, total))
            }
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program::HTTP_CLIENT.path());
        // Without a configuration file and a proxy of whoever runs the lab.
        command.args([
            "--disable",
            "--noproxy",
            "*",
            "--silent",
            "--show-error",
            "--no-buffer",
            "--fail",
        ]);
        command.args(["--max-time", &format!("{:.3}", self.timeout.as_secs_f64())]);
        command.args(["--write-out", "%{stderr}%{time_total}"]);
        command.arg(self.url);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Reads the client's output to its end; a client that has not ended at `limit` is at fault.
    fn receive(&self, mut stdout: ChildStdout, limit: Time) -> io::Result<Received> {
        let mut hasher = Sha256::new();
        let mut chunks = Vec::new();
        let mut total = 0;
        let mut buffer = vec![0; 64 << 10];
        while self.clock.now() < limit {
            self.interrupt.check()?;
            if !is_readable(&stdout)? {
                continue;
            }
            let len = stdout.read(&mut buffer)?;
            if len == 0 {
                let digest = hasher.finalize().into();
                return Ok(Received { digest, chunks });
            }
            hasher.update(&buffer[..len]);
            total += len as u64;
            chunks.push((self.clock.now(), total));
        }
        let name = program::HTTP_CLIENT.name();
        let stuck = format!("{name} does not end at its timeout");
        Err(io::Error::new(io::ErrorKind::TimedOut, stuck))
    }
}

fn is_readable(stdout: &ChildStdout) -> io::Result<bool> {
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::from(STOP_INTERVAL)) {
        Err(nix::errno::Errno::EINTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Waits for the client, which has closed its output; the time that the transfer took by its own account,
/// none if it took too long. Fails where the client did, or does not end within [`GRACE`] and is killed.
fn finish(child: &mut Child, clock: Clock) -> io::Result<Option<Duration>> {
    let limit = clock.now() + GRACE;
    while child.try_wait()?.is_none() && clock.now() < limit {
        std::thread::sleep(END_INTERVAL);
    }
    // Without effect on one that has ended.
    child.kill()?;
    let status = child.wait()?;
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut said)?;
    }
    match status.code() {
        Some(0) => {
            let line = said.lines().last().unwrap_or_default();
            let seconds = line.trim().parse().map_err(|_| failed(status, &said))?;
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        Some(TIMED_OUT) => Ok(None),
        _ => Err(failed(status, &said)),
    }
}

/// The failure of the client, in its own words where it has any.
fn failed(status: ExitStatus, said: &str) -> io::Error {
    let name = program::HTTP_CLIENT.name();
    let prefix = format!("{name}: ");
    match said.lines().find(|line| line.starts_with(&prefix)) {
        Some(words) => io::Error::other(words.to_owned()),
        None => io::Error::other(format!("{prefix}{status}")),
    }
}

/// Places what arrived relative to the moment at which the client began to connect: its own account of
/// the transfer ends with the last byte, and leaves out what the program took to load.
fn assemble(begun: Time, received: Received, total: Option<Duration>) -> FetchResult {
    let last = received.chunks.last().map(|(at, _)| *at);
    let started = match (last, total) {
        (Some(last), Some(total)) => (last - total).max(begun),
        _ => begun,
    };
    let since = |(at, bytes): (Time, u64)| (at.since(started), bytes);
    FetchResult {
        started,
        duration: total,
        digest: received.digest,
        progress: received.chunks.into_iter().map(since).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(chunks: Vec<(Time, u64)>) -> Received {
        let digest = [0; 32];
        Received { digest, chunks }
    }

    #[test]
    fn the_client_s_account_ends_with_the_last_byte() {
        let chunks = vec![(Time(1_300_000_000), 1000), (Time(1_500_000_000), 2000)];
        let total = Some(Duration::from_millis(480));
        let fetched = assemble(Time(1_000_000_000), received(chunks), total);
        assert_eq!(fetched.started, Time(1_020_000_000));
        assert_eq!(fetched.progress[1], (Duration::from_millis(480), 2000));
    }

    fn client(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    #[test]
    fn a_client_that_does_not_end_is_ended() {
        let clock = Clock::starting_now();
        let mut stuck = client("echo 0.5 >&2; exec sleep 60");
        let error = finish(&mut stuck, clock).unwrap_err().to_string();
        assert!(error.starts_with("curl: signal: 9"), "{error}");
        assert!(clock.now().since(Time::ZERO) < Duration::from_secs(30));
        let mut ended = client("echo 0.5 >&2");
        let took = finish(&mut ended, clock).unwrap();
        assert_eq!(took, Some(Duration::from_millis(500)));
    }

    #[test]
    fn only_a_time_out_is_called_one() {
        let clock = Clock::starting_now();
        let end = |script: &str| finish(&mut client(script), clock);
        let timed_out = "echo 'curl: (28) Operation timed out' >&2; echo 6.0 >&2; exit 28";
        assert_eq!(end(timed_out).unwrap(), None);
        let refused = "echo 'curl: (7) Could not connect' >&2; echo 0.1 >&2; exit 7";
        let error = end(refused).unwrap_err().to_string();
        assert_eq!(error, "curl: (7) Could not connect");
        let error = end("exit 2").unwrap_err().to_string();
        assert_eq!(error, "curl: exit status: 2");
    }

    #[test]
    fn a_transfer_that_took_too_long_counts_from_its_start() {
        let chunks = vec![(Time(3_000_000_000), 10)];
        let fetched = assemble(Time(1_000_000_000), received(chunks), None);
        assert_eq!(fetched.duration, None);
        assert_eq!(fetched.progress, vec![(Duration::from_secs(2), 10)]);
    }
}
