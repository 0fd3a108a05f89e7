//! Cookies, which prove that the sender of an initiation receives datagrams at its source address.
//!
//! A responder that has no budget left for an initiation answers with a cookie: a MAC of the source
//! address and port under a secret that it changes every [`COOKIE_LIFETIME`]. It keeps no state for
//! the sender. The initiator repeats the initiation with a MAC that is keyed by the cookie, and adds
//! one to later initiations on that path while the cookie is valid. A sender that spoofs its address
//! receives no cookie (`WireGuard`'s paper, section 5.4.7).
//!
//! The MAC of a cookie reply covers that of the initiation, so that only someone who observed the
//! initiation and knows the responder's public key can forge one ([`CookieJar`]). Unlike `WireGuard`'s, the cookie is
//! not encrypted, since the key of that encryption follows from the same public key.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::address::Source;
use crate::datagram::{Authenticator, COOKIE_REPLY, COOKIE_REPLY_LEN, CookieReply};
use crate::entropy::EntropyError;
use crate::event::Reject;
use crate::mac::{MAC_KEY_LEN, MAC_LEN, MacKey, Tag};

/// The time after which a responder changes its secret, and an initiator forgets a cookie. A secret
/// is valid for twice as long.
pub(super) const COOKIE_LIFETIME: Duration = Duration::from_secs(120);
/// Different cookies with which an initiation is sent again on a path, at most.
const MAX_REPETITIONS: u32 = 2;

/// The secrets of a responder.
#[derive(Default)]
pub(super) struct CookieSecrets {
    current: Option<Secret>,
    previous: Option<Secret>,
}

struct Secret {
    key: MacKey,
    /// The time from which it is invalid.
    expires: Time,
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
        // A cookie must not expire before its initiator forgets it.
        let is_late = |secret: &Secret| now + COOKIE_LIFETIME >= secret.expires;
        if self.current.as_ref().is_none_or(is_late) {
            let secret = Secret {
                key: MacKey::new(draw()?),
                expires: now + COOKIE_LIFETIME * 2,
            };
            self.previous = self.current.replace(secret);
        }
        let secret = self.current.as_ref().ok_or(EntropyError)?;
        let cookie = secret.key.tag(&[source.as_bytes()]);
        let mut reply = [0; COOKIE_REPLY_LEN];
        reply[0] = COOKIE_REPLY;
        reply[1..][..MAC_LEN].copy_from_slice(&cookie);
        reply[1 + MAC_LEN..].copy_from_slice(&key.tag(&[initiation.mac, &cookie]));
        Ok(Bytes::copy_from_slice(&reply))
    }

    /// Whether the cookie MAC of an initiation from `source` is valid.
    pub(super) fn verify(&self, now: Time, source: &Source, mac: &Authenticator<'_>) -> bool {
        if mac.is_absent() {
            return false;
        }
        let secrets = self.current.iter().chain(&self.previous);
        let mut valid = secrets.filter(|secret| now < secret.expires);
        valid.any(|secret| {
            let cookie = secret.key.tag(&[source.as_bytes()]);
            MacKey::from_short(&cookie).verify(&[mac.covered], mac.mac)
        })
    }

    /// A number that depends on the network of `source`, and that nobody else can predict.
    pub(super) fn bucket(&self, source: &Source) -> u8 {
        let secret = self.current.as_ref();
        secret.map_or(0, |secret| secret.key.tag(&[source.network()])[0])
    }
}

/// The cookies that an initiator has received, one for each path.
///
/// Anyone who observes an initiation and knows the responder's public key can forge replies to it.
/// Therefore the first [`MAX_REPETITIONS`] different cookies are tried at once, and the one that
/// later initiations carry is a random one of all: an attacker who forges n replies to each
/// initiation leaves at least one attempt in n + 1 the cookie of the responder.
pub(super) struct CookieJar(Vec<Option<ReceivedCookie>>);

#[derive(Clone, Copy)]
struct ReceivedCookie {
    cookie: Tag,
    expires: Time,
    /// The MAC of the initiation that it was a reply to.
    initiation: Tag,
    /// Different cookies in replies to that initiation, except that one which is not kept counts
    /// again if it is repeated.
    replies: u32,
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

    /// Handles a reply to the initiation with the MAC `initiation`; `key` is that of the peer's cookie
    /// replies, and `draw` draws a random number. Returns the cookie if the initiation is to be sent
    /// again with it.
    ///
    /// # Errors
    /// [`Reject::UnexpectedCookie`] if the reply is not authentic.
    pub(super) fn receive(
        &mut self,
        now: Time,
        path: PathId,
        reply: &CookieReply<'_>,
        initiation: &[u8],
        key: &MacKey,
        draw: impl FnOnce() -> Result<u32, EntropyError>,
    ) -> Result<Option<Tag>, Reject> {
        if !key.verify(&[initiation, reply.cookie], reply.mac) {
            return Err(Reject::UnexpectedCookie);
        }
        let slot = self.0.get_mut(path.index()).ok_or(Reject::UnknownPath)?;
        let mut new = ReceivedCookie {
            cookie: Tag::default(),
            expires: now + COOKIE_LIFETIME,
            initiation: Tag::default(),
            replies: 1,
        };
        new.cookie.copy_from_slice(reply.cookie);
        new.initiation.copy_from_slice(initiation);
        let Some(kept) = slot.as_mut().filter(|kept| kept.initiation == initiation) else {
            *slot = Some(new);
            return Ok(Some(new.cookie));
        };
        if kept.cookie == new.cookie {
            return Ok(None);
        }
        kept.replies = kept.replies.saturating_add(1);
        new.replies = kept.replies;
        // Each of the cookies so far is then kept with the same probability.
        if draw().is_ok_and(|number| number % new.replies == 0) {
            *kept = new;
        }
        Ok((new.replies <= MAX_REPETITIONS).then_some(new.cookie))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    /// A source, and the responder's key of cookie replies.
    struct Sender {
        source: Source,
        key: MacKey,
    }

    impl Sender {
        fn new() -> Self {
            Self {
                source: SocketAddr::from(([192, 0, 2, 1], 7001)).into(),
                key: MacKey::new([7; MAC_KEY_LEN]),
            }
        }

        /// The cookie that `secrets` give at `seconds`; a new secret is derived from that time.
        fn cookie(&self, secrets: &mut CookieSecrets, seconds: u64) -> Tag {
            let covered = [1, 2, 3];
            let initiation = Authenticator {
                covered: &covered,
                mac: &covered,
            };
            let draw = || Ok([u8::try_from(seconds / 60).unwrap(); MAC_KEY_LEN]);
            let reply = secrets.reply(at(seconds), &self.source, &initiation, &self.key, draw);
            reply.unwrap()[1..][..MAC_LEN].try_into().unwrap()
        }

        fn is_valid(&self, secrets: &CookieSecrets, cookie: &Tag, seconds: u64) -> bool {
            let covered = [4, 5, 6];
            let mac = MacKey::from_short(cookie).tag(&[&covered]);
            let mac = Authenticator {
                covered: &covered,
                mac: &mac,
            };
            secrets.verify(at(seconds), &self.source, &mac)
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_cookie_is_valid_for_120_to_240_s_whenever_others_are_given() {
        let sender = Sender::new();
        for next in [60, 119, 120, 180, 239, 240, 3600] {
            let mut secrets = CookieSecrets::default();
            let first = sender.cookie(&mut secrets, 0);
            let late = sender.cookie(&mut secrets, 119);
            assert_eq!(first, late, "of the same secret");
            let other = sender.cookie(&mut secrets, next);
            assert_eq!(first == other, next < 120, "at {next} s");
            for seconds in [next, 239, 240, 480].into_iter().filter(|&now| now >= next) {
                let is_valid = sender.is_valid(&secrets, &first, seconds);
                assert_eq!(is_valid, seconds < 240, "{next} s, {seconds} s");
            }
            for (seconds, expected) in [(next + 119, true), (next + 240, false)] {
                let is_valid = sender.is_valid(&secrets, &other, seconds);
                assert_eq!(is_valid, expected, "{next} s, {seconds} s");
            }
        }
    }
}
