//! The classes of a sender, and the packets of each.

use alloc::vec;
use alloc::vec::Vec;

use crate::class::{Class, ClassStatistics, Classes};
use crate::packet::PacketMeta;

/// Assigns packets to classes, and counts them.
#[derive(Clone, Debug)]
pub(super) struct ClassCounters {
    classes: Classes,
    /// Those of each class.
    statistics: Vec<ClassStatistics>,
}

impl ClassCounters {
    pub(super) fn new(classes: Classes) -> Self {
        let statistics = vec![ClassStatistics::default(); classes.iter().len()];
        Self {
            classes,
            statistics,
        }
    }

    /// Sets the class of a packet, and counts it.
    #[inline]
    pub(super) fn assign(&mut self, meta: &mut PacketMeta) {
        if self.classes.is_empty() {
            return;
        }
        let class = self.classes.classify(meta.fields());
        let counters = class.and_then(|class| self.statistics.get_mut(usize::from(class.number)));
        if let Some(counters) = counters {
            counters.packets += 1;
            counters.bytes += u64::from(meta.size);
        }
        meta.class = class;
    }

    /// Applies other classes; one that has the name of an earlier one continues its counters.
    pub(super) fn adjust(&mut self, to: &Classes) {
        if *to == self.classes {
            return;
        }
        let before = |name: &str| self.all().find(|(class, _)| class.name == name);
        let continued = to.iter().map(|class| {
            let before = before(&class.name);
            before.map_or_else(ClassStatistics::default, |(_, counters)| counters)
        });
        self.statistics = continued.collect();
        self.classes.clone_from(to);
    }

    /// Each class with its counters, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Class, ClassStatistics)> {
        self.classes.iter().zip(self.statistics.iter().copied())
    }
}
