//! A program that runs in a namespace for as long as the lab needs it.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_core::time::Duration;

use crate::namespace::Namespace;
use crate::processor_clock::ProcessorClock;

/// The number of trailing log lines in the error of a program that has exited.
const LOG_LINES: usize = 5;
/// The time in which a terminated program exits.
const EXIT: std::time::Duration = std::time::Duration::from_secs(3);
/// The interval of checks whether a program has exited.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// A running program with a log of its output, killed on drop.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` in `namespace`, with its output in the file `log`; `name` denotes it in
    /// errors.
    ///
    /// It dies with the calling thread. Fails if the file or the program cannot be opened.
    pub fn start(
        namespace: &Namespace,
        name: impl Into<String>,
        command: &mut Command,
        log: PathBuf,
    ) -> io::Result<Self> {
        let output = File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let (name, child) = (name.into(), namespace.spawn(command)?);
        Ok(Self { name, child, log })
    }

    /// The processor time of all its threads since its start; fails if it has exited.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        ProcessorClock::of_process(self.pid()?)?.now()
    }

    fn pid(&self) -> io::Result<Pid> {
        let pid = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        Ok(Pid::from_raw(pid))
    }

    /// Fails with the end of its log if it has exited.
    pub fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failed(&status.to_string())),
        }
    }

    /// Sends SIGTERM to it; fails if it has already exited.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.check()?;
        Ok(kill(self.pid()?, Signal::SIGTERM)?)
    }

    /// Waits for the exit of the terminated program; fails if it reports an error or takes 3 s.
    pub fn finish(mut self) -> io::Result<()> {
        self.wait(EXIT)
    }

    /// Waits for its exit; fails if it reports an error or takes longer than `most`.
    pub fn wait(&mut self, most: std::time::Duration) -> io::Result<()> {
        for _ in 0..most.as_millis() / INTERVAL.as_millis() {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.failed(&status.to_string())),
                None => sleep(INTERVAL),
            }
        }
        Err(self.failed("it does not exit"))
    }

    /// The error of this cause, with the end of the log.
    pub(crate) fn failed(&self, cause: &str) -> io::Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.trim().lines().rev().take(LOG_LINES).collect();
        let last: Vec<&str> = lines.into_iter().rev().collect();
        let (name, last) = (&self.name, last.join("\n"));
        io::Error::other(format!("{name}: {cause}: {last}"))
    }

    /// Kills it, for tests of its failure.
    #[cfg(test)]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only if the process is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
