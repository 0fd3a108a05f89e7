//! The programs of one scheme: two nodes, and an HTTP server at the server side.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use polypath_live::keys;
use polypath_sim::Side;

use crate::addressing::{HTTP_PORT, OVERLAY_DEVICE, SIDES, overlay_addresses};
use crate::endpoints::Endpoints;
use crate::host_tcp::HostTcp;
use crate::http::Server;
use crate::interrupt::Interrupt;
use crate::namespace::Namespace;
use crate::node_process::{NodeFiles, NodeProcess, OverlayConfig};
use crate::program;

/// The number and timeout of attempts to connect over the overlay.
const ATTEMPTS: u32 = 40;
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(750);
/// The interval and number of checks of a starting program.
const INTERVAL: Duration = Duration::from_millis(20);
const CHECKS: u32 = 500;

/// The configuration of a scheme's programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramsConfig<'a> {
    /// The `polypath` program.
    pub(crate) binary: &'a Path,
    /// The files that the HTTP server serves.
    pub(crate) documents: &'a Path,
    /// The configuration of the nodes.
    pub(crate) overlay: OverlayConfig<'a>,
    /// The TCP settings of both hosts.
    pub(crate) tcp: &'a HostTcp,
    /// Time zero on `CLOCK_MONOTONIC`.
    pub(crate) origin_ns: u64,
}

/// The running programs of a scheme.
#[derive(Debug)]
pub(crate) struct SchemePrograms {
    // Drop order: programs before the namespaces in which they run.
    nodes: [NodeProcess; 2],
    server: Server,
    endpoints: Endpoints,
}

impl SchemePrograms {
    /// Starts the programs of both sides, with their files in `directory`.
    ///
    /// They die with the calling thread.
    pub(crate) fn start(
        endpoints: Endpoints,
        directory: &Path,
        programs: &ProgramsConfig<'_>,
    ) -> io::Result<Self> {
        fs::create_dir(directory)?;
        let [server, client] = SIDES.map(|side| NodeFiles::new(directory, side));
        let [server_key, client_key] = [&server, &client].map(|files| keys::generate(&files.key()));
        server.configure(
            programs.overlay,
            &client_key.map_err(io::Error::other)?.to_string(),
        )?;
        client.configure(
            programs.overlay,
            &server_key.map_err(io::Error::other)?.to_string(),
        )?;
        let start = |side, files| {
            NodeProcess::start(
                programs.binary,
                endpoints.at(side),
                files,
                programs.origin_ns,
            )
        };
        let mut nodes = [start(Side::Server, server)?, start(Side::Client, client)?];
        for (node, side) in nodes.iter_mut().zip(SIDES) {
            for (parameter, value) in programs.tcp.parameters() {
                endpoints.at(side).set(parameter, &value)?;
            }
            add_routes(node, endpoints.at(side), side, programs.tcp)?;
        }
        let server = Server::start(endpoints.at(Side::Server), directory, programs.documents)?;
        Ok(Self {
            nodes,
            server,
            endpoints,
        })
    }

    /// Waits until a connection crosses the overlay, and checks its congestion control.
    pub(crate) fn wait_until_ready(
        &mut self,
        tcp: &HostTcp,
        interrupt: &Interrupt,
    ) -> io::Result<()> {
        let wanted = tcp.congestion_control();
        let connection = self.connect(interrupt)?;
        let sockets = self.established(interrupt)?;
        drop(connection);
        if sockets.split_whitespace().any(|word| word == wanted) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the kernel does not use the congestion control {wanted} (modprobe tcp_{wanted}?): {sockets}"
        )))
    }

    /// Waits for an established connection at the server and returns the output of `ss`.
    fn established(&self, interrupt: &Interrupt) -> io::Result<String> {
        for _ in 0..CHECKS {
            interrupt.check()?;
            let mut command = Command::new(program::SS.path());
            command.args(["--no-header", "--tcp", "--info", "--numeric"]);
            command.args(["state", "established"]);
            let sockets = self.endpoints.at(Side::Server).output(&mut command)?;
            if !sockets.is_empty() {
                return Ok(sockets);
            }
            std::thread::sleep(INTERVAL);
        }
        let message = "the client has connected, but the server has no established connection";
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }

    /// The endpoints of the scheme.
    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The namespace of the client.
    pub(crate) fn client(&self) -> &Namespace {
        self.endpoints.at(Side::Client)
    }

    /// Fails if a node or the HTTP server has exited.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.nodes.iter_mut().try_for_each(NodeProcess::check)?;
        self.server.check()
    }

    /// Stops the programs and returns the nodes' files: the server's, then the client's.
    pub(crate) fn finish(mut self) -> io::Result<[NodeFiles; 2]> {
        self.nodes.iter_mut().try_for_each(NodeProcess::terminate)?;
        let [server, client] = self.nodes;
        Ok([server.finish()?, client.finish()?])
    }

    fn connect(&mut self, interrupt: &Interrupt) -> io::Result<TcpStream> {
        let address = http_address();
        for _ in 0..ATTEMPTS {
            interrupt.check()?;
            self.check()?;
            let connect = || TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT);
            if let Ok(connection) = self.client().run(connect) {
                return Ok(connection);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "no TCP connection could be established over the overlay",
        ))
    }
}

/// The address of the HTTP server on the overlay.
pub(crate) fn http_address() -> SocketAddr {
    let [v4, _] = overlay_addresses(Side::Server);
    SocketAddr::new(v4.addr(), HTTP_PORT)
}

/// Adds the routes to the other side once the node has created its device.
fn add_routes(
    node: &mut NodeProcess,
    namespace: &Namespace,
    side: Side,
    tcp: &HostTcp,
) -> io::Result<()> {
    let destinations = overlay_addresses(side.other()).map(|prefix| prefix.addr());
    let mut last = None;
    for _ in 0..CHECKS {
        node.check()?;
        let add = |to| namespace.route(to, OVERLAY_DEVICE, &tcp.metrics(to));
        match destinations.into_iter().try_for_each(add) {
            Ok(()) => return Ok(()),
            Err(e) => last = Some(e),
        }
        std::thread::sleep(INTERVAL);
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into()))
}
