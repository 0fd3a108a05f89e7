//! What losses on parallel links are a sign of (diversity-routing paper, VI).
//!
//! Copies mask losses, those of congestion among them, from which TCP would learn its rate. But copies also show
//! which links lost what, and that tells the two apart: congestion drops some packets on many links, and on the same
//! ones for several round trips; a link that drops out loses everything, alone. On a sign of congestion the combiner
//! sets the CE mark of the packets that it delivers, and losses of a dropout stay masked.
//!
//! A [`Signature`] sees one window of packets after the other, about a round trip long, as [`LinkWindow`]s. The paper's
//! rule is [`SameLinks`]; [`LikelihoodRatio`] weighs how much each link lost.

mod config;
mod likelihood;
mod marks;
mod same_links;

pub use config::{LikelihoodConfig, SameLinksConfig, SignatureConfig, SignatureError};
pub use likelihood::LikelihoodRatio;
pub use marks::Marks;
pub use same_links::SameLinks;

/// What one link did to a window of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkWindow {
    /// How many copies were sent on it.
    pub sent: u32,
    /// How many of them did not arrive; at most `sent`.
    pub lost: u32,
    /// How many of them arrived with a CE mark (RFC 3168).
    pub marked: u32,
    /// The mean delay of the others above the least that was seen on the link, as a share of the greatest such delay;
    /// nothing where none arrived, or where delays have not differed yet.
    pub queueing: Option<f64>,
}

/// What a window is a sign of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Nothing was lost or marked.
    Nothing,
    /// Links dropped out: the losses are to be masked.
    Dropout,
    /// The links are congested: senders are to slow down.
    Congestion,
}

/// What a signature makes of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What it is a sign of.
    pub sign: Sign,
    /// How much it speaks for congestion, on the scale of the signature: more is more.
    pub score: f64,
}

/// Tells congestion from dropouts by what links lost.
pub trait Signature: core::fmt::Debug + Send {
    /// Takes the next window, link by link; links on which nothing was sent say nothing.
    fn on_window(&mut self, links: &[LinkWindow]) -> Reading;
}

/// Whether any link lost or marked anything.
fn is_touched(links: &[LinkWindow]) -> bool {
    links.iter().any(|link| link.lost > 0 || link.marked > 0)
}

#[cfg(test)]
mod tests;
