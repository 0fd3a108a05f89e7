//! The result of a run and its verdict.

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use polypath_session::session::Limits;

use crate::MAX_GROWTH_RATE;
use crate::flow::FlowResult;
use crate::memory::Memory;

/// The result of a run.
pub(crate) struct SoakResult {
    pub(crate) span: Duration,
    pub(crate) flows: [FlowResult; 2],
    pub(crate) memory: [Memory; 2],
    pub(crate) outages: u64,
    pub(crate) handshakes: u64,
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    DoesNotHold,
    /// The run was too short for an outage, a key renewal, or three rounds of outages.
    Inconclusive,
}

impl SoakResult {
    pub(crate) fn verdict(&self) -> Verdict {
        let arrived = |flow: &FlowResult| flow.lost() == 0 && flow.repeated == 0;
        let renewals = renewals_due(self.span);
        let growth = self.memory.each_ref().map(|m| m.grows(MAX_GROWTH_RATE));
        if !self.flows.iter().all(arrived) {
            Verdict::DoesNotHold
        } else if self.outages == 0 || renewals == 0 || growth.contains(&None) {
            Verdict::Inconclusive
        } else if self.handshakes <= renewals || growth.contains(&Some(true)) {
            // The first handshake is not a renewal.
            Verdict::DoesNotHold
        } else {
            Verdict::Holds
        }
    }
}

/// The minimum number of key renewals in `span`, whichever side starts them.
fn renewals_due(span: Duration) -> u64 {
    let limits = Limits::default();
    let interval = limits.rekey_after + limits.responder_grace;
    span.as_secs() * 1_000_000_000 / interval.as_nanos()
}

impl Verdict {
    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            Self::Holds => ExitCode::SUCCESS,
            Self::DoesNotHold => ExitCode::from(1),
            Self::Inconclusive => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Inconclusive => "is inconclusive: run it for at least three minutes",
        })
    }
}
