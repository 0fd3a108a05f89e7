//! `polypath sim`: a scenario in virtual time.

use anyhow::Context;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::Simulated;
use polypath_sim::{Observer, SimEvent};

use crate::failure::Failure;
use crate::outcome;
use crate::scenario;
use crate::watch::Watch;

/// Arguments of `polypath sim`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = scenario::columns())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
}

/// Runs the scenario and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scenario = args.scenario.read()?;
    let out = args.scenario.out(&scenario, "sim")?;
    let transfers = u64::from(scenario.transfer.count) * scenario.schemes.len() as u64;
    let mut watched = Watched {
        observer: Simulated::new(&scenario),
        watch: Watch::start(transfers, out.clone()).context("watching the simulation")?,
    };
    let outcome = polypath_sim::run(&scenario, Seed(scenario.seed), &mut watched);
    let Watched { observer, watch } = watched;
    let outcome = outcome.map_err(|error| {
        out.discard();
        Failure::input(error)
    })?;
    let experiment = observer.finish(&scenario, &outcome);
    let written = outcome::write(&experiment, out.path());
    // An interrupt ends the program until all that is to be kept is written.
    drop(watch);
    outcome::print(&experiment, &written?, args.scenario.format)
}

/// The report's observer, and who watches it.
struct Watched {
    observer: Simulated,
    watch: Watch,
}

impl Observer for Watched {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        self.watch.reach(at);
        if matches!(event, SimEvent::TransferFinished { .. }) {
            self.watch.finish_transfer();
        }
        self.observer.on_event(scheme, at, event);
    }
}
