//! Two nodes for a long time at half load: `make soak MINUTES=60`, or
//! `cargo run --release -p polypath-lab --example soak POLYPATH [MINUTES] [--format json]`, as root.
//!
//! Two links of 20 Mbit/s each way (token bucket filters), `duplicate-all`, and a flow in each direction that takes half of
//! each link. One link at a time goes down for three seconds of each twenty, so that at every time one path carries; keys are
//! renewed every two minutes. Nodes and ends of flows have a real-time priority: whatever else this machine does, it is the
//! nodes that are tried. What is asserted: every packet arrives, once; the memory of neither node grows; keys are
//! renewed as often as the time demands. Exit code 1 where that does not hold, and 2 where the time was too short for an
//! outage or for new keys, and so nothing is shown.

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

use flow::{Direction, FlowResult};
use memory::Memory;
use verdict::{SoakResult, Verdict};

/// How often a link goes down, first one, then the other.
const ROUND: Duration = Duration::from_secs(20);
/// How long it stays down.
const OUTAGE: Duration = Duration::from_secs(3);
/// Between two samples of the memory.
const SAMPLE: Duration = Duration::from_secs(5);
/// The real-time priority of nodes and of the ends of flows.
const PRIORITY: u8 = 5;
/// So many losses are told one by one.
const MAX_LISTED_LOSSES: usize = 10;
/// Growth that is none, in kB an hour: what the allocator and the counters of the kernel move.
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

/// Namespaces, links and nodes; all end with it.
struct Testbed {
    ends: [Namespace; 2],
    nodes: Vec<Child>,
    directory: TempDir,
}

impl Testbed {
    fn start(program: &Path) -> Result<Self, Box<dyn Error>> {
        let ends = [Namespace::new()?, Namespace::new()?];
        for path in [1, 2] {
            let address = |end: u8| format!("10.1.{path}.{end}/24");
            ends[0].join(&ends[1], &format!("p{path}"), [&address(1), &address(2)])?;
            for end in &ends {
                let mut tc = Command::new("tc");
                tc.args(["qdisc", "add", "dev", &format!("p{path}"), "root", "tbf"]);
                end.output(tc.args(["rate", "20mbit", "burst", "16kb", "limit", "1mb"]))?;
            }
        }
        let directory = tempfile::tempdir()?;
        let mut testbed = Self {
            ends,
            nodes: Vec::new(),
            directory,
        };
        let keys = ["a", "b"].map(|name| keys::generate(&testbed.file(name, "key")));
        for (end, key) in (1_u8..).zip(keys.into_iter().rev()) {
            let node = testbed.node(program, end, &key?.to_string())?;
            testbed.nodes.push(node);
        }
        Ok(testbed)
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.{kind}"))
    }

    /// The statistics file of an end.
    fn stats(&self, end: u8) -> PathBuf {
        self.file(["a", "b"][usize::from(end) - 1], "json")
    }

    fn node(&self, program: &Path, end: u8, peer_key: &str) -> io::Result<Child> {
        let name = ["a", "b"][usize::from(end) - 1];
        let path = |path: u8| {
            let peer = 3 - end;
            format!(
                "[[path]]\nname = \"p{path}\"\nlocal = \"10.1.{path}.{end}:7001\"\n\
                 remote = \"10.1.{path}.{peer}:7001\"\n"
            )
        };
        let text = format!(
            "[node]\nkey_file = \"{name}.key\"\ntun = {{ name = \"pp0\", addresses = [\"10.77.0.{end}/24\"], queue = 10000 }}\n\
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
            .arg(self.stats(end));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.ends[usize::from(end) - 1].spawn(&mut command)
    }

    /// Handshakes of the first node.
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
    let flow = |from: usize| Direction::open(&testbed.ends[from], &testbed.ends[1 - from], from);
    let directions = [flow(0)?, flow(1)?];
    let mut memory = testbed.nodes.iter().map(|node| Memory::of(node.id()));
    let mut memory = [
        memory.next().ok_or("no node")?,
        memory.next().ok_or("no node")?,
    ];
    let (flows, outages) = thread::scope(|scope| -> Result<_, Box<dyn Error>> {
        let running = directions.map(|direction| {
            let stop = &stop;
            (
                direction.sender(scope, clock, stop),
                direction.receiver(scope, stop),
            )
        });
        let watched = watch(testbed, clock, span, &mut memory, &interrupt);
        // Ends the line of the progress.
        eprintln!();
        stop.store(true, Ordering::Relaxed);
        let join = |(sender, receiver): flow::Running<'_>| flow::join(sender, receiver);
        let [a, b] = running.map(join);
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
            return Err("no session after 15 s: try `polypath node` by hand".into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Takes links down and up, samples the memory, and tells how far it is, until it is told to stop; the number of outages.
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
        let round = (elapsed() / ROUND.as_secs_f64()).floor();
        let phase = elapsed() - round * ROUND.as_secs_f64();
        let is_down = phase >= ROUND.as_secs_f64() - OUTAGE.as_secs_f64();
        // Of two rounds the even one takes the first link.
        let path = if round % 2.0 == 0.0 { "p1" } else { "p2" };
        if is_down && down.is_none() {
            testbed.ends[0].ip(&["link", "set", path, "down"])?;
            (down, outages) = (Some(path), outages + 1);
        }
        if let Some(path) = down.filter(|_| !is_down) {
            testbed.ends[0].ip(&["link", "set", path, "up"])?;
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
            sample += SAMPLE.as_secs_f64();
        }
        thread::sleep(Duration::from_millis(50));
    }
    if let Some(path) = down {
        testbed.ends[0].ip(&["link", "set", path, "up"])?;
    }
    Ok(outages)
}

fn report(soak: &SoakResult, minutes: f64, is_json: bool) {
    let [a, b] = &soak.flows;
    if is_json {
        let flow = |c: &FlowResult| json!({ "sent": c.sent, "lost": c.lost(), "repeated": c.repeated, "losses": c.losses });
        let memory = |m: &Memory| {
            let (slope, half) = m.slope();
            json!({ "first_kb": m.settled(), "last_kb": m.last(), "kb_per_hour": slope, "ci95": half })
        };
        let document = json!({
            "minutes": minutes, "outages": soak.outages, "handshakes": soak.handshakes,
            "flows": [flow(a), flow(b)], "memory": soak.memory.each_ref().map(memory),
            "holds": soak.verdict() == Verdict::Holds, "verdict": soak.verdict().to_string(),
        });
        return println!("{document:#}");
    }
    println!(
        "{minutes} min, {} outages of a link, {} handshakes",
        soak.outages, soak.handshakes
    );
    for (name, flow) in [("a to b", a), ("b to a", b)] {
        let (sent, lost, repeated) = (flow.sent, flow.lost(), flow.repeated);
        println!("{name}: {sent} packets sent, {lost} lost, {repeated} twice");
        for (at, count) in flow.losses.iter().take(MAX_LISTED_LOSSES) {
            println!("  {count} lost at {at:.1} s");
        }
    }
    for (name, memory) in ["node a", "node b"].into_iter().zip(&soak.memory) {
        let (slope, half) = memory.slope();
        println!(
            "{name}: {} kB after the first fifth, {} kB at the end, {slope:+.0} +- {half:.0} kB an hour (95 %)",
            memory.settled(),
            memory.last()
        );
    }
    println!("soak: {}", soak.verdict());
}
