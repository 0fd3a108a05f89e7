//! The HTTP server.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use crate::namespace::Namespace;
use crate::plan::HTTP_PORT;
use crate::program;

/// How often and at which interval a new server is asked whether it listens: 5 s in all.
const ATTEMPTS: u32 = 250;
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// A running HTTP server, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
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
        let mut server = Self { child };
        if server.listens(namespace)? {
            return Ok(server);
        }
        let said = fs::read_to_string(path).unwrap_or_default();
        Err(io::Error::other(format!(
            "it does not start: {}",
            said.trim()
        )))
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
