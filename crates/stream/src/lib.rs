//! A stream at a wanted rate over several TCP connections (`MultiTCP` paper): the live drivers of
//! [`polypath_core::connections`].
//!
//! A [`Server`] sends a [`Source`], a file or live bytes, to any number of receivers. A receiver
//! ([`receive`]) opens connections, sets the window of each, and writes the bytes in order to a
//! [`Sink`]. Connections may fail at any time, and the server may be restarted: no byte is lost,
//! doubled or out of order. All connections have TLS with keys that both ends know
//! ([`StreamIdentity`]), except on loopback, where both may omit it.

mod channel;
mod live_source;
mod receive;
mod security;
mod server;
mod services;
mod sink;
mod socket;
mod source;
mod stream_task;
mod wrapped;

pub use channel::ChannelError;
pub use live_source::LiveSource;
pub use receive::{
    ConnectionError, ReceiveConfig, ReceiveError, ReceiverSecurity, ReceptionReport, receive,
    receive_until, target,
};
pub use security::{
    Admission, IdentityError, OtherKey, ParseStreamKeyError, StreamIdentity, StreamKey,
};
pub use server::{Server, ServerConfig, ServerCounters, ServerCounts, ServerError, ServerSecurity};
pub use services::Services;
pub use sink::Sink;
pub use source::{FileSource, PAYLOAD, Source};
pub use wrapped::{Asked, WrappedConnection};
