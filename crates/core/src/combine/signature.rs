//! Loss signatures that distinguish congestion from dropouts on parallel links (diversity-routing
//! paper, VI).
//!
//! Copies mask losses, including the congestion losses that TCP needs for rate control. But copies
//! also show which link lost which packets: congestion drops some packets on many links, and on the
//! same ones for several round trips; a dropout loses everything on a single link. On congestion
//! the combiner sets the CE mark of delivered packets; losses from dropouts stay masked.
//!
//! A [`Signature`] classifies consecutive windows of packets, about a round trip long, given as
//! [`LinkWindow`]s. The paper's rule is [`SameLinks`]; [`LikelihoodRatio`] also uses the number of
//! losses per link.

mod config;
mod likelihood;
mod marks;
mod parameters;
mod same_links;

pub use config::SignatureConfig;
pub use likelihood::LikelihoodRatio;
pub use marks::{MarkRule, Marks};
pub use parameters::{LikelihoodConfig, SameLinksConfig, SignatureError};
pub use same_links::SameLinks;

use dyn_clone::DynClone;

/// The losses, marks and queueing of one link in a window of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkWindow {
    /// The number of copies sent on the link.
    pub sent: u32,
    /// The number of lost copies; at most `sent`.
    pub lost: u32,
    /// The number of copies that arrived with a CE mark (RFC 3168).
    pub marked: u32,
    /// The mean queueing delay (above the minimum of the link) as a share of the maximum queueing
    /// delay; `None` if no copy arrived or all delays so far were equal.
    pub queueing: Option<f64>,
}

impl LinkWindow {
    /// Leaves out the packets that were not delivered, `undelivered` in number. Some links may deliver
    /// a fragment of such a packet: their losses are then underestimated.
    pub fn omit_lost(&mut self, undelivered: u32) {
        self.sent = self.sent.saturating_sub(undelivered);
        self.lost = self.lost.saturating_sub(undelivered).min(self.sent);
    }

    /// Whether the link delivered nothing.
    #[must_use]
    pub const fn has_lost_all(&self) -> bool {
        self.lost >= self.sent
    }
}

/// The classification of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Nothing was lost or marked.
    Nothing,
    /// Links dropped out: mask the losses.
    Dropout,
    /// Links are congested: senders must slow down.
    Congestion,
}

/// The result of a signature for a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The classification.
    pub sign: Sign,
    /// The evidence for congestion on the scale of the signature; a higher score is stronger
    /// evidence.
    pub score: f64,
}

/// Distinguishes congestion from dropouts by the losses per link.
pub trait Signature: core::fmt::Debug + Send + DynClone {
    /// Classifies the next window, given as one entry per link; links without sent copies are
    /// ignored.
    fn on_window(&mut self, links: &[LinkWindow]) -> Reading;

    /// Whether the link was down for all of a window or, by its losses, for a part of it, so that they
    /// do not measure congestion.
    fn is_down(&self, link: &LinkWindow) -> bool {
        link.has_lost_all()
    }
}

dyn_clone::clone_trait_object!(Signature);

/// Whether any link lost or marked a copy.
fn has_losses_or_marks(links: &[LinkWindow]) -> bool {
    links.iter().any(|link| link.lost > 0 || link.marked > 0)
}

#[cfg(test)]
mod tests;
