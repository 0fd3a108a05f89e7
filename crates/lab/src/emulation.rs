//! Several networks in real time, on a thread of their own.

use std::io;
use std::thread::JoinHandle;

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use polypath_live::clock::Clock;
use polypath_live::drive::{Driver, Lateness, Station, StopHandle, Token};
use polypath_live::priority;

use crate::network::Network;

/// The real-time priority of the thread, below that of the kernel's own.
const PRIORITY: u8 = 10;
/// No packet is longer.
const BUFFER: usize = 1 << 16;
/// Tokens are numbered by network, then by gate.
const GATES: u32 = 1 << 10;

/// Networks that carry packets in real time until they are finished with.
///
/// One thread drives them all, with a real-time priority where that is allowed.
#[derive(Debug)]
pub struct Emulation {
    thread: Option<JoinHandle<io::Result<Emulated>>>,
    stop: StopHandle,
}

/// What an emulation leaves behind.
#[derive(Debug)]
pub struct Emulated {
    /// The networks, in the order in which they were given.
    pub networks: Vec<Network>,
    /// How late packets left.
    pub lateness: Lateness,
    /// Whether the thread had a real-time priority.
    pub realtime: bool,
}

impl Emulation {
    /// Lets `networks` run by `clock` from now on.
    pub fn start(networks: Vec<Network>, clock: Clock) -> io::Result<Self> {
        let mut driver = Driver::new(clock)?;
        let stop = driver.stop_handle();
        let mut station = Networks::new(networks, clock);
        station.watch(&driver)?;
        let work = move || {
            let realtime = priority::realtime(PRIORITY).is_ok();
            driver.run(&mut station)?;
            Ok(station.finish(realtime))
        };
        let builder = std::thread::Builder::new().name("network".to_owned());
        let thread = Some(builder.spawn(work)?);
        Ok(Self { thread, stop })
    }

    /// Whether the networks still run; they end by themselves only where a device fails.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Stops the networks and hands them back.
    pub fn finish(mut self) -> io::Result<Emulated> {
        self.stop.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // Whoever drops it unfinished is on the way out with an error of its own.
            let _ = thread.join();
        }
    }
}

/// Networks with what they share on their thread.
struct Networks {
    networks: Vec<Network>,
    clock: Clock,
    lateness: Lateness,
    buffer: Vec<u8>,
}

impl Networks {
    fn new(networks: Vec<Network>, clock: Clock) -> Self {
        Self {
            networks,
            clock,
            lateness: Lateness::default(),
            buffer: vec![0; BUFFER],
        }
    }

    fn watch(&self, driver: &Driver) -> io::Result<()> {
        for (network, first) in self.networks.iter().zip((0..).step_by(GATES as usize)) {
            for (gate, token) in network.gates().iter().zip(first..) {
                driver.watch(&gate.device, Token(token))?;
            }
        }
        Ok(())
    }

    fn finish(self, realtime: bool) -> Emulated {
        Emulated {
            networks: self.networks,
            lateness: self.lateness,
            realtime,
        }
    }
}

impl Station for Networks {
    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.networks.iter().map(Network::deadline);
        deadlines.fold(None, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for network in &mut self.networks {
            network.advance(now, self.clock, &mut self.lateness)?;
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        let (network, gate) = (token.0 / GATES, token.0 % GATES);
        self.networks[network as usize].take(gate as usize, now, budget, &mut self.buffer)
    }
}
