//! Carriers that run at the same time, in groups if the machine cannot emulate the networks of all
//! in time.

use polypath_report::media::LabConditions;

use crate::LabError;

/// The number of repetitions of the groups of a run because the machine stalled.
const REPEATS: u32 = 2;

/// Runs the carriers in groups of `size`, which is halved as long as the networks of a group are
/// late; returns their outcomes, and the conditions if there is a carrier. A group during which
/// the machine stalled is repeated as it is, since this has nothing to do with its size.
pub(crate) fn run_in_groups<C, T>(
    carriers: &[C],
    size: &mut usize,
    run: impl Fn(&[C]) -> Result<(Vec<T>, LabConditions), LabError>,
) -> Result<(Vec<T>, Option<LabConditions>), LabError> {
    let mut outcomes = Vec::new();
    let mut conditions: Option<LabConditions> = None;
    let mut repeats = REPEATS;
    while outcomes.len() < carriers.len() {
        let rest = &carriers[outcomes.len()..];
        let carried = rest.len().min(*size);
        let (group, of_group) = run(&rest[..carried])?;
        // A stall also makes the 99th percentile late.
        if of_group.is_stalled() && repeats > 0 {
            repeats -= 1;
            continue;
        }
        if of_group.is_late() && carried > 1 {
            *size = carried.div_ceil(2);
            continue;
        }
        outcomes.extend(group);
        conditions = Some(conditions.map_or(of_group, |all| all.with(of_group)));
    }
    Ok((outcomes, conditions))
}

#[cfg(test)]
mod tests {
    use polypath_core::time::Duration;

    use super::*;

    fn conditions(lateness: u64) -> LabConditions {
        LabConditions {
            lateness: Duration::from_millis(lateness),
            bound: Duration::from_millis(1),
            groups: 1,
            ..LabConditions::default()
        }
    }

    #[test]
    fn a_group_is_repeated_as_it_is_if_the_machine_is_stalled() {
        let carriers = [(); 5];
        let runs = std::cell::Cell::new(0);
        let is_stalled = |times| {
            let runs = &runs;
            move |group: &[()]| {
                runs.set(runs.get() + 1);
                // A stall may make the links late, too.
                let (longest, late) = if runs.get() <= times {
                    (101, 2)
                } else {
                    (100, 0)
                };
                let of_group = LabConditions {
                    longest: Duration::from_millis(longest),
                    ..conditions(late)
                };
                Ok((vec![(); group.len()], of_group))
            }
        };
        let mut size = 5;
        let (outcomes, found) = run_in_groups(&carriers, &mut size, is_stalled(2)).unwrap();
        assert_eq!((outcomes.len(), size, runs.take()), (5, 5, 3));
        assert!(found.unwrap().is_valid());
        // Not for ever.
        let (_, found) = run_in_groups(&carriers[..1], &mut size, is_stalled(3)).unwrap();
        assert_eq!((found.unwrap().is_valid(), runs.take()), (false, 3));
    }

    #[test]
    fn carriers_are_run_in_smaller_groups_while_the_networks_are_late() {
        let carriers = [(); 5];
        let groups = std::cell::RefCell::new(Vec::new());
        let run = |group: &[()]| {
            groups.borrow_mut().push(group.len());
            // Two networks at a time are not late.
            let late = if group.len() > 2 { 2 } else { 0 };
            Ok((vec![(); group.len()], conditions(late)))
        };
        let mut size = carriers.len();
        let (outcomes, found) = run_in_groups(&carriers, &mut size, run).unwrap();
        assert_eq!(outcomes.len(), 5);
        assert_eq!(groups.take(), [5, 3, 2, 2, 1]);
        let found = found.unwrap();
        assert_eq!((found.groups, found.is_valid()), (3, true));
        // A small rest is halved itself, and a rest of one is not repeated.
        let rest = |group: &[()]| {
            groups.borrow_mut().push(group.len());
            Ok((
                vec![(); group.len()],
                conditions(2 * u64::from(group.len() != 2)),
            ))
        };
        let mut from_ten = 10;
        run_in_groups(&carriers[..3], &mut from_ten, rest).unwrap();
        assert_eq!((groups.take(), from_ten), (vec![3, 2, 1], 2));
        // The next run begins with that size; one that is late alone does not count.
        let late = |group: &[()]| Ok((vec![(); group.len()], conditions(2)));
        let (outcomes, found) = run_in_groups(&carriers, &mut size, late).unwrap();
        assert_eq!((outcomes.len(), found.unwrap().groups), (5, 5));
        assert!(!found.unwrap().is_valid());
    }
}
