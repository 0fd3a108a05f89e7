//! The promises of this project's own mechanisms: the policies `in-time` (docs/in-time.md) and
//! `delay-growth` (docs/stability.md), and the spacing controller `cubic` (docs/spacing.md).

mod aggregate;
mod budget;
mod failover;
mod media;
mod others;
mod overhead;
mod runs;
mod senders;
mod spacing;
mod spread;
mod tariffs;

use polypath_claims::Figure;

/// The figures of the own claims.
pub(crate) const FIGURES: &[Figure] = &[
    media::FIGURE,
    others::FIGURE,
    aggregate::FIGURE,
    spread::FIGURE,
    budget::FIGURE,
    failover::FIGURE,
    tariffs::FIGURE,
    overhead::FIGURE,
    senders::FIGURE,
    spacing::FIGURE,
];
