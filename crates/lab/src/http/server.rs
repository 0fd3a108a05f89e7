//! The HTTP server.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;

use crate::addressing::HTTP_PORT;
use crate::namespace::Namespace;
use crate::process::Process;
use crate::program;

/// The number and interval of checks whether a new server listens: 5 s in all.
const ATTEMPTS: u32 = 250;
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// A running HTTP server, killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
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
        let log = directory.join("http-server.log");
        let mut command = Command::new(program::HTTP_SERVER.path());
        command.arg("-D").arg("-f").arg(&configuration);
        let process = Process::start(namespace, "the HTTP server", &mut command, log)?;
        let mut server = Self { process };
        server.wait_until_listening(namespace)?;
        Ok(server)
    }

    /// Fails with the end of the server's log if it has exited.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.process.check()
    }

    /// Kills the server, for tests of its failure.
    #[cfg(test)]
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits until the server listens; fails if it exits or takes too long.
    fn wait_until_listening(&mut self, namespace: &Namespace) -> io::Result<()> {
        let address = (Ipv4Addr::LOCALHOST, HTTP_PORT);
        for _ in 0..ATTEMPTS {
            if namespace.run(|| TcpStream::connect(address)).is_ok() {
                return Ok(());
            }
            self.check()?;
            sleep(INTERVAL);
        }
        Err(self.process.failed("it does not start"))
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
