//! The servers.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use polypath_live::keys;
use polypath_stream::{StreamIdentity, StreamKey};

use crate::receivers::Kind;

/// The number of attempts to connect, 20 ms apart.
const ATTEMPTS: u32 = 500;

/// A running server, killed on drop.
pub(crate) struct RunningServer {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The key of the server, and the identity of the receivers.
    pub(crate) keys: Option<(StreamKey, StreamIdentity)>,
}

/// The use of a server.
pub(crate) struct Usage {
    /// The processor time since its start.
    pub(crate) processor: Duration,
    /// The resident memory in bytes.
    pub(crate) memory: u64,
}

impl RunningServer {
    pub(crate) fn polypath(
        program: &Path,
        file: &Path,
        kind: Kind,
        folder: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(["stream", "serve", "--listen", "127.0.0.1:0", "--source"]);
        command
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let keys = if kind == Kind::Tls {
            let file = folder.join("stream.key");
            keys::generate(&file)?;
            let identity = StreamIdentity::of(&keys::load(&file)?)?;
            command.arg("--key").arg(file).arg("--allow-anyone");
            Some((identity.public(), identity))
        } else {
            command.arg("--insecure");
            None
        };
        let mut child = command.spawn()?;
        let stderr = child.stderr.take().ok_or("the program has no output")?;
        let mut lines = BufReader::new(stderr).lines();
        let address = loop {
            let line = lines.next().ok_or("the server ended")??;
            if let Some((_, rest)) = line.split_once("serving at ") {
                break rest.split(';').next().unwrap_or_default().parse()?;
            }
        };
        // Its log has to be read, or the server would wait.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            child,
            address,
            keys,
        })
    }

    /// nginx with one worker in its master process, which serves the files of `folder`.
    pub(crate) fn nginx(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = folder.join("nginx.conf");
        let folder = folder.display();
        let mut file = fs::File::create(&config)?;
        write!(
            file,
            "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr;\nuser root;\n\
             events {{ worker_connections 2048; }}\n\
             http {{\n  access_log off;\n  sendfile on;\n  client_body_temp_path {folder}/body;\n\
             \x20 server {{ listen {address}; root {folder}; }}\n}}\n"
        )?;
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                format!("starting nginx, of Debian's package of this name: {error}")
            })?;
        let server = Self {
            child,
            address,
            keys: None,
        };
        for _ in 0..ATTEMPTS {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("nginx does not listen".into())
    }

    fn pid(&self) -> Result<Pid, Box<dyn Error>> {
        Ok(Pid::from_raw(i32::try_from(self.child.id())?))
    }

    /// Runs the server on this core alone.
    pub(crate) fn pin(&self, core: usize) -> Result<(), Box<dyn Error>> {
        let mut cores = CpuSet::new();
        cores.set(core)?;
        Ok(sched_setaffinity(self.pid()?, &cores)?)
    }

    pub(crate) fn usage(&self) -> Result<Usage, Box<dyn Error>> {
        let pid = self.pid()?;
        let processor = clock_getcpuclockid(pid)?.now()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.ok_or("the system states no resident memory")?;
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse()?;
        Ok(Usage {
            processor: processor.into(),
            memory: kilobytes * 1024,
        })
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
