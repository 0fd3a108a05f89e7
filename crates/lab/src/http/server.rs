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

/// How often and at which interval a new server is asked whether it listens: 5 s in all.
const ATTEMPTS: u32 = 250;
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// How many lines of its log tell why a server has ended.
const LAST_LINES: usize = 5;

/// A running HTTP server, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Serves the files in `documents` in `namespace`, and returns when it listens; its configuration and
    /// log stand in `directory`.
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
        if server.listens(namespace)? {
            return Ok(server);
        }
        Err(server.failed("it does not start"))
    }

    /// Fails, with what the server said last, where it has ended.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failed(&status.to_string())),
        }
    }

    /// Endpoints the server behind the back of whoever relies on it.
    #[cfg(test)]
    pub(crate) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn failed(&self, how: &str) -> io::Error {
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = said.trim().lines().rev().take(LAST_LINES).collect();
        let last: Vec<&str> = lines.into_iter().rev().collect();
        io::Error::other(format!("the HTTP server: {how}: {}", last.join("\n")))
    }

    /// Waits until the server listens; false where it ends or takes too long.
    fn listens(&mut self, namespace: &Namespace) -> io::Result<bool> {
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
        // It is gone already, or about to be: nothing is left to do about a failure.
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
