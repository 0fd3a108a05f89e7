//! `polypath source lab`: the senders of a file on real sockets over emulated links, beside their
//! simulation.

use std::sync::atomic::Ordering;

use anyhow::Context;
use polypath_lab::sources::{SourceLab, SourceOutcome, SourceRun};
use polypath_report::media::LabConditions;
use polypath_report::stability::StabilityRecord;
use polypath_scenario::Network;
use polypath_scenario::network::senders::Setting;
use polypath_sim::SendersOutcome;

use super::check_sources;
use crate::failure::{Failure, print_message};
use crate::lab::{exit_on_signals_after_the_lab, failure_of};
use crate::progress;
use crate::stability::{SendersArgs, report, simulate};

/// Arguments of `polypath source lab`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    #[command(flatten)]
    senders: SendersArgs,
}

/// The rules of the report, for `--help`.
const RULES: &str = "\
Each setting is run in the simulator and in the lab, with the same seeds. A run in the lab takes as
long as the file states; several take place at once. The lab counts only if links and sources were in
time: exit code 1 otherwise. docs/source.md explains the program.";

/// Runs the senders and prints the report; fails if the lab was late.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let network = args.senders.read()?;
    let settings = args.senders.settings(&network)?;
    let networks: Vec<Network> = settings
        .iter()
        .map(|of| with_policy(&network, of))
        .collect();
    networks.iter().try_for_each(check_sources)?;
    let seeds = args.senders.seeds(&network);
    let scenario = &args.senders.scenario;
    polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
    let finished = exit_on_signals_after_the_lab().context("installing signal handlers")?;
    let out = scenario.out(&network.name, "source")?;
    let in_lab = run_in_lab(&networks, &seeds);
    finished.store(true, Ordering::Relaxed);
    let (in_lab, conditions) = in_lab.inspect_err(|_| out.discard())?;
    let simulated = simulate(&network, &settings, &seeds, None, &mut |_| ());
    let simulated = simulated.inspect_err(|_| out.discard())?;
    let (settings, outcomes) = pairs(&settings, simulated, in_lab);
    let record = StabilityRecord {
        network: &network,
        settings: &settings,
        seeds: &seeds,
        outcomes: &outcomes,
        lab: Some(conditions),
    };
    report(record, scenario.format, &out)?;
    match conditions.invalid_reason() {
        None => Ok(()),
        Some(why) => Err(Failure::run(format!(
            "the lab does not count: {why}; end other programs, run as root, or use fewer senders"
        ))),
    }
}

/// The network whose senders have the policy of a setting.
fn with_policy(network: &Network, setting: &Setting) -> Network {
    let mut network = network.clone();
    network.set_sender_policy(setting.policy);
    network
}

/// Runs the network of each setting with all seeds in the lab.
fn run_in_lab(
    networks: &[Network],
    seeds: &[u64],
) -> Result<(Vec<Vec<SendersOutcome>>, LabConditions), Failure> {
    let runs = networks
        .iter()
        .flat_map(|network| seeds.iter().map(move |&seed| SourceRun { network, seed }));
    let runs: Vec<SourceRun<'_>> = runs.collect();
    let mut lab = SourceLab::open().map_err(failure_of)?;
    let mut bar = progress::Indicator::long(runs.len() as u64);
    let result = lab.run(&runs, |done| bar.advance("runs in the lab", done as u64));
    bar.finish();
    let (outcomes, conditions) = result.map_err(failure_of)?;
    let refused: u64 = outcomes.iter().map(|outcome| outcome.refused).sum();
    if refused > 0 {
        print_message(&format!(
            "the kernel dropped or refused {refused} datagrams outside the emulated links"
        ));
    }
    let by_setting = outcomes.chunks(seeds.len()).map(senders).collect();
    Ok((by_setting, conditions))
}

fn senders(outcomes: &[SourceOutcome]) -> Vec<SendersOutcome> {
    let of = outcomes.iter().map(|outcome| outcome.senders.clone());
    of.collect()
}

/// Each setting, simulated and in the lab, with its outcomes.
fn pairs(
    settings: &[Setting],
    simulated: Vec<Vec<SendersOutcome>>,
    in_lab: Vec<Vec<SendersOutcome>>,
) -> (Vec<Setting>, Vec<Vec<SendersOutcome>>) {
    let of_settings = settings.iter().zip(simulated).zip(in_lab);
    let both = of_settings.flat_map(|((setting, simulated), in_lab)| {
        [(setting.clone(), simulated), (setting.in_lab(), in_lab)]
    });
    both.unzip()
}
