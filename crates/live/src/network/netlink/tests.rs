use super::*;
use std::net::Ipv4Addr;

#[test]
fn the_loopback_interface_is_read_with_its_address() {
    let network = read(&[]).unwrap();
    let lo = network.link("lo").unwrap();
    assert!(lo.is_loopback && lo.is_up, "{lo:?}");
    assert!(network.has(Ipv4Addr::LOCALHOST.into()), "{network:?}");
    let address = |ip: IpAddr| network.addresses.iter().find(move |a| a.ip == ip).unwrap();
    let own = address(Ipv4Addr::LOCALHOST.into());
    assert_eq!(
        (own.link, own.is_wide),
        (lo.index, false),
        "its scope is the host"
    );
    assert!(network.routes.is_empty(), "nobody asked for any");
    assert!(network.names().contains("lo"));
}

#[test]
fn nothing_is_heard_where_nothing_changes_and_no_interface_is_made_of_rubbish() {
    let listener = Listener::new(true).unwrap();
    // Something may have happened on this machine by chance; it ends.
    let quiet = (0..100).any(|_| !listener.hear().unwrap());
    assert!(quiet);
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
fn what_the_kernel_refuses_is_an_error() {
    let error = note("no-such-if", "nothing").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{error}");
    let mut nobody = LinkMessage::default();
    nobody.header.index = u32::MAX >> 1;
    let request = RouteNetlinkMessage::SetLink(nobody);
    let error = exchange(request, NLM_F_ACK, |_, _| ()).unwrap_err();
    let refused = [libc::ENODEV, libc::EPERM];
    assert!(refused.contains(&error.raw_os_error().unwrap()), "{error}");
}
