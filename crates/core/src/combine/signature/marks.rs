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
/// marks per link, over the links that were not down: flows together get at most as many congestion
/// signals as over one such link, and by [`MarkRule::AllLinks`] fewer the fewer packets a window has.
/// If only one link delivered, its losses are not masked, and add nothing. Fractions carry over to the
/// next windows; [`Marks::settle`] discards whole marks
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

    /// Adds the marks of a window with this reading. `links` leave out the packets that were not
    /// delivered, where that is known; `is_down` states which links were
    /// [down](super::Signature::is_down).
    pub fn on_window(
        &mut self,
        reading: &Reading,
        links: &[LinkWindow],
        is_down: impl Fn(&LinkWindow) -> bool,
    ) {
        let is_hit = |link: &LinkWindow| link.lost > 0 || link.marked > 0;
        let counts = self.rule == MarkRule::AnyLink || links.iter().all(is_hit);
        let delivering = links.iter().filter(|link| !link.has_lost_all());
        let are_masked = delivering.clone().take(2).count() == 2;
        if reading.sign != Sign::Congestion || !counts || !are_masked {
            return;
        }
        let up = delivering.clone().filter(|link| !is_down(link));
        let mean = mean_losses(up).or_else(|| mean_losses(delivering));
        self.due += mean.unwrap_or(0.0);
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

/// The mean number of losses and marks of these links; `None` without links.
fn mean_losses<'a>(links: impl Iterator<Item = &'a LinkWindow>) -> Option<f64> {
    let (lost, count) = links.fold((0, 0_u32), |(lost, count), link| {
        (lost + link.lost + link.marked, count + 1)
    });
    (count > 0).then(|| f64::from(lost) / f64::from(count))
}
