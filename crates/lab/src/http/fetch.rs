//! One transfer by the HTTP client, with the arrival time of each byte.

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

/// The interval at which a transfer checks for an interrupt, in milliseconds.
const INTERRUPT_POLL_MS: u8 = 50;
/// The time that the client has to exit after the transfer's timeout.
const GRACE: Duration = Duration::from_secs(2);

/// curl's exit code for a timeout.
const CURL_TIMED_OUT: i32 = 28;

/// The interval at which the exit of a client that has closed its output is polled.
const EXIT_POLL: std::time::Duration = std::time::Duration::from_millis(2);

/// The parameters of one transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    /// The namespace of the client.
    pub(crate) namespace: &'a Namespace,
    /// The run's clock.
    pub(crate) clock: Clock,
    /// The URL to fetch.
    pub(crate) url: &'a str,
    /// The timeout of the transfer.
    pub(crate) timeout: Duration,
    /// Aborts the transfer when set.
    pub(crate) interrupt: &'a Interrupt,
}

/// The result of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FetchResult {
    /// The time at which the client started to connect.
    pub(crate) started: Time,
    /// The time from `started` to the last byte; `None` on a timeout.
    pub(crate) duration: Option<Duration>,
    /// The SHA-256 of the received bytes.
    pub(crate) digest: [u8; 32],
    /// The number of bytes received in order, by the time since `started`.
    pub(crate) progress: Vec<(Duration, u64)>,
}

/// The output of the client, timed by the run's clock.
struct Received {
    digest: [u8; 32],
    chunks: Vec<(Time, u64)>,
}

impl Fetch<'_> {
    /// Runs the transfer; a timeout is a result, not an error.
    ///
    /// Fails if the client cannot be run, with the client's message if it fails otherwise, and with
    /// `Interrupted` if the lab is interrupted.
    pub(crate) fn run(&self) -> io::Result<FetchResult> {
        let spawned = self.clock.now();
        let mut child = self.namespace.spawn(&mut self.command())?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match self.receive(stdout, spawned + self.timeout + GRACE) {
            Ok(received) => {
                let total = finish(&mut child, self.clock)?;
                Ok(assemble(spawned, received, total))
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
        // Ignores the user's configuration file and proxy.
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

    /// Reads the client's output to its end; fails if it has not ended at `deadline`.
    fn receive(&self, mut stdout: ChildStdout, deadline: Time) -> io::Result<Received> {
        let mut hasher = Sha256::new();
        let mut chunks = Vec::new();
        let mut total = 0;
        let mut buffer = vec![0; 64 << 10];
        while self.clock.now() < deadline {
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
        let message = format!("{name} did not exit at its timeout");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }
}

fn is_readable(stdout: &ChildStdout) -> io::Result<bool> {
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::from(INTERRUPT_POLL_MS)) {
        Err(nix::errno::Errno::EINTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Waits for the exit of the client, which has closed its output, and returns the transfer time
/// that it measured, or `None` on a timeout.
///
/// Fails if the client failed, or did not exit within [`GRACE`] and was killed.
fn finish(child: &mut Child, clock: Clock) -> io::Result<Option<Duration>> {
    let deadline = clock.now() + GRACE;
    while child.try_wait()?.is_none() && clock.now() < deadline {
        std::thread::sleep(EXIT_POLL);
    }
    // No effect if it has exited.
    child.kill()?;
    let status = child.wait()?;
    let mut message = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut message)?;
    }
    match status.code() {
        Some(0) => {
            let line = message.lines().last().unwrap_or_default();
            let seconds = line.trim().parse().map_err(|_| failed(status, &message))?;
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        Some(CURL_TIMED_OUT) => Ok(None),
        _ => Err(failed(status, &message)),
    }
}

/// The error of the client: its own message, or else its exit status.
fn failed(status: ExitStatus, message: &str) -> io::Error {
    let name = program::HTTP_CLIENT.name();
    let prefix = format!("{name}: ");
    match message.lines().find(|line| line.starts_with(&prefix)) {
        Some(line) => io::Error::other(line.to_owned()),
        None => io::Error::other(format!("{prefix}{status}")),
    }
}

/// Converts arrival times to times since the client started to connect: the transfer time that it
/// measures ends with the last byte and excludes the program's load time.
fn assemble(spawned: Time, received: Received, total: Option<Duration>) -> FetchResult {
    let last = received.chunks.last().map(|(at, _)| *at);
    let started = match (last, total) {
        (Some(last), Some(total)) => (last - total).max(spawned),
        _ => spawned,
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
    fn the_client_s_transfer_time_ends_with_the_last_byte() {
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
    fn a_client_that_does_not_exit_is_killed() {
        let clock = Clock::starting_now();
        let mut stuck = client("echo 0.5 >&2; exec sleep 60");
        let error = finish(&mut stuck, clock).unwrap_err().to_string();
        assert!(error.starts_with("curl: signal: 9"), "{error}");
        assert!(clock.now().since(Time::ZERO) < Duration::from_secs(30));
        let mut exited = client("echo 0.5 >&2");
        let took = finish(&mut exited, clock).unwrap();
        assert_eq!(took, Some(Duration::from_millis(500)));
    }

    #[test]
    fn only_the_timeout_exit_code_is_a_timeout() {
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
    fn progress_of_a_timed_out_transfer_counts_from_its_start() {
        let chunks = vec![(Time(3_000_000_000), 10)];
        let fetched = assemble(Time(1_000_000_000), received(chunks), None);
        assert_eq!(fetched.duration, None);
        assert_eq!(fetched.progress, vec![(Duration::from_secs(2), 10)]);
    }
}
