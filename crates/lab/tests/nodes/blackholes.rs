//! How long a flow stands still when its path goes silent, again and again.

use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;

use crate::flow::{self, pause};
use crate::overlay::{Overlay, Site};
use crate::relay::{self, Mischief, Relay};
use crate::{BOTH_PATHS, ping};

const CUTS: u32 = 200;
/// How long the path is silent, and from the end of one silence to the next.
const CUT: Duration = Duration::from_millis(800);
const WHOLE: Duration = Duration::from_millis(1200);
/// The share of [`WHOLE`] by which the beginnings of silences differ, in milliseconds.
const PHASES: u32 = 100;

/// Holds that do not grow, so that the path is back before it is cut again.
const TABLES: &str = "[policy]\nkind = \"single-path\"\n\
    [liveness]\nretry = \"200 ms\"\nhold = \"250 ms\"\nlongest_hold = \"250 ms\"\n";

#[test]
#[ignore = "it takes seven minutes; `cargo test -p polypath-lab --test nodes -- --ignored --nocapture`"]
fn the_outages_of_two_hundred_blackholes_are_short() {
    let Some(site) = Site::new() else { return };
    let relay = Relay::start(&site, Mischief::None);
    let overlay = Overlay::start_with(&site, TABLES, [relay::ADDRESS, BOTH_PATHS[1]]);
    ping(&site, "10.77.0.2");
    let clock = Clock::starting_now();
    let seconds = (CUT + WHOLE).as_secs_f64() * f64::from(CUTS + 1);
    let datagrams = CUTS * 100 + 100;
    let (arrived, cuts) = std::thread::scope(|scope| {
        let cuts = scope.spawn(|| cut_again_and_again(&relay, clock));
        let arrived = flow::run(&site, clock, datagrams, |_| {});
        (arrived, cuts.join().unwrap())
    });
    let [a, _] = overlay.finish();
    let mut outages: Vec<Duration> = cuts
        .iter()
        .map(|cut| flow::outage(&arrived, *cut, *cut + CUT.scale(1, 2)))
        .collect();
    outages.sort_unstable();
    let at = |percent: usize| outages[(outages.len() - 1) * percent / 100];
    for percent in [0, 50, 90, 99, 100] {
        println!("{percent} % of the outages: {} or less", at(percent));
    }
    for path in &a.paths {
        #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
        let rate = path.heartbeats.bytes as f64 / seconds;
        let (sent, watched) = (path.sent.bytes, path.liveness);
        println!(
            "{}: heartbeats {rate:.0} B/s, in all {sent} B; {watched:?}",
            path.name
        );
    }
    let silences = a.paths[0].liveness.unwrap().silences;
    assert!(
        silences >= u64::from(CUTS),
        "it fell silent {silences} times"
    );
    assert!(at(99) < Duration::from_millis(200), "{outages:?}");
}

/// Cuts the path at another phase of heartbeats and datagrams each time, and says when.
fn cut_again_and_again(relay: &Relay, clock: Clock) -> Vec<Time> {
    let ms = |n: u32| Duration::from_millis(u64::from(n));
    let cut = |number: u32| {
        let phase = number * 7 % PHASES;
        pause(Duration(WHOLE.0 - ms(PHASES).0) + ms(phase));
        let now = clock.now();
        relay.fall_silent();
        pause(CUT);
        relay.speak();
        pause(ms(PHASES - phase));
        now
    };
    (0..CUTS).map(cut).collect()
}
