//! The results of an experiment.
//!
//! The simulator and the lab fill the same [`record::ExperimentRecord`]; the figures, tables and
//! pictures follow from it alone, so the same rules apply to a simulated and a real run.

mod chart;
pub mod conclusion;
pub mod difference;
pub mod downloads;
pub mod figures;
#[cfg(test)]
mod fixture;
pub mod json;
pub mod legend;
pub mod media;
pub mod network;
pub mod page;
pub mod playout;
pub mod plot;
pub mod record;
pub mod recorder;
pub mod sheets;
pub mod simulated;
pub mod spaced;
pub mod stability;
pub mod statistics;
pub mod streams;
pub mod sweep;
pub mod table;
pub mod write;

pub use chart::DrawingError;
pub use difference::{Bound, Difference, Verdict};
pub use figures::{Figures, SchemeFigures};
pub use record::{
    Content, DelayQuantiles, DirectionRecord, ExperimentRecord, Lateness, Mode, OverlayRecord,
    PathRecord, Progress, SchemeRecord, Source, Switch, Totals, Transfer,
};
pub use recorder::Recorder;
pub use simulated::Simulated;
pub use write::{Written, replace_file, write};
