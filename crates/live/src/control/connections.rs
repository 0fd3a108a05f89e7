//! The open connections of a server, limited with a fair share for each source.

use std::io;

use nix::libc;

/// The errors of `accept(2)` that closing a connection can resolve.
const LACKS_RESOURCES: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];

/// A connection in service.
pub(super) trait Connection {
    /// Whether it has ended.
    fn is_ended(&self) -> bool;
    /// Ends it before its client is answered.
    fn end(&self);
}

/// The open connections of a server.
///
/// A new connection is always admitted. Beyond the limit the oldest connection of the source that
/// has the most is ended, so that slow clients of some sources keep out nobody else, and those of
/// the same source last until others of it connect.
#[derive(Debug)]
pub(super) struct Connections<S, C> {
    limit: usize,
    /// Oldest first.
    open: Vec<OpenConnection<S, C>>,
}

#[derive(Debug)]
struct OpenConnection<S, C> {
    source: S,
    connection: C,
}

impl<S: PartialEq, C: Connection> Connections<S, C> {
    /// No connections, of which at most `limit` are open at a time.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Vec::new(),
        }
    }

    /// Adds a new connection, and ends another beyond the limit.
    pub(super) fn add(&mut self, source: S, connection: C) {
        self.forget_ended();
        self.open.push(OpenConnection { source, connection });
        if self.open.len() > self.limit {
            self.evict();
        }
    }

    /// Ends a connection if the next one was not accepted because a resource was exhausted that it
    /// frees, such as file descriptors.
    pub(super) fn make_room_after(&mut self, error: &io::Error) {
        self.forget_ended();
        if error
            .raw_os_error()
            .is_some_and(|code| LACKS_RESOURCES.contains(&code))
        {
            self.evict();
        }
    }

    fn forget_ended(&mut self) {
        self.open.retain(|open| !open.connection.is_ended());
    }

    /// Ends the oldest connection of the source that has the most.
    fn evict(&mut self) {
        let share = |index: &usize| {
            let source = &self.open[*index].source;
            let same = self.open.iter().filter(|other| other.source == *source);
            same.count()
        };
        // The last of several maxima is the oldest.
        if let Some(index) = (0..self.open.len()).rev().max_by_key(share) {
            self.open.remove(index).connection.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Ended(Rc<Cell<bool>>);

    impl Connection for Ended {
        fn is_ended(&self) -> bool {
            self.0.get()
        }
        fn end(&self) {
            self.0.set(true);
        }
    }

    /// The indices of the connections from these sources that are ended at a limit of three.
    fn ended(sources: &str) -> Vec<usize> {
        let mut connections = Connections::new(3);
        let all: Vec<Ended> = sources.chars().map(|_| Ended::default()).collect();
        for (source, connection) in sources.chars().zip(&all) {
            connections.add(source, connection.clone());
        }
        (0..all.len())
            .filter(|index| all[*index].is_ended())
            .collect()
    }

    #[test]
    fn the_oldest_connection_of_the_largest_source_is_ended() {
        assert!(ended("aaa").is_empty());
        assert_eq!(ended("abcd"), [0]);
        assert_eq!(ended("abba"), [0]);
        assert_eq!(ended("abbbbb"), [1, 2, 3]);
        assert_eq!(ended("bbbac"), [0, 1]);
    }

    #[test]
    fn ended_connections_take_no_room() {
        let mut connections = Connections::new(2);
        let all = [(); 3].map(|()| Ended::default());
        connections.add('a', all[0].clone());
        connections.add('b', all[1].clone());
        all[1].end();
        connections.add('c', all[2].clone());
        assert!(!all[0].is_ended() && !all[2].is_ended());
    }

    #[test]
    fn a_lack_of_descriptors_ends_a_connection_that_is_open() {
        let mut connections = Connections::new(3);
        let all = [(); 3].map(|()| Ended::default());
        for connection in &all {
            connections.add('a', connection.clone());
        }
        all[0].end();
        connections.make_room_after(&io::Error::from_raw_os_error(libc::ECONNABORTED));
        assert!(!all[1].is_ended());
        connections.make_room_after(&io::Error::from_raw_os_error(libc::EMFILE));
        assert!(all[1].is_ended() && !all[2].is_ended());
    }
}
