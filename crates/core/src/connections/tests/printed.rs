//! Compares [`Windows`], which stores only the sum, with Algorithm 1 as printed, window by window.

use super::*;

/// Lines 5 to 10: in increasing order, each window in turn grows by one.
fn raised(mut windows: Vec<u32>, step: u32) -> Vec<u32> {
    windows.sort_unstable();
    for turn in 0..step as usize {
        let index = turn % windows.len();
        windows[index] += 1;
    }
    windows
}

/// Lines 12 to 17: in decreasing order, each window in turn shrinks by one, to at least 1.
fn lowered(mut windows: Vec<u32>, step: u32) -> Vec<u32> {
    windows.sort_unstable_by(|a, b| b.cmp(a));
    for turn in 0..step as usize {
        let index = turn % windows.len();
        windows[index] = windows[index].max(2) - 1;
    }
    windows
}

fn sorted(windows: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut windows: Vec<u32> = windows.into_iter().collect();
    windows.sort_unstable();
    windows
}

proptest! {
    #[test]
    fn the_windows_match_the_printed_algorithm(
        n in 1_u32..12,
        more in 0_u32..60,
        steps in prop::collection::vec((any::<bool>(), 0_u32..40), 0..30),
    ) {
        let mut ours = Windows::new(n, n + more);
        let mut printed: Vec<u32> = ours.iter().collect();
        for (up, step) in steps {
            (ours, printed) = if up {
                (ours.raised(step), raised(printed, step))
            } else {
                (ours.lowered(step), lowered(printed, step))
            };
            prop_assert_eq!(sorted(ours.iter()), sorted(printed.clone()));
        }
    }
}
