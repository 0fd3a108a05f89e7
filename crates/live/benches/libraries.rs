//! The batches of this crate and those of the libraries that could replace them: quinn-udp for
//! datagrams, tun-rs for the segments of a TUN device. Both take turns, so that a loaded machine
//! slows both; work that only a library needs is part of its time.

use std::io::{self, IoSliceMut, Write};
use std::net::{SocketAddr, UdpSocket};

use bytes::{Bytes, BytesMut};
use etherparse::PacketBuilder;
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::config::PathConfig;
use polypath_live::tun::offload::merge::Merger;
use polypath_live::tun::offload::split::split;
use polypath_live::tun::offload::{GsoType, HEADER_LEN, MAX_LEN, VirtioHeader};
use polypath_live::udp::PathSocket;
use polypath_live::udp::batch::{Incoming, Outgoing};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tun_rs::{GROTable, VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_LEN, VirtioNetHdr, gso_split};

/// The turns of each candidate; a turn is `BATCHES` batches.
const TURNS: usize = 41;
const BATCHES: usize = 200;
/// The length of a datagram and of the payload of a segment, in bytes.
const SEGMENT: u16 = 1400;
const LEN: usize = SEGMENT as usize;
/// The datagrams or segments of a batch: as many as an IP packet holds.
const COUNT: usize = 45;
/// The datagrams of a batch without GSO and GRO.
const SINGLE: usize = 32;
const BUFFER: usize = 65_535;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let clock = Clock::starting_now();
    println!("a batch: median of {TURNS} turns; ratio: median, and that of the quarters");
    compare(
        "send and receive 45 datagrams, GSO and GRO",
        clock,
        gso_batches(clock)?,
    )?;
    compare(
        "send and receive 32 datagrams, one by one",
        clock,
        single_datagrams(clock)?,
    )?;
    compare("merge 45 TCP segments", clock, merges())?;
    compare("split into 45 TCP segments", clock, splits())
}

/// Two implementations of the same work; each returns the bytes that it has passed on.
struct Candidates<A, B> {
    ours: A,
    library: B,
}

/// Lets both take turns, checks that they pass on the same bytes, and prints their times.
fn compare<A, B>(name: &str, clock: Clock, mut candidates: Candidates<A, B>) -> Outcome<()>
where
    A: FnMut() -> Outcome<usize>,
    B: FnMut() -> Outcome<usize>,
{
    let (mut ours, mut library) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (time, bytes) = turn(clock, &mut candidates.ours)?;
        ours.push(time);
        let (time, library_bytes) = turn(clock, &mut candidates.library)?;
        library.push(time);
        assert_eq!(bytes, library_bytes, "{name}");
    }
    let mut ratios: Vec<f64> = ours.iter().zip(&library).map(|(a, b)| b / a).collect();
    let [low, middle, high] = quartiles(&mut ratios);
    let ([_, ours, _], [_, library, _]) = (quartiles(&mut ours), quartiles(&mut library));
    println!(
        "{name}: ours {ours:.2} us, library {library:.2} us, ratio {middle:.2} ({low:.2} to {high:.2})"
    );
    Ok(())
}

/// Runs `BATCHES` batches and returns the microseconds of one, and the bytes of all.
fn turn(clock: Clock, batch: &mut impl FnMut() -> Outcome<usize>) -> Outcome<(f64, usize)> {
    let start: Time = clock.now();
    let mut bytes = 0;
    for _ in 0..BATCHES {
        bytes += batch()?;
    }
    let time: Duration = clock.now().since(start);
    Ok((time.as_secs_f64() * 1e6 / BATCHES as f64, bytes))
}

fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|n| values[values.len() * n / 4])
}

fn path_socket() -> Outcome<PathSocket> {
    Ok(PathSocket::open(&PathConfig {
        name: "bench".to_owned(),
        local: Some("127.0.0.1:0".parse()?),
        remote: None,
        relay: None,
        interface: None,
        tariff: polypath_core::tariff::Tariff::default(),
        copy_dscp: true,
        copy_ecn: true,
    })?)
}

/// Space for one packet at the end of `chunk`, as the node has it.
fn space(chunk: &mut BytesMut, len: usize) -> &mut [u8] {
    if chunk.len() < len {
        *chunk = BytesMut::zeroed((16 * len).max(64 << 10));
    }
    &mut chunk[..len]
}

fn datagrams(count: usize) -> Vec<Bytes> {
    (0..count).map(|_| Bytes::from(vec![7; LEN])).collect()
}

/// A socket of quinn-udp, with the receive buffer of ours.
struct QuinnSocket {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl QuinnSocket {
    fn open() -> Outcome<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let state = UdpSocketState::new((&socket).into())?;
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &(4 << 20))?;
        Ok(Self { socket, state })
    }

    fn send(&self, contents: &[u8], segment_size: Option<usize>, to: SocketAddr) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: None,
            contents,
            segment_size,
            src_ip: None,
        };
        self.state.try_send((&self.socket).into(), &transmit)
    }
}

fn gso_batches(
    clock: Clock,
) -> Outcome<Candidates<impl FnMut() -> Outcome<usize>, impl FnMut() -> Outcome<usize>>> {
    let datagrams = datagrams(COUNT);
    let (from, mut to) = (path_socket()?, path_socket()?);
    assert!(to.set_gro(true), "this kernel has no GRO");
    let target = to.local()?;
    let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
    let mut chunk = BytesMut::new();
    let sent = datagrams.clone();
    let ours = move || {
        for datagram in &sent {
            outgoing.push(datagram.clone(), TrafficClass::DEFAULT);
        }
        outgoing.flush(&from, target);
        let mut bytes = 0;
        while bytes < COUNT * LEN {
            let received = to.receive(space(&mut chunk, BUFFER), clock)?;
            let received = received.ok_or("a datagram is lost")?;
            incoming.fill(received, chunk.split_to(received.len).freeze());
            while let Some((_, datagram)) = incoming.take() {
                bytes += datagram.len();
            }
        }
        Ok(bytes)
    };
    let (from, to) = (QuinnSocket::open()?, QuinnSocket::open()?);
    let target = to.socket.local_addr()?;
    let (mut contents, mut chunk) = (Vec::with_capacity(BUFFER), BytesMut::new());
    let library = move || {
        // The library sends from one buffer; sealed datagrams are in separate ones.
        contents.clear();
        for datagram in &datagrams {
            contents.extend_from_slice(datagram);
        }
        from.send(&contents, Some(LEN), target)?;
        let mut bytes = 0;
        while bytes < COUNT * LEN {
            let mut slices = [IoSliceMut::new(space(&mut chunk, BUFFER))];
            let mut meta = [RecvMeta::default()];
            to.state.recv((&to.socket).into(), &mut slices, &mut meta)?;
            let mut received = chunk.split_to(meta[0].len).freeze();
            while !received.is_empty() {
                bytes += received.split_to(meta[0].stride.min(received.len())).len();
            }
        }
        Ok(bytes)
    };
    Ok(Candidates { ours, library })
}

fn single_datagrams(
    clock: Clock,
) -> Outcome<Candidates<impl FnMut() -> Outcome<usize>, impl FnMut() -> Outcome<usize>>> {
    let datagrams = datagrams(SINGLE);
    let (from, mut to) = (path_socket()?, path_socket()?);
    let target = to.local()?;
    let mut chunk = BytesMut::new();
    let sent = datagrams.clone();
    let ours = move || {
        for datagram in &sent {
            from.send(datagram, TrafficClass::DEFAULT, target)?;
        }
        let mut bytes = 0;
        while let Some(received) = to.receive(space(&mut chunk, LEN), clock)? {
            bytes += chunk.split_to(received.len).freeze().len();
        }
        Ok(bytes)
    };
    let (from, to) = (QuinnSocket::open()?, QuinnSocket::open()?);
    nix::sys::socket::setsockopt(&to.socket, nix::sys::socket::sockopt::UdpGroSegment, &false)?;
    let target = to.socket.local_addr()?;
    let mut chunk = BytesMut::new();
    let library = move || {
        for datagram in &datagrams {
            from.send(datagram, None, target)?;
        }
        let mut bytes = 0;
        let mut meta = [RecvMeta::default(); SINGLE];
        loop {
            let all = space(&mut chunk, SINGLE * LEN);
            let mut slices: Vec<_> = all.chunks_exact_mut(LEN).map(IoSliceMut::new).collect();
            match to.state.recv((&to.socket).into(), &mut slices, &mut meta) {
                Ok(count) => {
                    for meta in &meta[..count] {
                        bytes += chunk.split_to(LEN).freeze().split_to(meta.len).len();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(bytes),
                Err(error) => return Err(error.into()),
            }
        }
    };
    Ok(Candidates { ours, library })
}

/// Consecutive segments of a TCP flow.
fn segments() -> Vec<Bytes> {
    let segment = |n: u32| {
        let ip = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        let mut packet = Vec::new();
        let tcp = ip.tcp(5000, 80, n * u32::from(SEGMENT), 1000).ack(77);
        tcp.write(&mut packet, &[7; LEN])
            .expect("a segment fits its packet");
        packet.into()
    };
    (0..).map(segment).take(COUNT).collect()
}

/// A TUN device that accepts every packet: the kernel copies all data.
struct Sink(Vec<u8>);

impl Sink {
    fn write(&mut self, slices: &[io::IoSlice<'_>]) -> usize {
        self.0.clear();
        // Writing to a vector cannot fail.
        self.0.write_vectored(slices).unwrap_or_default()
    }
}

fn merges() -> Candidates<impl FnMut() -> Outcome<usize>, impl FnMut() -> Outcome<usize>> {
    let segments = segments();
    let (mut merger, mut sink) = (Merger::new(true), Sink(Vec::with_capacity(MAX_LEN)));
    let packets = segments.clone();
    let ours = move || {
        for packet in &packets {
            merger.push(packet.clone());
        }
        let mut bytes = 0;
        merger.drain(|slices, _| bytes += sink.write(slices));
        Ok(bytes)
    };
    let (mut table, mut sink) = (GROTable::new(), Sink(Vec::with_capacity(MAX_LEN)));
    let mut buffers: Vec<_> = segments
        .iter()
        .map(|_| Vec::with_capacity(2 * MAX_LEN))
        .collect();
    let library = move || {
        // The library merges in buffers of its own layout.
        for (buffer, packet) in buffers.iter_mut().zip(&segments) {
            buffer.clear();
            buffer.extend_from_slice(&[0; VIRTIO_NET_HDR_LEN]);
            buffer.extend_from_slice(packet);
        }
        table.apply_gro(&mut buffers, VIRTIO_NET_HDR_LEN, true)?;
        // All are merged into the first.
        Ok(sink.write(&[io::IoSlice::new(&buffers[0])]))
    };
    Candidates { ours, library }
}

fn splits() -> Candidates<impl FnMut() -> Outcome<usize>, impl FnMut() -> Outcome<usize>> {
    let segments = segments();
    let mut packet = segments[0].to_vec();
    for segment in &segments[1..] {
        packet.extend_from_slice(&segment[40..]);
    }
    let header = VirtioHeader {
        needs_checksum: true,
        kind: GsoType::Tcp4,
        headers_len: 40,
        segment: SEGMENT,
        checksum_start: 20,
        checksum_offset: 16,
    };
    let (mut read, mut chunk) = (packet.clone(), BytesMut::new());
    let ours = move || {
        let mut bytes = 0;
        split(header, &mut read, |len, fill| {
            fill(space(&mut chunk, len));
            bytes += chunk.split_to(len).freeze().len();
        })?;
        Ok(bytes)
    };
    let mut buffers = vec![[0; 40 + LEN]; COUNT];
    let library = move || {
        let header = VirtioNetHdr {
            flags: 1,
            gso_type: VIRTIO_NET_HDR_GSO_TCPV4,
            hdr_len: 40,
            gso_size: SEGMENT,
            csum_start: 20,
            csum_offset: 16,
        };
        let mut sizes = [0; COUNT];
        let count = gso_split(&mut packet, header, &mut buffers, &mut sizes, 0, false)?;
        // The tunnel keeps packets longer than the buffers.
        let packets = buffers[..count].iter().zip(sizes);
        Ok(packets
            .map(|(buffer, len)| Bytes::copy_from_slice(&buffer[..len]).len())
            .sum())
    };
    Candidates { ours, library }
}

const _: () = assert!(HEADER_LEN == VIRTIO_NET_HDR_LEN);
