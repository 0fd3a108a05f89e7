//! A soak test of two nodes at half load: `make soak MINUTES=60`, or `cargo run --release -p
//! polypath-lab --example soak POLYPATH [MINUTES] [--format json]`, as root.
//!
//! Two links of 20 Mbit/s in each direction (token bucket filters), `duplicate-all`, and a flow in
//! each direction at half the rate of a link. Every 20 seconds one of the links is down for three
//! seconds, in turn, so that one path always carries; keys are renewed every two minutes. Nodes and
//! flows have a real-time priority, so that the load of other processes does not count. Asserted:
//! every packet arrives exactly once; the memory of neither node grows; keys are renewed as often
//! as required. Exit code 1 if that does not hold, and 2 if the run was too short for an outage or
//! a renewal, and shows nothing.

mod flow;
mod memory;
mod verdict;

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use polypath_lab::interrupt::Interrupt;
use polypath_lab::namespace::Namespace;
use polypath_lab::preflight;
use polypath_live::clock::Clock;
use polypath_live::keys;
use serde_json::json;
use tempfile::TempDir;

use flow::{Direction, FlowResult, LossBurst, RunningFlow};
use memory::{Memory, Slope};
use verdict::{SoakResult, Verdict};

/// The interval between outages, which affect the links in turn.
const OUTAGE_INTERVAL: Duration = Duration::from_secs(20);
/// The length of an outage.
const OUTAGE: Duration = Duration::from_secs(3);
/// The interval between samples of memory.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);
/// The real-time priority of nodes and flows.
const PRIORITY: u8 = 5;
/// The maximum number of loss bursts listed for a flow.
const MAX_LISTED_LOSSES: usize = 10;
/// Growth below this, in kB per hour, does not count: noise of the allocator and of the kernel's
/// counters.
const MAX_GROWTH_RATE: f64 = 512.0;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    preflight()?;
    let mut arguments = std::env::args().skip(1);
    let program = arguments
        .next()
        .ok_or("usage: soak POLYPATH [MINUTES] [--format json]")?;
    let minutes: f64 = arguments.next().map_or(Ok(10.0), |text| text.parse())?;
    let is_json = std::env::args().any(|argument| argument == "json");
    let span = Duration::from_secs_f64(minutes * 60.0);
    let mut testbed = Testbed::start(Path::new(&program))?;
    let result = soak(&mut testbed, span)?;
    report(&result, minutes, is_json);
    Ok(result.verdict().exit_code())
}

/// Namespaces, links and nodes, removed on drop.
struct Testbed {
    namespaces: [Namespace; 2],
    nodes: Vec<Child>,
    directory: TempDir,
}

impl Testbed {
    fn start(program: &Path) -> Result<Self, Box<dyn Error>> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        for path in [1, 2] {
            let address = |side: u8| format!("10.1.{path}.{side}/24");
            namespaces[0].join(
                &namespaces[1],
                &format!("p{path}"),
                [&address(1), &address(2)],
            )?;
            for namespace in &namespaces {
                let mut tc = Command::new("tc");
                tc.args(["qdisc", "add", "dev", &format!("p{path}"), "root", "tbf"]);
                namespace.output(tc.args(["rate", "20mbit", "burst", "16kb", "limit", "1mb"]))?;
            }
        }
        let directory = tempfile::tempdir()?;
        let mut testbed = Self {
            namespaces,
            nodes: Vec::new(),
            directory,
        };
        let keys = ["a", "b"].map(|name| keys::generate(&testbed.file(name, "key")));
        for (side, key) in (1_u8..).zip(keys.into_iter().rev()) {
            let node = testbed.start_node(program, side, &key?.to_string())?;
            testbed.nodes.push(node);
        }
        Ok(testbed)
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.{kind}"))
    }

    /// The statistics file of a node (1 or 2).
    fn stats(&self, side: u8) -> PathBuf {
        self.file(["a", "b"][usize::from(side) - 1], "json")
    }

    fn start_node(&self, program: &Path, side: u8, peer_key: &str) -> io::Result<Child> {
        let name = ["a", "b"][usize::from(side) - 1];
        let path = |path: u8| {
            let peer = 3 - side;
            format!(
                "[[path]]\nname = \"p{path}\"\nlocal = \"10.1.{path}.{side}:7001\"\n\
                 remote = \"10.1.{path}.{peer}:7001\"\n"
            )
        };
        let text = format!(
            "[node]\nkey_file = \"{name}.key\"\ntun = {{ name = \"pp0\", addresses = [\"10.77.0.{side}/24\"], queue = 10000 }}\n\
             [peer]\npublic_key = \"{peer_key}\"\n[policy]\nkind = \"duplicate-all\"\n{}{}",
            path(1),
            path(2)
        );
        let config = self.file(name, "toml");
        fs::write(&config, text)?;
        let mut command = Command::new("chrt");
        command.args(["--rr", &PRIORITY.to_string()]).arg(program);
        command
            .arg("node")
            .arg(&config)
            .arg("--stats")
            .arg(self.stats(side));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.namespaces[usize::from(side) - 1].spawn(&mut command)
    }

    /// The number of handshakes of the first node.
    fn handshakes(&self) -> io::Result<u64> {
        let stats: serde_json::Value = serde_json::from_slice(&fs::read(self.stats(1))?)?;
        Ok(stats["session"]["established"].as_u64().unwrap_or(0))
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

fn soak(testbed: &mut Testbed, span: Duration) -> Result<SoakResult, Box<dyn Error>> {
    let clock = Clock::starting_now();
    await_session(testbed, clock)?;
    let stop = AtomicBool::new(false);
    let interrupt = Interrupt::watch()?;
    let flow = |from: usize| {
        Direction::open(
            &testbed.namespaces[from],
            &testbed.namespaces[1 - from],
            from,
        )
    };
    let directions = [flow(0)?, flow(1)?];
    let mut memory = testbed.nodes.iter().map(|node| Memory::of(node.id()));
    let mut memory = [
        memory.next().ok_or("no node")?,
        memory.next().ok_or("no node")?,
    ];
    let (flows, outages) = thread::scope(|scope| -> Result<_, Box<dyn Error>> {
        let running = directions.map(|direction| direction.start(scope, clock, &stop));
        let watched = watch(testbed, clock, span, &mut memory, &interrupt);
        // Ends the progress line.
        eprintln!();
        stop.store(true, Ordering::Relaxed);
        let [a, b] = running.map(RunningFlow::join);
        Ok(([a?, b?], watched?))
    })?;
    Ok(SoakResult {
        span,
        flows,
        memory,
        outages,
        handshakes: testbed.handshakes()?,
    })
}

fn await_session(testbed: &Testbed, clock: Clock) -> Result<(), Box<dyn Error>> {
    while testbed.handshakes().unwrap_or(0) == 0 {
        if clock.now().as_secs_f64() > 15.0 {
            return Err("no session after 15 s: start `polypath node` by hand to see why".into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Takes links down and up, samples memory and shows progress for the length of the run; returns
/// the number of outages. Fails on an interrupt.
fn watch(
    testbed: &Testbed,
    clock: Clock,
    span: Duration,
    memory: &mut [Memory; 2],
    interrupt: &Interrupt,
) -> io::Result<u64> {
    let start = clock.now().as_secs_f64();
    let elapsed = || clock.now().as_secs_f64() - start;
    let (mut outages, mut sample, mut down) = (0_u64, 0.0, None);
    while elapsed() < span.as_secs_f64() {
        interrupt.check()?;
        let round = (elapsed() / OUTAGE_INTERVAL.as_secs_f64()).floor();
        let phase = elapsed() - round * OUTAGE_INTERVAL.as_secs_f64();
        let is_down = phase >= OUTAGE_INTERVAL.as_secs_f64() - OUTAGE.as_secs_f64();
        // Even rounds take down the first link.
        let path = if round % 2.0 == 0.0 { "p1" } else { "p2" };
        if is_down && down.is_none() {
            testbed.namespaces[0].ip(&["link", "set", path, "down"])?;
            (down, outages) = (Some(path), outages + 1);
        }
        if let Some(path) = down.filter(|_| !is_down) {
            testbed.namespaces[0].ip(&["link", "set", path, "up"])?;
            down = None;
        }
        if elapsed() >= sample {
            memory
                .iter_mut()
                .try_for_each(|memory| memory.sample(elapsed()))?;
            let [a, b] = memory.each_ref().map(Memory::last);
            eprint!(
                "\rsoak: {:.0} of {:.0} s, memory {a} and {b} kB   ",
                elapsed(),
                span.as_secs_f64()
            );
            sample += SAMPLE_INTERVAL.as_secs_f64();
        }
        thread::sleep(Duration::from_millis(50));
    }
    if let Some(path) = down {
        testbed.namespaces[0].ip(&["link", "set", path, "up"])?;
    }
    Ok(outages)
}

fn report(soak: &SoakResult, minutes: f64, is_json: bool) {
    let [a, b] = &soak.flows;
    if is_json {
        let flow = |c: &FlowResult| {
            json!({
                "sent": c.sent, "lost": c.lost(), "repeated": c.repeated,
                "losses": c.losses.iter().map(|burst| json!([burst.at, burst.count])).collect::<Vec<_>>(),
            })
        };
        let memory = |m: &Memory| {
            let (slope, [first, last]) = (m.slope(), m.ends());
            json!({
                "first_kb": first, "last_kb": last,
                "kb_per_hour": slope.mean, "ci95": slope.ci95,
            })
        };
        let document = json!({
            "minutes": minutes, "outages": soak.outages, "handshakes": soak.handshakes,
            "flows": [flow(a), flow(b)], "memory": soak.memory.each_ref().map(memory),
            "holds": soak.verdict() == Verdict::Holds, "verdict": soak.verdict().to_string(),
        });
        return println!("{document:#}");
    }
    println!(
        "{minutes} min, {} link outages, {} handshakes",
        soak.outages, soak.handshakes
    );
    for (name, flow) in [("a to b", a), ("b to a", b)] {
        let (sent, lost, repeated) = (flow.sent, flow.lost(), flow.repeated);
        println!("{name}: {sent} packets sent, {lost} lost, {repeated} duplicated");
        for LossBurst { at, count } in flow.losses.iter().take(MAX_LISTED_LOSSES) {
            println!("  {count} lost at {at:.1} s");
        }
    }
    for (name, memory) in ["node a", "node b"].into_iter().zip(&soak.memory) {
        let Slope { mean, ci95 } = memory.slope();
        let [first, last] = memory.ends();
        println!(
            "{name}: {first:.0} kB after the first fifth, {last:.0} kB at the end, {mean:+.0} +- {ci95:.0} kB per hour (95 %)"
        );
    }
    println!("soak: {}", soak.verdict());
}
