//! The transfers: all schemes side by side, one round after another.

use std::io;
use std::thread;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;

use crate::clip;
use crate::http::{Fetch, Fetched};
use crate::interrupt::Interrupt;
use crate::site::{Site, http_address};

/// One transfer of each scheme, in the order of the scenario.
pub(super) type Round = Vec<Fetched>;

/// Starts a transfer of every site at once and waits until the last is over.
pub(super) fn round(
    sites: &[Site],
    clock: Clock,
    timeout: Duration,
    interrupt: &Interrupt,
) -> io::Result<Round> {
    let url = format!("http://{}/{}", http_address(), clip::NAME);
    thread::scope(|scope| {
        let fetches: Vec<_> = sites
            .iter()
            .map(|site| Fetch {
                namespace: site.client(),
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
