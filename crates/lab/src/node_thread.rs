//! A node on a thread of this process, in a network namespace.

use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use polypath_core::time::Duration;
use polypath_live::config::NodeConfig;
use polypath_live::drive::StopHandle;
use polypath_live::node::{Node, NodeError, Options};
use polypath_live::priority;
use polypath_live::stats::Stats;
use tracing::subscriber::NoSubscriber;

use crate::namespace::Namespace;
use crate::processor_clock::ProcessorClock;

/// A running node, stopped on drop.
#[derive(Debug)]
pub struct NodeThread {
    stop: StopHandle,
    thread: Option<JoinHandle<Result<Stats, NodeError>>>,
}

impl NodeThread {
    /// Starts a node in `namespace` with the configuration file `config`; fails if the file or the
    /// system refuses it.
    pub fn start(namespace: &Namespace, config: &Path, options: &Options) -> io::Result<Self> {
        Self::start_after(namespace, config, options, || ())
    }

    /// Like [`Self::start`], with a real-time priority (1 to 99) if the system allows it.
    pub fn start_realtime(
        namespace: &Namespace,
        config: &Path,
        options: &Options,
        realtime: u8,
    ) -> io::Result<Self> {
        // Without the priority the node is late on a busy machine, as in a deployment.
        let prepare = move || drop(priority::realtime(realtime));
        Self::start_after(namespace, config, options, prepare)
    }

    fn start_after(
        namespace: &Namespace,
        config: &Path,
        options: &Options,
        prepare: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let config = NodeConfig::load(config).map_err(io::Error::other)?;
        let open = || silently(|| Node::open(&config, options)).map_err(io::Error::other);
        let mut node = namespace.run(open)?;
        let stop = node.stop_handle();
        let work = move || {
            prepare();
            silently(|| node.run())
        };
        let thread = Some(std::thread::spawn(work));
        Ok(Self { stop, thread })
    }

    /// The processor time of the node's thread since its start, without the one that writes its
    /// events; fails if it has ended.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let thread = self.thread.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        ProcessorClock::of_thread(thread)?.now()
    }

    /// Fails with the error of the node if it has ended.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            None if self.thread.is_some() => Ok(()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
            Some(thread) => match thread.join() {
                Ok(Ok(_)) => Err(io::Error::other("the node has ended")),
                Ok(Err(error)) => Err(io::Error::other(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }

    /// Stops the node and returns its statistics; fails with the error that ended it earlier.
    pub fn finish(mut self) -> io::Result<Stats> {
        match self.join() {
            Some(Ok(stats)) => stats.map_err(io::Error::other),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn join(&mut self) -> Option<std::thread::Result<Result<Stats, NodeError>>> {
        self.stop.stop();
        self.thread.take().map(JoinHandle::join)
    }
}

/// Runs `work` without a log: that of a measured node would hide the output of the program that
/// measures it, and its failures are returned.
fn silently<T>(work: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(NoSubscriber::new(), work)
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        // A node is dropped unfinished only on the way out with another error.
        let _ = self.join();
    }
}
