//! Cookies, which prove that the sender of an initiation receives datagrams at its source address.
//!
//! A responder that has no budget left for an initiation answers with a cookie: a MAC of the source
//! address and port under a secret that it changes every [`COOKIE_LIFETIME`]. It keeps no state for
//! the sender. The initiator repeats the initiation with a MAC that is keyed by the cookie, and adds
//! one to later initiations on that path while the cookie is valid. A sender that spoofs its address
//! receives no cookie (`WireGuard`'s paper, section 5.4.7).
//!
//! The MAC of a cookie reply covers that of the initiation, so that only someone who observed the
//! initiation and knows the responder's public key can forge one. Unlike `WireGuard`'s, the cookie is
//! not encrypted, since the key of that encryption follows from the same public key.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::address::Source;
use crate::datagram::{Authenticator, COOKIE_REPLY, COOKIE_REPLY_LEN, CookieReply};
use crate::entropy::EntropyError;
use crate::mac::{MAC_KEY_LEN, MAC_LEN, MacKey, Tag};

/// The time after which a responder changes its secret, and an initiator forgets a cookie. The
/// previous secret stays valid until the next change.
pub(super) const COOKIE_LIFETIME: Duration = Duration::from_secs(120);

/// The secrets of a responder.
#[derive(Default)]
pub(super) struct CookieSecrets {
    current: Option<MacKey>,
    previous: Option<MacKey>,
    /// The time at which `current` was drawn.
    drawn: Time,
}

impl CookieSecrets {
    /// The datagram that gives the sender at `source` a cookie; `key` is that of cookie replies.
    pub(super) fn reply(
        &mut self,
        now: Time,
        source: &Source,
        initiation: &Authenticator<'_>,
        key: &MacKey,
        draw: impl FnOnce() -> Result<[u8; MAC_KEY_LEN], EntropyError>,
    ) -> Result<Bytes, EntropyError> {
        if self.current.is_none() || now >= self.drawn + COOKIE_LIFETIME {
            let secret = MacKey::new(draw()?);
            self.previous = self.current.replace(secret);
            self.drawn = now;
        }
        let secret = self.current.as_ref().ok_or(EntropyError)?;
        let cookie = secret.tag(&[source.as_bytes()]);
        let mut reply = [0; COOKIE_REPLY_LEN];
        reply[0] = COOKIE_REPLY;
        reply[1..][..MAC_LEN].copy_from_slice(&cookie);
        reply[1 + MAC_LEN..].copy_from_slice(&key.tag(&[initiation.mac, &cookie]));
        Ok(Bytes::copy_from_slice(&reply))
    }

    /// Whether the cookie MAC of an initiation from `source` is valid.
    pub(super) fn verify(&self, now: Time, source: &Source, mac: &Authenticator<'_>) -> bool {
        if mac.is_absent() || now >= self.drawn + COOKIE_LIFETIME * 2 {
            return false;
        }
        let mut secrets = self.current.iter().chain(&self.previous);
        secrets.any(|secret| {
            let cookie = secret.tag(&[source.as_bytes()]);
            MacKey::from_short(&cookie).verify(&[mac.covered], mac.mac)
        })
    }

    /// A number that depends on the network of `source`, and that nobody else can predict.
    pub(super) fn bucket(&self, source: &Source) -> u8 {
        let secret = self.current.as_ref();
        secret.map_or(0, |secret| secret.tag(&[source.network()])[0])
    }
}

/// The cookies that an initiator has received, by path.
pub(super) struct CookieJar(Vec<Option<ReceivedCookie>>);

#[derive(Clone, Copy)]
struct ReceivedCookie {
    cookie: Tag,
    expires: Time,
}

impl CookieJar {
    pub(super) fn new(paths: u8) -> Self {
        Self(vec![None; usize::from(paths)])
    }

    /// The cookie for initiations on `path`, if a valid one was received.
    pub(super) fn get(&self, now: Time, path: PathId) -> Option<Tag> {
        let received = (*self.0.get(path.index())?)?;
        (now < received.expires).then_some(received.cookie)
    }

    /// Stores the cookie of a reply to the initiation with the MAC `initiation`; returns whether the
    /// reply is authentic. `key` is that of the peer's cookie replies.
    pub(super) fn store(
        &mut self,
        now: Time,
        path: PathId,
        reply: &CookieReply<'_>,
        initiation: &[u8],
        key: &MacKey,
    ) -> bool {
        let is_authentic = key.verify(&[initiation, reply.cookie], reply.mac);
        if let Some(slot) = self.0.get_mut(path.index()).filter(|_| is_authentic) {
            let mut cookie = Tag::default();
            cookie.copy_from_slice(reply.cookie);
            let expires = now + COOKIE_LIFETIME;
            *slot = Some(ReceivedCookie { cookie, expires });
        }
        is_authentic
    }
}
