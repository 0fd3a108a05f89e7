//! Runs that are repeated because another program delayed the emulated links.

use super::output::log;

/// The number of times that a run is tried, in all.
const ATTEMPTS: u32 = 3;

/// A run whose links were not late, if there is one among [`ATTEMPTS`]; otherwise the last.
pub(crate) fn run_in_time<T, E>(
    race: &str,
    mut run: impl FnMut() -> Result<T, E>,
    is_late: impl Fn(&T) -> bool,
) -> Result<T, E> {
    let mut outcome = run()?;
    for _ in 1..ATTEMPTS {
        if !is_late(&outcome) {
            break;
        }
        log(race, "the links were late: the run is repeated");
        outcome = run()?;
    }
    Ok(outcome)
}
