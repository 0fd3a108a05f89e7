//! The foreground traffic: rounds of one concurrent transfer per scheme.

use std::io;
use std::thread;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;

use crate::http::{Fetch, FetchResult};
use crate::interrupt::Interrupt;
use crate::scheme_programs::{SchemePrograms, http_address};
use crate::transfer_file;

/// The transfer of each scheme, in the order of the scenario.
pub(super) type Round = Vec<FetchResult>;

/// Starts a transfer of every scheme at once and waits for all of them.
pub(super) fn round(
    programs: &[SchemePrograms],
    clock: Clock,
    timeout: Duration,
    interrupt: &Interrupt,
) -> io::Result<Round> {
    let url = format!("http://{}/{}", http_address(), transfer_file::SERVED_NAME);
    thread::scope(|scope| {
        let fetches: Vec<_> = programs
            .iter()
            .map(|programs| Fetch {
                namespace: programs.client(),
                clock,
                url: &url,
                timeout,
                interrupt,
            })
            .map(|fetch| scope.spawn(move || fetch.run()))
            .collect();
        let results = fetches.into_iter().map(|fetch| match fetch.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    })
}
