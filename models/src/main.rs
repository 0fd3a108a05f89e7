//! Explores the session protocol exhaustively within stated bounds, with the real sessions of
//! `polypath-session` and the model checker `stateright`.
//!
//! usage: polypath-models [--reduced | --deep] [MODEL ...]
//!
//! Exit code 1 if a property does not hold, or if a model does not reach what it must; 2 if there is
//! no such model.

use std::process::ExitCode;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use explore::Exploration;
use models::{Named, Size};

mod explore;
mod flood;
mod models;
mod monitor;
mod sent;
mod settle;
mod trace;
mod world;

fn main() -> ExitCode {
    let (options, wanted): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with("--"));
    let size = match options.first().map(String::as_str) {
        Some("--reduced") => Size::Reduced,
        Some("--deep") => Size::Deep,
        _ => Size::Default,
    };
    let all = models::all(size);
    let is_unknown = |name: &&String| !all.iter().any(|model| model.name == name.as_str());
    if let Some(name) = wanted.iter().find(is_unknown) {
        let names: Vec<&str> = all.iter().map(|model| model.name).collect();
        eprintln!(
            "models: there is no model `{name}`; there are {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let mut holds = true;
    for model in all {
        if wanted.is_empty() || wanted.iter().any(|name| name == model.name) {
            holds &= check(&model);
        }
    }
    ExitCode::from(u8::from(!holds))
}

/// Explores a model and prints its result; returns whether all properties hold.
fn check(model: &Named) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the time is only printed")]
    let start = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let checker = model.exploration.clone().checker();
    let checker = checker
        .threads(threads)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{:<8} {:>7} states, {:>8} steps, depth {}, {:.1} s: {}",
        model.name,
        checker.unique_state_count(),
        checker.state_count() - 1,
        checker.max_depth() - 1,
        start.elapsed().as_secs_f64(),
        model.about
    );
    report(&model.exploration, &checker)
}

fn report(exploration: &Exploration, checker: &impl Checker<Exploration>) -> bool {
    let (always, goals): (Vec<_>, Vec<_>) = exploration
        .properties()
        .into_iter()
        .partition(|property| matches!(property.expectation, Expectation::Always));
    let mut holds = true;
    for property in always {
        if let Some(path) = checker.discovery(property.name) {
            holds = false;
            println!("  does not hold: {}", property.name);
            for line in exploration.explain(path.last_state()) {
                println!("    {line}");
            }
        }
    }
    // An exploration that ends with a violation has not reached everything.
    for goal in goals.iter().filter(|_| holds) {
        if checker.discovery(goal.name).is_none() {
            println!("  not {}", goal.name);
            return false;
        }
    }
    holds
}
