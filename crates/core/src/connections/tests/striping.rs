use alloc::collections::VecDeque;

use super::*;

/// The assignments (connection, sequence) that these inputs cause.
fn sent(striper: &mut Striper, inputs: &[StriperInput]) -> Vec<(u32, u64)> {
    let mut assigned = Vec::new();
    for &input in inputs {
        step(
            striper,
            Time::ZERO,
            Wake::Input(input),
            &mut |o: StriperOutput| {
                assigned.push((o.connection, o.sequence));
            },
        );
    }
    assigned
}

fn writable(connection: u32, room: u32) -> StriperInput {
    StriperInput::Writable { connection, room }
}

/// Five connections of which the first has room for `first` packets.
fn five(first: u32) -> Striper {
    let mut striper = Striper::default();
    sent(&mut striper, &[writable(1, first)]);
    for connection in 2..=5 {
        sent(&mut striper, &[writable(connection, 9)]);
    }
    striper
}

#[test]
fn packets_are_assigned_round_robin() {
    let order = sent(&mut five(9), &[StriperInput::Data(7)]);
    assert_eq!(
        order,
        [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 6), (2, 7)]
    );
}

/// Claim `multitcp.striping`.
#[test]
fn the_example_of_the_paper_with_the_first_connection_blocked() {
    let mut striper = five(0);
    let order = sent(
        &mut striper,
        &[StriperInput::Data(4), writable(1, 1), StriperInput::Data(1)],
    );
    assert_eq!(order, [(2, 1), (3, 2), (4, 3), (5, 4), (1, 5)]);
}

#[test]
fn blocked_and_closed_connections_are_skipped() {
    let mut striper = five(1);
    let inputs = [
        writable(3, 0),
        StriperInput::Closed(4),
        StriperInput::Data(5),
        writable(3, 1),
        StriperInput::Data(2),
    ];
    let order = sent(&mut striper, &inputs);
    assert_eq!(
        order,
        [(1, 1), (2, 2), (5, 3), (2, 4), (5, 5), (2, 6), (3, 7)]
    );
    assert_eq!(
        sent(
            &mut Striper::default(),
            &[StriperInput::Data(3), StriperInput::Closed(1)]
        ),
        []
    );
}

#[test]
fn waiting_packets_leave_as_soon_as_a_connection_is_writable() {
    let mut striper = Striper::default();
    let order = sent(
        &mut striper,
        &[
            StriperInput::Data(9),
            writable(2, 2),
            writable(7, 1),
            writable(2, 1),
        ],
    );
    assert_eq!(order, [(2, 1), (2, 2), (7, 3), (2, 4)]);
}

fn inputs() -> impl Strategy<Value = Vec<StriperInput>> {
    let input = prop_oneof![
        (0_u64..20).prop_map(StriperInput::Data),
        (1_u32..8, 0_u32..5).prop_map(|(connection, room)| writable(connection, room)),
        (1_u32..8).prop_map(StriperInput::Closed),
    ];
    prop::collection::vec(input, 0..200)
}

proptest! {
    /// Packets leave in order, each once, on writable connections, and none waits while a
    /// connection is writable.
    #[test]
    fn packets_leave_in_order_within_the_room(inputs in inputs()) {
        let mut striper = Striper::default();
        let mut room = [0_u32; 8];
        let (mut offered, mut next) = (0, 1);
        for input in inputs {
            match input {
                StriperInput::Data(packets) => offered += packets,
                StriperInput::Writable { connection, room: free } => room[connection as usize] = free,
                StriperInput::Closed(connection) => room[connection as usize] = 0,
                StriperInput::Repeat(_) | StriperInput::Arrived(_) => unreachable!("not drawn"),
            }
            for (connection, sequence) in sent(&mut striper, &[input]) {
                prop_assert_eq!(sequence, next);
                next += 1;
                let free = &mut room[connection as usize];
                prop_assert!(*free > 0);
                *free -= 1;
            }
            prop_assert!(next == offered + 1 || room.iter().all(|free| *free == 0));
        }
        prop_assert_eq!(striper.sent(), next - 1);
    }

    /// A stream striped over connections of any speed is restored in order, for any buffer size.
    #[test]
    fn a_striped_stream_is_resequenced(
        rooms in prop::collection::vec((1_u32..6, 1_u32..4), 1..100), capacity in 1_u32..40,
        paces in prop::collection::vec(0_usize..5, 1..50),
    ) {
        let mut striper = Striper::default();
        let mut connections: Vec<VecDeque<u64>> = alloc::vec![VecDeque::new(); 6];
        let mut inputs: Vec<StriperInput> = vec_of_rooms(&rooms);
        inputs.insert(0, StriperInput::Data(u64::MAX));
        for (connection, sequence) in sent(&mut striper, &inputs) {
            connections[connection as usize].push_back(sequence);
        }
        let mut resequencer = Resequencer::new(capacity);
        let mut delivered: Vec<u64> = Vec::new();
        let mut turn = paces.iter().cycle();
        let mut idle = 0;
        while connections.iter().any(|connection| !connection.is_empty()) {
            let connection = &mut connections[1 + turn.next().unwrap() % 5];
            let offer = connection.front().map(|&front| {
                resequencer.offer(front, front, &mut |packet| delivered.push(packet))
            });
            prop_assert!(offer != Some(OfferResult::Duplicate), "no packet was sent twice");
            idle += 1;
            if offer == Some(OfferResult::Accepted) {
                connection.pop_front();
                idle = 0;
            } else if idle > 50 {
                take_next(&mut connections, &mut resequencer, &mut delivered);
                idle = 0;
            }
        }
        let expected: Vec<u64> = (1..=striper.sent()).collect();
        prop_assert_eq!(delivered, expected);
        prop_assert!(resequencer.counts().max_buffered <= u64::from(capacity));
        prop_assert_eq!(resequencer.counts().delivered, striper.sent());
    }
}

fn vec_of_rooms(rooms: &[(u32, u32)]) -> Vec<StriperInput> {
    rooms
        .iter()
        .map(|&(connection, room)| writable(connection, room))
        .collect()
}

/// Takes the next packet in order, when the random schedule has not selected its connection for a
/// long time.
fn take_next(
    connections: &mut [VecDeque<u64>],
    resequencer: &mut Resequencer<u64>,
    delivered: &mut Vec<u64>,
) {
    let next = resequencer.next();
    let connection = connections
        .iter_mut()
        .find(|connection| connection.front() == Some(&next));
    let connection = connection.expect("the next packet is the first of its connection");
    connection.pop_front();
    let offer = resequencer.offer(next, next, &mut |packet| delivered.push(packet));
    assert_eq!(offer, OfferResult::Accepted, "the next packet always fits");
}

#[test]
fn a_resequencer_refuses_packets_beyond_its_buffer_and_drops_duplicates() {
    let mut resequencer = Resequencer::new(2);
    let mut delivered = Vec::new();
    let mut offer = |sequence, resequencer: &mut Resequencer<u64>| {
        resequencer.offer(sequence, sequence, &mut |packet| delivered.push(packet))
    };
    assert_eq!(offer(3, &mut resequencer), OfferResult::Refused(3));
    assert_eq!(offer(2, &mut resequencer), OfferResult::Accepted);
    assert_eq!(offer(2, &mut resequencer), OfferResult::Duplicate);
    assert_eq!(offer(1, &mut resequencer), OfferResult::Accepted);
    assert_eq!(offer(1, &mut resequencer), OfferResult::Duplicate);
    assert_eq!(offer(3, &mut resequencer), OfferResult::Accepted);
    assert_eq!(delivered, [1, 2, 3]);
    let expected = ResequencerCounts {
        delivered: 3,
        duplicates: 2,
        refused: 1,
        max_buffered: 2,
    };
    assert_eq!(resequencer.counts(), expected);
}
