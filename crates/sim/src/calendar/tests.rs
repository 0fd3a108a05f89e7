use std::collections::BinaryHeap;

use super::*;
use proptest::prelude::*;

/// The order that the calendar promises, by definition.
#[derive(Default)]
struct Model {
    heap: BinaryHeap<Reverse<(Time, u64, u32)>>,
    sequence: u64,
}

impl Model {
    fn schedule(&mut self, at: Time, item: u32) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, item)));
    }

    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        let Reverse((at, _, item)) = *self.heap.peek()?;
        if at > limit {
            return None;
        }
        self.heap.pop();
        Some((at, item))
    }
}

/// The delay of an event, over all tiers and with many equal times.
fn span() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0_u64..4,
        (0_u64..40).prop_map(|n| n * 4096),
        (0_u64..100).prop_map(|n| n * 800_000),
        (0_u64..8).prop_map(|n| n * (SLOTS << BUCKET_BITS) / 4),
        (0_u64..300).prop_map(|n| n * (PAGE << BUCKET_BITS)),
        (0_u64..5).prop_map(|n| n * 1_000_000_000),
        (0_u64..5).prop_map(|n| n * 20_000_000_000),
    ]
}

proptest! {
    #[test]
    fn agrees_with_a_heap_of_time_and_sequence(
        script in proptest::collection::vec((span(), 1_usize..5, span(), 0_usize..6), 1..120)
    ) {
        let mut calendar = Calendar::default();
        let mut model = Model::default();
        let mut now = Time::ZERO;
        let mut item = 0;
        for (ahead, copies, until, pops) in script {
            for _ in 0..copies {
                item += 1;
                let at = Time(now.0 + ahead);
                calendar.schedule(at, item);
                model.schedule(at, item);
            }
            let limit = Time(now.0 + until);
            for _ in 0..pops {
                let popped = calendar.pop_until(limit).map(|e| (e.at, e.item));
                prop_assert_eq!(popped, model.pop_until(limit));
                now = popped.map_or(now, |p| p.0);
            }
            let next = model.heap.peek().map(|Reverse(e)| e.0);
            prop_assert_eq!(calendar.next_at(), next);
        }
        while let Some(expected) = model.pop_until(Time::MAX) {
            let popped = calendar.pop_until(Time::MAX).map(|e| (e.at, e.item));
            prop_assert_eq!(popped, Some(expected));
        }
        prop_assert_eq!(calendar.next_at(), None);
    }
}

#[test]
fn equal_times_keep_their_order_across_tiers() {
    let mut calendar = Calendar::default();
    let at = Time(500_000_000);
    calendar.schedule(at, 1_u32);
    calendar.schedule(Time(450_000_000), 0);
    assert_eq!(calendar.pop_until(Time::MAX).map(|e| e.item), Some(0));
    calendar.schedule(at, 2);
    calendar.schedule(Time(at.0 - 1), 9);
    assert_eq!(calendar.pop_until(Time::MAX).map(|e| e.item), Some(9));
    calendar.schedule(at, 3);
    let order: Vec<u32> = std::iter::from_fn(|| calendar.pop_until(at).map(|e| e.item)).collect();
    assert_eq!(order, [1, 2, 3]);
}

#[test]
fn an_event_takes_sixteen_bytes() {
    assert_eq!(size_of::<Entry<u64>>(), 16);
}
