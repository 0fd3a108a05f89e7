//! The keys of one handshake, with a counter and a replay window for each path.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_core::window::{SlidingWindow, Verdict};
use snow::StatelessTransportState;

use crate::arena::Arena;
use crate::datagram::{
    COUNTER_MAX, Nonce, OVERHEAD, TRANSPORT_HEADER, Transport, write_transport_header,
};
use crate::event::Reject;
use crate::handshake::Agreed;
use crate::noise::TAG_LEN;

/// How many of the newest datagrams of a path are told from replays.
const REPLAY_WINDOW: u32 = 2048;

/// The keys of one handshake; `local` is the index by which the peer names them to this end.
pub(crate) struct KeyPair {
    pub(crate) local: u32,
    pub(crate) established: Time,
    /// Which instance of the peer has them, too.
    pub(crate) instance: u64,
    remote: u32,
    transport: StatelessTransportState,
    paths: Vec<PathState>,
}

struct PathState {
    sent: u64,
    arrived: SlidingWindow,
}

impl KeyPair {
    pub(crate) fn new(agreed: Agreed, local: u32, now: Time, paths: u8) -> Self {
        let fresh = || PathState {
            sent: 0,
            arrived: SlidingWindow::new(REPLAY_WINDOW),
        };
        Self {
            local,
            established: now,
            instance: agreed.remote.instance,
            remote: agreed.remote.index,
            transport: agreed.transport,
            paths: (0..paths).map(|_| fresh()).collect(),
        }
    }

    /// The number of datagrams sealed on the busiest path.
    pub(crate) fn sent(&self) -> u64 {
        self.paths.iter().map(|path| path.sent).max().unwrap_or(0)
    }

    /// Seals `frame` for `path`; nothing if the counter is used up or the frame is too long for a
    /// datagram.
    pub(crate) fn seal(&mut self, path: PathId, frame: &[u8], arena: &mut Arena) -> Option<Bytes> {
        let state = self.paths.get_mut(path.index())?;
        if state.sent >= COUNTER_MAX {
            return None;
        }
        let nonce = Nonce {
            path,
            counter: state.sent,
        };
        state.sent += 1;
        let (transport, remote) = (&self.transport, self.remote);
        let sealed = arena.cut(frame.len() + OVERHEAD, |out| {
            write_transport_header(out, remote, nonce);
            let body = &mut out[TRANSPORT_HEADER..];
            let len = transport.write_message(nonce.to_bits(), frame, body)?;
            Ok::<_, snow::Error>(TRANSPORT_HEADER + len)
        });
        sealed.ok()
    }

    /// Opens a datagram that came on `path`, once.
    pub(crate) fn open(
        &mut self,
        path: PathId,
        datagram: &Transport<'_>,
        arena: &mut Arena,
    ) -> Result<Bytes, Reject> {
        let Nonce {
            path: named,
            counter,
        } = datagram.nonce;
        if named != path {
            return Err(Reject::WrongPath);
        }
        let state = self
            .paths
            .get_mut(path.index())
            .ok_or(Reject::UnknownPath)?;
        refuse_old(state.arrived.look(counter))?;
        let (transport, sealed) = (&self.transport, datagram.sealed);
        let frame = arena.cut(sealed.len(), |out| {
            let opened = transport.read_message(datagram.nonce.to_bits(), sealed, out);
            opened.map_err(|_| Reject::Undecryptable)
        })?;
        debug_assert_eq!(frame.len() + TAG_LEN, sealed.len());
        // Only what is authentic may move the window.
        state.arrived.accept(counter);
        Ok(frame)
    }
}

fn refuse_old(verdict: Verdict) -> Result<(), Reject> {
    match verdict {
        Verdict::Fresh => Ok(()),
        Verdict::Duplicate => Err(Reject::Replayed),
        Verdict::Behind => Err(Reject::BehindWindow),
    }
}
