//! Replies to hosts that do not exist, in two namespaces with a link between them.

use std::io;

use polypath_core::packet::TrafficClass;
use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use polypath_live::config::NodeConfig;
use polypath_live::udp::PathSocket;
use polypath_session::datagram::{COOKIE_REPLY, COOKIE_REPLY_LEN};

/// More datagrams than the send buffer holds.
const MANY: usize = 20_000;

fn socket() -> io::Result<PathSocket> {
    let key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
    let text = format!(
        "[node]\nkey_file = \"a.key\"\ntun = {{ name = \"pp0\", addresses = [\"10.77.0.1/24\"] }}\n\
         [peer]\npublic_key = \"{key}\"\n[policy]\nkind = \"single-path\"\n\
         [[path]]\nname = \"one\"\nlocal = \"10.1.1.1:7001\"\nremote = \"10.1.1.2:7001\"\n"
    );
    let config = NodeConfig::parse(&text, "a.toml").map_err(io::Error::other)?;
    PathSocket::open(&config.paths[0]).map_err(io::Error::other)
}

/// The kernel keeps what is sent to them until the search for them fails. Cookies for hosts that
/// exist, and for those behind a gateway that exists, leave all the same.
#[test]
fn cookies_for_hosts_that_do_not_exist_leave_half_of_the_send_buffer() {
    if !can_test() {
        return;
    }
    let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"]).unwrap();
    a.ip(&["route", "add", "10.9.0.0/16", "via", "10.1.1.2"])
        .unwrap();
    let socket = a.run(socket).unwrap();
    let peer = "10.1.1.2:7001".parse().unwrap();
    socket
        .send(
            b"resolves the address of the peer",
            TrafficClass::DEFAULT,
            peer,
        )
        .unwrap();
    let behind_peer = "10.9.0.1:7001".parse().unwrap();
    let mut held = 0;
    for n in 0..MANY {
        let host = 20 + n % 200;
        let stranger = format!("10.1.1.{host}:9").parse().unwrap();
        if let Err(error) = socket.send(
            &[COOKIE_REPLY; COOKIE_REPLY_LEN],
            TrafficClass::DEFAULT,
            stranger,
        ) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            held = n;
            break;
        }
    }
    assert!(held > 100, "the buffer never fills: {held}");
    for _ in 0..100 {
        socket
            .send(b"to the peer", TrafficClass::DEFAULT, peer)
            .unwrap();
        for host in [peer, behind_peer] {
            socket
                .send(
                    &[COOKIE_REPLY; COOKIE_REPLY_LEN],
                    TrafficClass::DEFAULT,
                    host,
                )
                .unwrap();
        }
    }
}
