//! Scripts of bytes that control the network between two nodes.

use bytes::{Bytes, BytesMut};
use polypath_core::frame::{PathId, Payload};
use polypath_core::packet::Ecn;
use polypath_core::time::{Duration, Time};
use polypath_faults::datagram::{Address, End, Host, Provenance, TestDatagram};
use polypath_session::datagram::{INITIATION, INITIATION_LEN, SESSION_MAC_OFFSET};

use crate::site::{Effects, Site};

/// The most actions of a script.
const MAX_ACTIONS: usize = 300;
/// The time within which the nodes reach each other over a network without faults: that of keys
/// which one of them has lost (`Limits::reject_after`), and of some attempts of a handshake.
const HEALING_TIME: Duration = Duration::from_secs(240);
/// The interval of packets while the network heals.
const PACKET_INTERVAL: Duration = Duration::from_secs(1);
/// The most datagrams that follow from a packet or a deadline.
const MAX_EXCHANGE: usize = 1000;

/// Performs a sequence of actions: delivers, marks, loses, duplicates, reorders, alters and replays
/// datagrams, invents some, advances time, sends packets, restarts hosts and moves them. Then the
/// network works again.
///
/// Packets arrive at most once and unmodified, a forged or replayed datagram has no effect, and in
/// the end the nodes reach each other.
pub(crate) fn check(mut site: Site, bytes: &[u8]) {
    let mut script = Script(bytes);
    for _ in 0..MAX_ACTIONS {
        let Some(action) = script.next() else { break };
        perform(&mut site, action, &mut script);
    }
    heal(&mut site);
}

/// The rest of the input.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of sixteen bits; `None` at the end of the input.
    fn number(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes([
            self.next()?,
            self.next()?,
        ])))
    }

    /// One of `options`; `None` at the end of the input, or if there is none.
    fn pick<'a, T>(&mut self, options: &'a [T]) -> Option<&'a T> {
        options.get(usize::from(self.next()?).checked_rem(options.len())?)
    }
}

fn perform(site: &mut Site, action: u8, script: &mut Script<'_>) -> Option<()> {
    let (kind, argument) = (action % 16, action / 16);
    let end = End::ALL[usize::from(argument % 2)];
    match kind {
        0 => advance(site),
        1 => site.run(site.now + Duration::from_millis(1 << argument)),
        2 => drop(site.send(end, 41 + 70 * u16::from(argument))),
        3 | 4 => {
            let mut datagram = site.in_flight.pop_front()?;
            if kind == 4 && argument % 2 == 1 {
                datagram.mark_ce();
            }
            site.deliver(datagram);
        }
        5 => {
            let which = usize::from(script.next()?).checked_rem(site.in_flight.len())?;
            let datagram = site.in_flight.remove(which)?;
            site.deliver(datagram);
        }
        6 => drop(site.in_flight.pop_front()),
        7 => {
            let datagram = pick_in_flight(site, script)?;
            site.deliver(datagram.clone());
            attack(site, datagram, "a duplicate");
        }
        8 => forge(site, script, flip)?,
        9 => forge(site, script, |bytes, at, _| {
            Some(bytes.slice(..at % bytes.len()))
        })?,
        10 => {
            let other = pick_in_flight(site, script)?.bytes;
            forge(site, script, |bytes, at, _| splice(bytes, &other, at))?;
        }
        11 => {
            let which = usize::from(script.next()?).checked_rem(site.accepted.len())?;
            let mut datagram = site.accepted.get(which)?.clone();
            if argument % 2 == 1 {
                datagram.source = attacker(datagram.to.path);
            }
            replay(site, datagram);
        }
        12 => {
            let mut datagram = pick_in_flight(site, script)?;
            if argument % 2 == 0 {
                datagram.source = attacker(datagram.to.path);
            } else {
                datagram.to.path = PathId(script.next()? % site.paths());
            }
            // Who withholds a datagram can deliver it from elsewhere; handshakes are valid on any
            // path.
            site.deliver(datagram);
        }
        13 => {
            let host = *script.pick(&site.hosts())?;
            site.restart(host);
        }
        14 => site.relocate(end),
        _ => {
            let (host, len) = (*script.pick(&site.hosts())?, script.number()? % 200);
            let (invented, rest) = script.0.split_at_checked(len)?;
            script.0 = rest;
            let path = PathId(argument % site.paths());
            let datagram = TestDatagram {
                id: 0,
                source: attacker(path),
                to: site.address(host, path),
                provenance: Provenance::Forged,
                ecn: Ecn::NotEct,
                bytes: Bytes::copy_from_slice(invented),
            };
            attack(site, datagram, "invented");
        }
    }
    Some(())
}

/// Advances time to the next deadline, and handles it.
fn advance(site: &mut Site) {
    let next = site.deadline();
    if next != Time::MAX {
        site.run(next);
    }
}

fn attacker(path: PathId) -> Address {
    Address {
        host: Host::Attacker,
        path,
        number: 0,
    }
}

/// A copy of one of the datagrams in flight.
fn pick_in_flight(site: &mut Site, script: &mut Script<'_>) -> Option<TestDatagram> {
    script.pick(site.in_flight.make_contiguous()).cloned()
}

/// Delivers a datagram that must have no effect; one with a valid MAC may get a cookie, and a copy of
/// an initiation the same response again.
fn attack(site: &mut Site, datagram: TestDatagram, what: &str) -> Effects {
    let is_initiation = datagram.bytes.first() == Some(&INITIATION);
    let effects = site.deliver(datagram);
    assert!(
        effects.are_none() || is_initiation && effects.are_only_replies(),
        "{what}: {effects:?}"
    );
    effects
}

/// Delivers a datagram that its receiver has accepted before, perhaps before its last start: it then
/// answers an initiation, since it has forgotten that.
fn replay(site: &mut Site, datagram: TestDatagram) {
    let is_forgotten = datagram.provenance == Provenance::UnknownCopy
        && datagram.bytes.first() == Some(&INITIATION);
    if !is_forgotten {
        attack(site, datagram, "a replay");
        return;
    }
    let effects = site.deliver(datagram);
    let allowed = Effects {
        responses: 0,
        ..effects
    };
    assert!(
        allowed.are_only_replies(),
        "a replay from before a restart: {effects:?}"
    );
    assert!(effects.responses <= usize::from(site.paths()));
}

/// Modifies one of the datagrams in flight and delivers the result before the original.
fn forge(
    site: &mut Site,
    script: &mut Script<'_>,
    modify: impl Fn(&Bytes, usize, u8) -> Option<Bytes>,
) -> Option<()> {
    let mut datagram = pick_in_flight(site, script)?;
    let (at, by) = (script.number()?, script.next()?);
    let forged = modify(&datagram.bytes, at, by)?;
    let mut genuine = site.in_flight.iter().chain(&site.accepted);
    if genuine.any(|datagram| authenticated(&datagram.bytes) == authenticated(&forged)) {
        return None;
    }
    datagram.bytes = forged;
    attack(site, datagram, "forged");
    Some(())
}

/// The bytes that authentication covers. The MACs behind them only decide which rate limit applies.
fn authenticated(bytes: &[u8]) -> &[u8] {
    if bytes.first() == Some(&INITIATION) && bytes.len() == INITIATION_LEN {
        &bytes[..SESSION_MAC_OFFSET]
    } else {
        bytes
    }
}

fn flip(bytes: &Bytes, at: usize, by: u8) -> Option<Bytes> {
    let mut flipped = BytesMut::from(&bytes[..]);
    let at = at.checked_rem(flipped.len())?;
    flipped[at] ^= by.max(1);
    Some(flipped.freeze())
}

fn splice(bytes: &Bytes, other: &Bytes, at: usize) -> Option<Bytes> {
    let at = at.checked_rem(bytes.len().min(other.len()))?;
    let mut spliced = BytesMut::from(&bytes[..at]);
    spliced.extend_from_slice(&other[at..]);
    (spliced != *bytes).then(|| spliced.freeze())
}

/// Delivers everything from now on, until packets of both nodes arrive.
fn heal(site: &mut Site) {
    let end = site.now + HEALING_TIME;
    let first = End::ALL.map(|from| site.send(from, 100));
    let mut packet_at = site.now + PACKET_INTERVAL;
    loop {
        deliver_all(site);
        let arrived = |from: End| site.has_received(from.other(), first[from.index()]);
        if End::ALL.into_iter().all(arrived) {
            return;
        }
        let next = site.deadline().min(packet_at);
        assert!(
            next <= end,
            "the nodes do not reach each other: {:?}",
            End::ALL.map(arrived)
        );
        site.run(next);
        if next == packet_at {
            for from in End::ALL {
                site.send(from, 100);
            }
            packet_at = next + PACKET_INTERVAL;
        }
    }
}

fn deliver_all(site: &mut Site) {
    for _ in 0..MAX_EXCHANGE {
        let Some(datagram) = site.in_flight.pop_front() else {
            return;
        };
        site.deliver(datagram);
    }
    panic!("datagrams cause each other without end");
}
