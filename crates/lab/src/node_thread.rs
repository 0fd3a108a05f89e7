//! A node on a thread of this process, in a namespace of its own.

use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use polypath_live::config::NodeConfig;
use polypath_live::drive::StopHandle;
use polypath_live::node::{Node, NodeError, Options};
use polypath_live::priority;
use polypath_live::stats::Stats;

use crate::namespace::Namespace;

/// A node that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct NodeThread {
    stop: StopHandle,
    thread: Option<JoinHandle<Result<Stats, NodeError>>>,
}

impl NodeThread {
    /// Starts the node that the file `config` describes in `namespace`; fails where it is refused.
    pub fn start(namespace: &Namespace, config: &Path, options: &Options) -> io::Result<Self> {
        Self::start_after(namespace, config, options, || ())
    }

    /// The same with a real-time priority (1 to 99), where that is allowed.
    pub fn start_realtime(
        namespace: &Namespace,
        config: &Path,
        options: &Options,
        realtime: u8,
    ) -> io::Result<Self> {
        // Who may not have it is late on a busy machine, as a node is anyway.
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
        let open = || Node::open(&config, options).map_err(io::Error::other);
        let mut node = namespace.run(open)?;
        let stop = node.stop_handle();
        let work = move || {
            prepare();
            node.run()
        };
        let thread = Some(std::thread::spawn(work));
        Ok(Self { stop, thread })
    }

    /// Stops the node and says what it counted; fails where it had ended with an error.
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

impl Drop for NodeThread {
    fn drop(&mut self) {
        // Whoever drops it unfinished is on the way out with an error of its own.
        let _ = self.join();
    }
}
