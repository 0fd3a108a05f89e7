//! Runs a network file and prints the results of its first flow and its bottleneck, to measure
//! speed.

use polypath_core::rng::Seed;
use polypath_link::Counters;
use polypath_scenario::Network;
use polypath_sim::run_network;

fn main() {
    let file = std::env::args().nth(1).expect("a file");
    let sets: Vec<_> = std::env::args()
        .skip(2)
        .map(|s| s.parse().unwrap())
        .collect();
    let text = std::fs::read_to_string(&file).unwrap();
    let network = Network::parse(&text, &file, &sets).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run_network(&network, Seed(network.seed), &mut ()).unwrap();
    let seconds = (network.run.duration - network.run.warm_up).as_secs_f64();
    let goodput: u64 = outcome
        .flows
        .iter()
        .flat_map(|f| &f.spans)
        .map(|s| s.goodput)
        .sum();
    let timeouts: u64 = outcome
        .flows
        .iter()
        .flat_map(|f| &f.spans)
        .map(|s| s.sender.timeouts)
        .sum();
    let hops: u64 = outcome
        .links
        .iter()
        .flat_map(|l| &l.spans)
        .map(|s| s.packets_in)
        .sum();
    let drops: u64 = outcome
        .links
        .iter()
        .flat_map(|l| &l.spans)
        .map(Counters::packets_dropped)
        .sum();
    println!(
        "{:.3} Mbit/s goodput, {drops} drops, {timeouts} timeouts, {hops} hops",
        goodput as f64 * 8.0 / seconds / 1e6
    );
}
