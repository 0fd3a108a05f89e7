//! Losses where all flows use all links: numbers alone.

use polypath_core::math::{floor, ln};
use polypath_core::rng::Stream;

use super::config::{Dropping, RoundModelConfig};
use super::fading::Links;
use super::flow::Flow;

/// The number of `sent` packets that lose all copies, or too many fragments.
pub(super) fn lost_everywhere(
    config: &RoundModelConfig,
    links: &Links,
    sent: u64,
    stream: &mut Stream,
) -> u64 {
    let capacity = config.packets();
    let enough = config.spare() as usize + 1;
    // `having[n]`: the number of packets that have lost n copies; the last are lost.
    let mut having = vec![0; enough + 1];
    having[0] = sent;
    for link in 0..config.links {
        let drops = sent - links.carried(link, sent, capacity);
        // A packet with fewer lost copies can no longer lose enough.
        let least = enough.saturating_sub((config.links - link) as usize);
        match config.dropping {
            Dropping::Excess => lose(&mut having[least..], drops, sent, stream),
            Dropping::Independent => {
                let share = drops as f64 / sent.max(1) as f64;
                lose_each(&mut having[least..], share, stream);
            }
        }
    }
    having[enough]
}

/// Drops `drops` of `of` packets on a link: each affected packet with n lost copies has n + 1
/// afterwards; packets that are already lost stay lost.
fn lose(having: &mut [u64], drops: u64, of: u64, stream: &mut Stream) {
    let (mut drops, mut of) = (drops, of);
    for kind in (0..having.len()).rev() {
        let number = having[kind];
        let hit = hypergeometric(of, drops, number, stream);
        (of, drops) = (of - number, drops - hit);
        if let [this, next, ..] = &mut having[kind..] {
            *this -= hit;
            *next += hit;
        }
    }
}

/// Drops each packet on a link with the probability `share`.
fn lose_each(having: &mut [u64], share: f64, stream: &mut Stream) {
    for kind in (1..having.len()).rev() {
        let hit = binomial(having[kind - 1], share, stream);
        having[kind - 1] -= hit;
        having[kind] += hit;
    }
}

/// Distributes the lost packets among the flows at random.
pub(super) fn spread(lost: u64, sent: u64, flows: &[Flow], of: &mut [u32], stream: &mut Stream) {
    let (mut lost, mut sent) = (lost, sent);
    for (flow, of) in flows.iter().zip(of) {
        if lost == 0 {
            return;
        }
        let window = u64::from(flow.window());
        let hit = hypergeometric(sent, lost, window, stream);
        (sent, lost) = (sent - window, lost - hit);
        *of = u32::try_from(hit).unwrap_or(u32::MAX);
    }
}

/// A hypergeometric draw: the marked items among `number` items of `of`, `marked` of which are
/// marked.
fn hypergeometric(of: u64, marked: u64, number: u64, stream: &mut Stream) -> u64 {
    if number == of || marked == of {
        return number.min(marked);
    }
    let (few, many) = (number.min(marked), number.max(marked));
    let mut hits = 0;
    for drawn in 0..few {
        hits += u64::from(stream.below(of - drawn) < many - hits);
    }
    hits
}

/// A binomial draw: the number of successes in `number` trials with the probability `share`, by
/// skipping from one to the next.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a distance beyond all numbers is as good as the greatest"
)]
pub(super) fn binomial(number: u64, share: f64, stream: &mut Stream) -> u64 {
    if share >= 1.0 {
        return number;
    }
    if share <= 0.0 {
        return 0;
    }
    let (mut place, mut hits) = (0_u64, 0);
    loop {
        let skipped = floor(ln(1.0 - stream.uniform()) / ln(1.0 - share)) as u64;
        place = place.saturating_add(skipped).saturating_add(1);
        if place > number {
            return hits;
        }
        hits += 1;
    }
}
