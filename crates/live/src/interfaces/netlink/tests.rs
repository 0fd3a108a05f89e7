use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};

#[test]
fn the_loopback_interface_is_read_with_its_address() {
    let network = read(&[]).unwrap();
    let lo = network.link("lo").unwrap();
    assert!(lo.is_loopback && lo.is_up, "{lo:?}");
    assert!(network.has(Ipv4Addr::LOCALHOST.into()), "{network:?}");
    let address = |ip: IpAddr| network.addresses.iter().find(move |a| a.ip == ip).unwrap();
    let own = address(Ipv4Addr::LOCALHOST.into());
    assert_eq!(
        (own.link, own.is_routable),
        (lo.index, false),
        "its scope is the host"
    );
    assert!(network.routes.is_empty(), "no target, no routes");
    assert!(network.names().contains("lo"));
}

#[test]
fn garbage_decodes_to_nothing_and_no_change_gives_no_notification() {
    let listener = Listener::new(true).unwrap();
    // Unrelated changes of this machine end eventually.
    let is_idle = (0..100).any(|_| !listener.receive().unwrap());
    assert!(is_idle);
    let mut network = Network::default();
    for kind in [
        libc::RTM_NEWLINK,
        libc::RTM_NEWADDR,
        libc::RTM_NEWROUTE,
        9999,
    ] {
        for len in 0..40 {
            network.decode(kind, &vec![0xff; len], &[Ipv4Addr::LOCALHOST.into()]);
        }
    }
    assert!(
        network.addresses.is_empty() && network.routes.is_empty(),
        "{network:?}"
    );
}

#[test]
fn a_refusal_of_the_kernel_is_an_error() {
    let error = set_alias("no-such-if", "nothing").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{error}");
    let mut unknown = LinkMessage::default();
    unknown.header.index = u32::MAX >> 1;
    let request = RouteNetlinkMessage::SetLink(unknown);
    let error = exchange(request, NLM_F_ACK, |_, _| ()).unwrap_err();
    let refused = [libc::ENODEV, libc::EPERM];
    assert!(refused.contains(&error.raw_os_error().unwrap()), "{error}");
}

#[test]
fn a_host_without_a_route_or_an_answer_is_unknown() {
    let connection = Connection::open().unwrap();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    // TEST-NET-1 (RFC 5737) and the discard prefix (RFC 6666) belong to nobody.
    for host in ["192.0.2.1", "100::1"] {
        let beyond_no_interface = connection.is_next_hop_known(ip(host), Some(u32::MAX >> 1));
        assert!(!beyond_no_interface, "{host}");
    }
}

#[test]
fn the_next_hop_of_a_route_is_its_gateway() {
    let header = [0; 12];
    let attribute = |kind: u16, value: &[u8]| {
        let len = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let oif = attribute(libc::RTA_OIF, &3_u32.to_ne_bytes());
    let next_hop = |more: &[u8]| decode::next_hop(&[&header[..], &oif, more].concat());
    assert_eq!(next_hop(&[]), Some((3, None)));
    let gateway = attribute(libc::RTA_GATEWAY, &[10, 1, 1, 2]);
    assert_eq!(next_hop(&gateway), Some((3, Some([10, 1, 1, 2].into()))));
    let family = u16::try_from(libc::AF_INET6).unwrap().to_ne_bytes();
    let ip = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    let via = attribute(libc::RTA_VIA, &[&family[..], &ip.octets()].concat());
    assert_eq!(next_hop(&via), Some((3, Some(ip.into()))));
    let truncated = attribute(libc::RTA_VIA, &[2]);
    assert_eq!(next_hop(&truncated), None);
    assert_eq!(decode::next_hop(&header), None, "no interface");
}

/// A message of type `kind` without a payload but for an error code.
fn message(kind: i32, flags: u16, code: i32) -> Vec<u8> {
    const LEN: u32 = 20;
    let mut message = LEN.to_ne_bytes().to_vec();
    message.extend(u16::try_from(kind).unwrap().to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(code.to_ne_bytes());
    message
}

/// The number of messages that were visited, and whether it was the last part.
fn visited(part: &[Vec<u8>]) -> (u32, io::Result<bool>) {
    let mut count = 0;
    let is_last = visit_all(&part.concat(), &mut |_, _| count += 1);
    (count, is_last)
}

#[test]
fn an_incomplete_answer_is_an_error() {
    let link = message(libc::RTM_NEWLINK.into(), 0, 0);
    let done = |flags, code| message(libc::NLMSG_DONE, flags, code);
    let (count, is_last) = visited(&[link.clone(), link.clone()]);
    assert_eq!((count, is_last.unwrap()), (2, false));
    let (count, is_last) = visited(&[link.clone(), done(0, 0)]);
    assert_eq!((count, is_last.unwrap()), (1, true));
    let (_, aborted) = visited(&[link.clone(), done(0, -libc::EMSGSIZE)]);
    let error = aborted.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE), "{error}");
    let changed = message(libc::RTM_NEWLINK.into(), NLM_F_DUMP_INTR, 0);
    for part in [[link.clone(), changed], [link, done(NLM_F_DUMP_INTR, 0)]] {
        let error = visited(&part).1.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
    }
}

#[test]
fn an_incomplete_reading_is_tried_three_times() {
    let attempts = |failures: u32| {
        let mut asked = 0;
        let found = retry(|| {
            asked += 1;
            let fails = asked <= failures;
            let error = io::ErrorKind::Interrupted.into();
            if fails { Err(error) } else { Ok(asked) }
        });
        (asked, found.ok())
    };
    assert_eq!(attempts(0), (1, Some(1)));
    assert_eq!(attempts(2), (3, Some(3)));
    assert_eq!(attempts(3), (3, None));
}
