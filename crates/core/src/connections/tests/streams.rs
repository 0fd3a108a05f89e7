//! A sender and a receiver over connections that end.

use alloc::collections::{BTreeMap, VecDeque};

use super::*;

/// A stream of numbered packets over connections that deliver in order and may end at any time.
struct Network {
    sender: StreamSender<u64>,
    receiver: StreamReceiver<u64>,
    /// The connections that have not failed for the sender.
    connections: BTreeMap<u32, Link>,
    /// The windows of those that have not failed for the receiver.
    windows: BTreeMap<u32, u32>,
    offered: u64,
    delivered: Vec<u64>,
    now: Time,
}

/// The packets and names on the way on a connection.
#[derive(Default)]
struct Link {
    /// The packets to the receiver.
    packets: VecDeque<(u64, u64)>,
    /// The failed connections that are named to the sender.
    names: VecDeque<u32>,
    /// Whether the sender has read the hello.
    is_welcome: bool,
    /// Whether it has failed for the receiver alone.
    is_silent: bool,
}

/// An action of the network or the sender's application.
#[derive(Clone, Copy, Debug)]
enum Action {
    Offer(u64),
    /// The connection at this position has room for packets.
    Room(usize, u32),
    /// The packets at the head of the connection at this position arrive.
    Arrive(usize, u32),
    /// The connection at this position is reset, with all packets on it.
    Reset(usize),
    /// The connection at this position carries nothing any more, which only the receiver notices.
    Silence(usize),
    /// The names and the hello of the connection at this position arrive.
    Read(usize),
    /// The sender learns what has arrived.
    Acknowledge,
    Wait(u64),
}

impl Network {
    fn new(connections: u32, buffer: u32) -> Self {
        let config = ReceiverConfig {
            target: TARGET,
            controller: ControllerConfig::FixedWindows {
                connections,
                window: 4,
            },
            buffer,
            play_out: None,
            until: Time::MAX,
        };
        let mut network = Self {
            sender: StreamSender::new(buffer, 0),
            receiver: StreamReceiver::new(&config),
            connections: BTreeMap::new(),
            windows: BTreeMap::new(),
            offered: 0,
            delivered: Vec::new(),
            now: Time::ZERO,
        };
        network.receive(Wake::Input(ReceiverInput::Start));
        network
    }

    fn receive(&mut self, wake: Wake<ReceiverInput<u64>>) {
        if let Wake::Input(ReceiverInput::Failed(gone) | ReceiverInput::Refused(gone)) = &wake {
            self.windows.remove(gone);
        }
        let mut outputs = Vec::new();
        step(&mut self.receiver, self.now, wake, &mut |output| {
            outputs.push(output);
        });
        for output in outputs {
            match output {
                ReceiverOutput::Open { connection, window } => {
                    self.windows.insert(connection, window);
                    let names = self.receiver.failed().collect();
                    let link = Link {
                        names,
                        ..Link::default()
                    };
                    self.connections.insert(connection, link);
                }
                ReceiverOutput::NameFailed(failed) => {
                    for link in self.connections.values_mut() {
                        link.names.push_back(failed);
                    }
                }
                ReceiverOutput::SetWindow { connection, window } => {
                    self.windows.insert(connection, window);
                }
                ReceiverOutput::Close(_) => panic!("the number of connections is fixed"),
                ReceiverOutput::Deliver(packet) => self.delivered.push(packet),
                ReceiverOutput::Refused { .. } => {
                    panic!("a sender sends what the receiver accepts")
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, input: SenderInput<u64>) {
        step(
            &mut self.sender,
            self.now,
            Wake::Input(input),
            &mut |output| {
                let SenderOutput {
                    connection,
                    sequence,
                    packet,
                } = output;
                assert_eq!(sequence, packet, "a packet keeps its number");
                let link = self.connections.get_mut(&connection);
                link.expect("an open connection")
                    .packets
                    .push_back((sequence, packet));
            },
        );
    }

    fn at(&self, position: usize) -> Option<u32> {
        let count = self.connections.len().max(1);
        self.connections.keys().nth(position % count).copied()
    }

    /// Delivers the packet at the head of a connection; returns false if there is none.
    fn arrive(&mut self, connection: u32) -> bool {
        let link = self.connections.get_mut(&connection);
        let link = link.filter(|link| !link.is_silent);
        let Some((sequence, packet)) = link.and_then(|link| link.packets.pop_front()) else {
            return false;
        };
        let packet = SizedPacket {
            packet,
            size: TARGET.segment,
        };
        let input = ReceiverInput::Packet {
            connection,
            sequence,
            packet,
        };
        self.receive(Wake::Input(input));
        true
    }

    fn reset(&mut self, connection: u32) {
        let link = self.connections.remove(&connection);
        self.send(SenderInput::Failed(connection));
        if link.is_some_and(|link| !link.is_silent) {
            self.receive(Wake::Input(ReceiverInput::Failed(connection)));
        }
    }

    fn silence(&mut self, connection: u32) {
        let link = self.connections.get_mut(&connection);
        if link.is_some_and(|link| !core::mem::replace(&mut link.is_silent, true)) {
            self.receive(Wake::Input(ReceiverInput::Failed(connection)));
        }
    }

    /// The sender reads the names of failed connections, and the hello.
    fn read(&mut self, connection: u32) {
        let link = self.connections.get_mut(&connection);
        let Some(link) = link.filter(|link| !link.is_silent) else {
            return;
        };
        let names = core::mem::take(&mut link.names);
        if !core::mem::replace(&mut link.is_welcome, true) {
            self.receive(Wake::Input(ReceiverInput::Welcome(connection)));
        }
        for failed in names {
            self.connections.remove(&failed);
            self.send(SenderInput::Failed(failed));
        }
    }

    /// The connection has room for packets, once the sender knows it.
    fn make_room(&mut self, connection: u32, room: u32) {
        if self.connections[&connection].is_welcome {
            self.send(SenderInput::Writable { connection, room });
        }
    }

    fn acknowledge(&mut self) {
        let packets = self.receiver.received();
        self.send(SenderInput::Received { packets });
    }

    fn wait(&mut self, ms: u64) {
        let until = self.now + MS * ms;
        while let Some(due) = self.receiver.deadline().filter(|due| due.at <= until) {
            self.now = self.now.max(due.at);
            self.receive(Wake::Timeout);
        }
        self.now = until;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Offer(packets) => {
                for _ in 0..packets {
                    if self.sender.wants_packet() {
                        self.offered += 1;
                        self.send(SenderInput::Packet(self.offered));
                    }
                }
            }
            Action::Room(position, room) => {
                if let Some(connection) = self.at(position) {
                    self.make_room(connection, room);
                }
            }
            Action::Arrive(position, packets) => {
                if let Some(connection) = self.at(position) {
                    let _ = (0..packets).all(|_| self.arrive(connection));
                }
            }
            Action::Reset(position) => {
                if let Some(connection) = self.at(position) {
                    self.reset(connection);
                }
            }
            Action::Silence(position) => {
                if let Some(connection) = self.at(position) {
                    self.silence(connection);
                }
            }
            Action::Read(position) => {
                if let Some(connection) = self.at(position) {
                    self.read(connection);
                }
            }
            Action::Acknowledge => self.acknowledge(),
            Action::Wait(ms) => self.wait(ms),
        }
    }

    /// Lets everything arrive on connections that do not end any more.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.sender.is_finished() {
                return;
            }
            self.wait(1000);
            let connections: Vec<u32> = self.connections.keys().copied().collect();
            for connection in connections {
                self.read(connection);
                // Another may have named it.
                if self.connections.contains_key(&connection) {
                    self.make_room(connection, 8);
                }
                while self.arrive(connection) {}
            }
            self.acknowledge();
        }
        panic!("the stream does not end");
    }
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (1_u64..10).prop_map(Action::Offer),
        6 => (0_usize..8, 0_u32..6).prop_map(|(at, room)| Action::Room(at, room)),
        6 => (0_usize..8, 1_u32..8).prop_map(|(at, packets)| Action::Arrive(at, packets)),
        1 => (0_usize..8).prop_map(Action::Reset),
        1 => (0_usize..8).prop_map(Action::Silence),
        3 => (0_usize..8).prop_map(Action::Read),
        2 => Just(Action::Acknowledge),
        1 => (1_u64..3000).prop_map(Action::Wait),
    ]
}

proptest! {
    /// Each packet is delivered once and in order, whichever connections end or fall silent, and the
    /// sender keeps no more than its capacity.
    #[test]
    fn no_packet_is_lost_doubled_or_out_of_order(
        connections in 1_u32..6,
        buffer in 1_u32..40,
        actions in prop::collection::vec(action(), 0..300),
    ) {
        let mut network = Network::new(connections, buffer);
        for action in actions {
            network.act(action);
            prop_assert!(network.sender.received() <= network.receiver.received());
        }
        network.finish();
        let expected: Vec<u64> = (1..=network.offered).collect();
        prop_assert_eq!(network.delivered, expected);
    }

    /// No more packets are in flight on a connection than its credit permits.
    #[test]
    fn credit_limits_the_packets_in_flight(window in 1_u64..6, count in 1_u64..100) {
        let mut network = Network::new(1, 64);
        let mut arrived = 0;
        for _ in 0..count {
            network.act(Action::Offer(9));
            network.send(SenderInput::Credit { connection: 1, packets: arrived + window });
            network.send(SenderInput::Writable { connection: 1, room: 9 });
            let flight = network.connections[&1].packets.len() as u64;
            prop_assert_eq!(flight, window);
            arrived += u64::from(network.arrive(1));
            network.acknowledge();
        }
    }
}

/// The packets of a connection that is reset go on the others, before new ones.
#[test]
fn a_reset_connection_s_packets_are_sent_again_first() {
    let mut network = Network::new(2, 64);
    for connection in [1, 2] {
        network.send(SenderInput::Writable {
            connection,
            room: 2,
        });
    }
    network.act(Action::Offer(6));
    assert_eq!(network.connections[&1].packets, [(1, 1), (3, 3)]);
    assert_eq!(network.connections[&2].packets, [(2, 2), (4, 4)]);
    assert!(network.arrive(1));
    network.acknowledge();
    network.reset(1);
    network.send(SenderInput::Writable {
        connection: 2,
        room: 3,
    });
    let on_second = [(2, 2), (4, 4), (3, 3), (5, 5), (6, 6)];
    assert_eq!(network.connections[&2].packets, on_second);
    assert_eq!(network.sender.repeated(), 1, "the first had arrived");
}

/// Also if its socket accepts packets, or credit for it was on its way.
#[test]
fn a_connection_that_closes_carries_no_further_packet() {
    let mut network = Network::new(2, 64);
    network.send(SenderInput::Writable {
        connection: 1,
        room: 1,
    });
    network.act(Action::Offer(4));
    network.send(SenderInput::Closing(1));
    network.send(SenderInput::Writable {
        connection: 1,
        room: 9,
    });
    network.send(SenderInput::Credit {
        connection: 1,
        packets: 9,
    });
    assert_eq!(network.connections[&1].packets, [(1, 1)]);
    network.send(SenderInput::Writable {
        connection: 2,
        room: 9,
    });
    assert_eq!(network.connections[&2].packets, [(2, 2), (3, 3), (4, 4)]);
}

/// 100 ms, then twice as long each time until a packet arrives on a new connection.
#[test]
fn connections_that_end_at_once_are_replaced_ever_more_slowly() {
    let mut network = Network::new(1, 64);
    let mut pauses = Vec::new();
    for number in 1..=8 {
        network.reset(number);
        assert_eq!(network.connections.len(), 0);
        let before = network.now;
        let due = network.receiver.deadline().unwrap();
        assert_eq!(due.why, "replacement of connections");
        pauses.push(due.at.since(before).0 / MS.0);
        network.wait(5000);
        assert_eq!(network.at(0), Some(number + 1));
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    network.send(SenderInput::Writable {
        connection: 9,
        room: 1,
    });
    network.act(Action::Offer(1));
    assert!(network.arrive(9));
    network.reset(9);
    let due = network.receiver.deadline().unwrap().at;
    assert_eq!(due, network.now + MS * 100);
}

/// Two connections fail without a sign to the sender, and so does one of the two that replace them:
/// each new one names those that failed before it was opened, until its hello has arrived.
#[test]
fn failed_connections_are_named_until_a_new_one_is_welcome() {
    let mut network = Network::new(2, 64);
    network.act(Action::Offer(4));
    for connection in [1, 2] {
        network.read(connection);
        network.make_room(connection, 2);
    }
    network.silence(1);
    assert_eq!(network.connections[&2].names, [1]);
    network.silence(2);
    network.wait(100);
    assert_eq!(network.connections[&3].names, [1, 2]);
    network.silence(3);
    network.wait(1000);
    assert_eq!(network.connections[&5].names, [1, 2, 3]);
    // Opened before the third failed.
    network.read(4);
    assert!(network.receiver.failed().eq([3]));
    network.read(5);
    assert_eq!(network.receiver.failed().next(), None);
    network.make_room(5, 4);
    assert_eq!(network.connections[&5].packets.len(), 4);
    network.finish();
    assert_eq!(network.delivered, [1, 2, 3, 4]);
}

/// A sender permits two of four connections: one more is tried every 10 s.
#[test]
fn refused_connections_are_tried_one_by_one() {
    let mut network = Network::new(4, 64);
    for refused in [3, 4] {
        network.connections.remove(&refused);
        network.receive(Wake::Input(ReceiverInput::Refused(refused)));
    }
    assert_eq!(network.windows, BTreeMap::from([(1, 4), (2, 4)]));
    network.wait(9999);
    assert_eq!(network.receiver.connections(), [1, 2]);
    network.wait(1);
    assert_eq!(network.receiver.connections(), [1, 2, 5]);
    assert_eq!(network.windows, BTreeMap::from([(1, 4), (2, 4), (5, 4)]));
    network.connections.remove(&5);
    network.receive(Wake::Input(ReceiverInput::Refused(5)));
    assert_eq!(network.windows, BTreeMap::from([(1, 4), (2, 4)]));
    // One that is reset is replaced at once, and then both that are missing, one after the other.
    network.reset(2);
    network.wait(100);
    assert_eq!(network.receiver.connections(), [1, 6]);
    network.wait(10_000);
    assert_eq!(network.receiver.connections(), [1, 6, 7]);
    network.wait(10_000);
    assert_eq!(network.receiver.connections(), [1, 6, 7, 8]);
    // No more are wanted.
    network.wait(10_000);
    assert_eq!(network.receiver.connections(), [1, 6, 7, 8]);
    assert_eq!(network.receiver.deadline(), None);
}
