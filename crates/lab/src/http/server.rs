//! The HTTP server.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use crate::addressing::HTTP_PORT;
use crate::namespace::Namespace;
use crate::program;

/// The number and interval of checks whether a new server listens: 5 s in all.
const ATTEMPTS: u32 = 250;
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// The number of trailing log lines in the error of a server that has exited.
const LOG_LINES: usize = 5;

/// A running HTTP server, killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server of the files in `documents` in `namespace` and returns when it listens;
    /// `directory` receives its configuration and log.
    pub(crate) fn start(
        namespace: &Namespace,
        directory: &Path,
        documents: &Path,
    ) -> io::Result<Self> {
        let configuration = directory.join("http-server.conf");
        fs::write(&configuration, configure(directory, documents))?;
        let path = directory.join("http-server.log");
        let log = fs::File::create(&path)?;
        let mut command = Command::new(program::HTTP_SERVER.path());
        command.arg("-D").arg("-f").arg(&configuration);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = namespace.spawn(&mut command)?;
        let mut server = Self { child, log: path };
        if server.wait_until_listening(namespace)? {
            return Ok(server);
        }
        Err(server.failed("it does not start"))
    }

    /// Fails with the end of the server's log if it has exited.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failed(&status.to_string())),
        }
    }

    /// Kills the server, for tests of its failure.
    #[cfg(test)]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn failed(&self, cause: &str) -> io::Error {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.trim().lines().rev().take(LOG_LINES).collect();
        let last: Vec<&str> = lines.into_iter().rev().collect();
        io::Error::other(format!("the HTTP server: {cause}: {}", last.join("\n")))
    }

    /// Waits until the server listens; returns false if it exits or takes too long.
    fn wait_until_listening(&mut self, namespace: &Namespace) -> io::Result<bool> {
        let address = (Ipv4Addr::LOCALHOST, HTTP_PORT);
        for _ in 0..ATTEMPTS {
            if namespace.run(|| TcpStream::connect(address)).is_ok() {
                return Ok(true);
            }
            if self.child.try_wait()?.is_some() {
                return Ok(false);
            }
            sleep(INTERVAL);
        }
        Ok(false)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if the process is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(directory: &Path, documents: &Path) -> String {
    format!(
        "server.document-root = \"{}\"\nserver.port = {HTTP_PORT}\n\
         server.upload-dirs = ( \"{}\" )\nmimetype.assign = ( \"\" => \"application/octet-stream\" )\n",
        documents.display(),
        directory.display(),
    )
}
