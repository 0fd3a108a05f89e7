//! The filter's program against a specification, for all types and lengths of datagrams.

use polypath_session::datagram::is_transport;

use super::*;

/// The most instructions that the kernel accepts (`BPF_MAXINSNS`).
const MAX_INSTRUCTIONS: usize = 4096;
const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const LOAD_LEN: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_LEN;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const JUMP_IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// A datagram as the kernel shows it to a filter.
struct View {
    source: SocketAddr,
    /// The IP header.
    ip: Vec<u8>,
    /// The UDP header and the payload.
    udp: Vec<u8>,
}

impl View {
    fn new(source: SocketAddr, payload: &[u8]) -> Self {
        let ip = match source.ip() {
            IpAddr::V4(ip) => [&[0x45; 12][..], &ip.octets(), &[10, 0, 0, 9]].concat(),
            IpAddr::V6(ip) => [&[0x60; 8][..], &ip.octets(), &[9; 16]].concat(),
        };
        let port = source.port().to_be_bytes();
        let udp = [&port, &[0x1b, 0x59, 0, 0, 0, 0][..], payload].concat();
        Self { source, ip, udp }
    }

    /// The value of `len` bytes at an offset; `None` beyond the end, at which a filter refuses.
    fn load(&self, offset: u32, len: usize) -> Option<u32> {
        let (bytes, at) = match offset.checked_sub(libc::SKF_NET_OFF.cast_unsigned()) {
            Some(at) => (&self.ip, at),
            None => (&self.udp, offset),
        };
        let at = usize::try_from(at).unwrap();
        let bytes = bytes.get(at..at + len)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
        )
    }
}

/// Runs a program as the kernel does (`bpf_prog_run`), and returns whether it passes the datagram
/// if the random number is `random`.
fn run(program: &[sock_filter], view: &View, random: u32) -> bool {
    let (mut at, mut loaded) = (0, 0);
    loop {
        let step = program[at];
        let random_at = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM).cast_unsigned();
        let value = match u32::from(step.code) {
            RETURN => return step.k != 0,
            LOAD_WORD if step.k == random_at => Some(random),
            LOAD_BYTE => view.load(step.k, 1),
            LOAD_HALF => view.load(step.k, 2),
            LOAD_WORD => view.load(step.k, 4),
            LOAD_LEN => u32::try_from(view.udp.len()).ok(),
            AND => Some(loaded & step.k),
            _ => Some(loaded),
        };
        let Some(value) = value else { return false };
        loaded = value;
        let skipped = match u32::from(step.code) {
            JUMP => step.k,
            JUMP_IF_EQUAL if loaded == step.k => step.jt.into(),
            JUMP_IF_ANY if loaded & step.k != 0 => step.jt.into(),
            JUMP_IF_EQUAL | JUMP_IF_ANY => step.jf.into(),
            _ => 0,
        };
        at += 1 + usize::try_from(skipped).unwrap();
    }
}

/// All instructions are known, all jumps stay in the program, and its end returns.
fn check_jumps(program: &[sock_filter]) {
    assert!(program.len() <= MAX_INSTRUCTIONS);
    for (at, step) in program.iter().enumerate() {
        let skipped = match u32::from(step.code) {
            RETURN => continue,
            LOAD_BYTE | LOAD_HALF | LOAD_WORD | LOAD_LEN | AND => 0,
            JUMP => step.k,
            JUMP_IF_EQUAL | JUMP_IF_ANY => step.jt.max(step.jf).into(),
            other => panic!("instruction {other:#x}"),
        };
        assert!(at + 1 + usize::try_from(skipped).unwrap() < program.len());
    }
}

/// The specification: whether the datagram passes if the random number is `random`.
fn passes(admitted: &Admitted, handshakes: Handshakes, view: &View, random: u32) -> bool {
    let payload = &view.udp[8..];
    let is_chosen = match handshakes {
        Handshakes::All => true,
        Handshakes::OneIn(share) => random.is_multiple_of(share),
    };
    let names_key = |key: &u32| payload.get(1..5) == Some(&key.to_be_bytes()[..]);
    admitted.peers.contains(&view.source)
        || match payload.first() {
            Some(&INITIATION) => payload.len() == INITIATION_LEN && is_chosen,
            Some(&COOKIE_REPLY) => payload.len() == COOKIE_REPLY_LEN && is_chosen,
            Some(&RESPONSE) => {
                payload.len() == RESPONSE_LEN && admitted.pending.iter().any(names_key)
            }
            Some(&first) if is_transport(first) => {
                admitted.keys.iter().take(MAX_KEYS).any(names_key)
            }
            _ => false,
        }
}

/// No address, and one and two of each family.
fn peer_lists() -> [Vec<SocketAddr>; 5] {
    let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    [
        Vec::new(),
        addresses(&["192.0.2.7:7001"]),
        addresses(&["192.0.2.7:7001", "198.51.100.3:9"]),
        addresses(&["[2001:db8::7]:7001"]),
        addresses(&["[2001:db8::7]:7001", "[fe80::1]:65535"]),
    ]
}

/// The peers and strangers that differ from a peer in one byte of the address or in the port.
fn sources(peers: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut sources = vec!["203.0.113.1:5".parse().unwrap()];
    for peer in peers {
        let ports = [peer.port(), peer.port() ^ 1, peer.port() ^ 0x100];
        let ips: Vec<IpAddr> = match peer.ip() {
            IpAddr::V4(ip) => altered(ip.octets()).map(IpAddr::from).collect(),
            IpAddr::V6(ip) => altered(ip.octets()).map(IpAddr::from).collect(),
        };
        let all = |ip| ports.map(|port| SocketAddr::new(ip, port));
        sources.extend(ips.into_iter().flat_map(all));
    }
    // A socket receives datagrams of one family.
    let is_v4 = peers.first().is_none_or(SocketAddr::is_ipv4);
    sources.retain(|source| source.is_ipv4() == is_v4);
    sources
}

/// The bytes with each of them changed in turn, and unchanged.
fn altered<const N: usize>(octets: [u8; N]) -> impl Iterator<Item = [u8; N]> {
    (0..=N).map(move |at| {
        let mut other = octets;
        if let Some(byte) = other.get_mut(at) {
            *byte ^= 1;
        }
        other
    })
}

/// Payloads of every type and of lengths around those that the filter knows; their key index is
/// `key`.
fn payloads(key: u32) -> impl Iterator<Item = Vec<u8>> {
    let lens = (0..=8)
        .chain(COOKIE_REPLY_LEN - 1..=COOKIE_REPLY_LEN + 1)
        .chain(RESPONSE_LEN - 1..=RESPONSE_LEN + 1)
        .chain(INITIATION_LEN - 2..=INITIATION_LEN + 2)
        .chain([60, 1472]);
    lens.flat_map(move |len| {
        (0..=u8::MAX).map(move |kind| {
            let mut payload = vec![0xa5; len];
            let fields = [kind].into_iter().chain(key.to_be_bytes());
            payload
                .iter_mut()
                .zip(fields)
                .for_each(|(to, byte)| *to = byte);
            payload
        })
    })
}

const RANDOM: [u32; 6] = [0, 1, 2, 3, 4, u32::MAX];

#[test]
fn the_program_passes_what_the_specification_passes() {
    let many: Vec<u32> = (0..100).map(|n| KEY + n).collect();
    for peers in peer_lists() {
        let sources = sources(&peers);
        for keys in [vec![], vec![KEY], vec![1, 2, KEY], many.clone()] {
            for handshakes in [Handshakes::All, Handshakes::OneIn(2), Handshakes::OneIn(4)] {
                let peers = peers.clone();
                let admitted = Admitted {
                    peers,
                    pending: keys.last().map(|key| key + 31),
                    keys: keys.clone(),
                };
                let program = admitted.program(handshakes);
                check_jumps(&program);
                let check = |source, payload: &[u8]| {
                    let view = View::new(source, payload);
                    for random in RANDOM {
                        let expected = passes(&admitted, handshakes, &view, random);
                        assert_eq!(
                            run(&program, &view, random),
                            expected,
                            "{admitted:?}, {handshakes:?}, {source}, {payload:?}, {random}"
                        );
                    }
                };
                for payload in payloads(KEY) {
                    check(sources[0], &payload);
                }
                // What is in a datagram matters only for strangers.
                for source in &sources {
                    for kind in [0, INITIATION, TRANSPORT, TRANSPORT + 8] {
                        check(*source, &[kind; INITIATION_LEN]);
                        check(*source, &response(KEY));
                        check(*source, &response(KEY + 31));
                        check(*source, &datagram(kind, KEY));
                        check(*source, &datagram(kind, KEY + 31));
                        check(*source, &datagram(kind, KEY + 32));
                    }
                }
            }
        }
    }
}

#[test]
fn the_largest_program_is_short_enough_for_the_kernel() {
    let peers = vec!["[2001:db8::7]:7001".parse().unwrap(); 2];
    let keys = vec![KEY; 2 * MAX_KEYS];
    let pending = Some(KEY);
    let admitted = Admitted {
        peers,
        keys,
        pending,
    };
    let program = admitted.program(Handshakes::OneIn(1 << 16));
    check_jumps(&program);
    assert!(program.len() < 140, "{}", program.len());
}

/// The kernel runs the program as the interpreter above does.
#[test]
fn the_kernel_passes_what_the_specification_passes() {
    for ip in ["127.0.0.1", "::1"] {
        let Some(mut socket) = open(ip) else { continue };
        let [peer, stranger] = [(); 2].map(|()| UdpSocket::bind((ip, 0)).unwrap());
        let admitted = Admitted {
            peers: vec![peer.local_addr().unwrap()],
            keys: vec![1, KEY],
            pending: Some(KEY),
        };
        socket.attach_filter(&admitted, Handshakes::All).unwrap();
        // The buffer of `comes` holds no longer ones.
        for payload in payloads(KEY).filter(|payload| payload.len() < 200) {
            for source in [&peer, &stranger] {
                let view = View::new(source.local_addr().unwrap(), &payload);
                let expected = passes(&admitted, Handshakes::All, &view, 0);
                assert_eq!(
                    comes(source, &mut socket, &payload),
                    expected,
                    "{ip}: {payload:?}"
                );
            }
        }
    }
}
