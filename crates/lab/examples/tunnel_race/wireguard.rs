//! The tunnel of wireguard-go.

use std::error::Error;

use polypath_live::keys::SystemEntropy;
use polypath_session::key::PrivateKey;

#[path = "../common/wireguard.rs"]
mod daemon;

use crate::{Endpoints, Tunnel};
use daemon::{Daemon, RunningDaemon};

struct Daemons(#[expect(dead_code, reason = "killed on drop")] [RunningDaemon; 2]);

impl Tunnel for Daemons {}

pub(crate) fn start(endpoints: &Endpoints) -> Result<impl Tunnel + use<>, Box<dyn Error>> {
    let key = || PrivateKey::generate(&mut SystemEntropy);
    let (a, b) = (key()?, key()?);
    let start_a = Daemon {
        private_key: &a,
        peer: b.public(),
        endpoint: "10.1.1.2:7001".parse()?,
        address: "10.77.0.1/24",
        keepalive: false,
    };
    let start_b = Daemon {
        private_key: &b,
        peer: a.public(),
        endpoint: "10.1.1.1:7001".parse()?,
        address: "10.77.0.2/24",
        keepalive: false,
    };
    Ok(Daemons([
        start_a.start(&endpoints.a)?,
        start_b.start(&endpoints.b)?,
    ]))
}
