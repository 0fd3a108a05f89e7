//! The number of packets to mark.

use super::{LinkWindow, Reading, Sign};

/// The windows of congestion that cause marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum MarkRule {
    /// Those in which every link lost or marked a copy: none of the links would have carried the
    /// flow alone without a loss.
    #[default]
    AllLinks,
    /// All windows.
    AnyLink,
}

/// The CE marks that replace congestion losses masked by copies.
///
/// A window classified as congestion adds, by the [rule](MarkRule), the mean number of losses and
/// marks per link, over the links that did not drop out: flows together get at most as many
/// congestion signals as over one such link, and by [`MarkRule::AllLinks`] fewer the fewer packets
/// a window has. Fractions carry over to the next windows; [`Marks::settle`] discards whole marks
/// that were not taken.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    rule: MarkRule,
    due: f64,
}

impl Marks {
    /// No marks yet, by this rule.
    #[must_use]
    pub const fn new(rule: MarkRule) -> Self {
        Self { rule, due: 0.0 }
    }

    /// Adds the marks of a window with this reading.
    pub fn on_window(&mut self, reading: &Reading, links: &[LinkWindow]) {
        let is_hit = |link: &LinkWindow| link.lost > 0 || link.marked > 0;
        let counts = self.rule == MarkRule::AnyLink || links.iter().all(is_hit);
        if reading.sign != Sign::Congestion || !counts {
            return;
        }
        let is_up = |link: &&LinkWindow| link.lost < link.sent;
        let up = links.iter().filter(is_up);
        let (lost, count) = up.fold((0, 0_u32), |(lost, count), link| {
            (lost + link.lost + link.marked, count + 1)
        });
        self.due += f64::from(lost) / f64::from(count.max(1));
    }

    /// Takes one mark for the next packet, if one is due.
    pub fn take(&mut self) -> bool {
        let is_due = self.due >= 1.0;
        if is_due {
            self.due -= 1.0;
        }
        is_due
    }

    /// Discards whole marks: TCP reduces its window at most once per round trip, regardless of the
    /// number of marks (RFC 3168, 6.1.2).
    pub fn settle(&mut self) {
        while self.take() {}
    }
}
