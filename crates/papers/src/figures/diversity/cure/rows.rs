//! The schemes that are compared with ECN.

use polypath_claims::{Pending, Study};
use polypath_core::combine::signature::{MarkRule, SameLinksConfig, SignatureConfig};
use polypath_sim::round_model::{RoundModelConfig, SignatureResponse};

use crate::jobs::diversity::latecomer::{Latecomer, LatecomerRuns};
use crate::jobs::diversity::run::{RunResult, Runs};
use crate::jobs::diversity::setting::{LINKS, LONG, SHARE, SHORT, paper};

/// The round in which the late flow starts.
pub(super) const LATE: u32 = 1000;
/// The number of rounds for which it is observed.
const SPAN: u32 = 500;

/// The scheme that carries the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// Over one link that does not fade.
    Unfaded,
    /// Over one link that fades.
    Single,
    /// Copies on four links that fade.
    Naive,
    /// The same with ECN on the default signature.
    Cured,
    /// The same with ECN on the paper's rule.
    Plain,
    /// The same with ECN on the default signature, also if not all links of a window lost.
    AnyLink,
}

impl Member {
    pub(super) const ALL: [Self; 6] = [
        Self::Unfaded,
        Self::Single,
        Self::Naive,
        Self::Cured,
        Self::Plain,
        Self::AnyLink,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unfaded => "single link, no fades",
            Self::Single => "single link",
            Self::Naive => "naive",
            Self::Cured => "cured",
            Self::Plain => "ECN by the paper's rule",
            Self::AnyLink => "ECN where any link lost",
        }
    }

    fn config(self, flows: u32, share: u32, nu: f64) -> RoundModelConfig {
        let several = paper(flows, LINKS, share, nu);
        let with = |signature, marks| RoundModelConfig {
            detection: Some(SignatureResponse {
                signature,
                marks,
                acts: true,
            }),
            ..several.clone()
        };
        match self {
            Self::Unfaded => RoundModelConfig::paper(flows, 1, share * flows),
            Self::Single => paper(flows, 1, share, nu),
            Self::Naive => several,
            Self::Cured => with(SignatureConfig::default(), MarkRule::default()),
            Self::Plain => with(
                SignatureConfig::SameLinks(SameLinksConfig::default()),
                MarkRule::default(),
            ),
            Self::AnyLink => with(SignatureConfig::default(), MarkRule::AnyLink),
        }
    }
}

/// All schemes with this number of flows.
pub(super) struct Group {
    pub(super) flows: u32,
    pub(super) share: u32,
    pub(super) nu: f64,
    runs: Vec<Vec<RunResult>>,
    late: Vec<Vec<Latecomer>>,
}

impl Group {
    fn request(study: &mut Study<'_>, flows: u32, share: u32, nu: f64) -> Result<Self, Pending> {
        // Many flows with many packets are slow to run; fades, which all flows share, need many
        // runs.
        let many = flows * share >= 100 * SHARE * 4;
        let seeds = if many {
            study.pick(4, 20)
        } else {
            study.pick(12, 60)
        };
        let seeds_of_late = study.pick(20, 200);
        let mut asked = Vec::new();
        for member in Member::ALL {
            let config = member.config(flows, share, nu);
            let runs = Runs {
                shows: shows(flows, share, nu),
                ..Runs::new(config.clone(), seeds)
            };
            let late = RoundModelConfig {
                late: LATE,
                ..config
            };
            // The share of a hundred flows over more packets is slow to run, and that of few flows
            // varies more.
            let seeds = (seeds_of_late * SHARE * 5 / (share * flows)).max(seeds);
            let late = LatecomerRuns::new(late, SPAN, seeds).request(study);
            asked.push((runs.request(study), late));
        }
        let (mut runs, mut late) = (Vec::new(), Vec::new());
        for (ran, latecomers) in asked {
            runs.push(ran?);
            late.push(latecomers?);
        }
        Ok(Self {
            flows,
            share,
            nu,
            runs,
            late,
        })
    }

    pub(super) fn runs(&self, member: Member) -> &[RunResult] {
        &self.runs[member as usize]
    }

    pub(super) fn late(&self, member: Member) -> &[Latecomer] {
        &self.late[member as usize]
    }

    /// Its name in rules.
    pub(super) fn id(&self) -> String {
        format!("flows{}_nu{}", self.flows, self.nu)
    }

    /// Its name among runs.
    pub(super) fn name(&self) -> String {
        format!("{}, {} packets a flow", self.id(), self.share)
    }

    /// Whether the plot of runs shows it.
    pub(super) fn is_shown(&self) -> bool {
        shows(self.flows, self.share, self.nu)
    }

    /// Whether the plot of means shows it.
    pub(super) fn is_compared(&self) -> bool {
        self.share == SHARE && self.nu < SHORT
    }
}

fn shows(flows: u32, share: u32, nu: f64) -> bool {
    flows == 20 && share == SHARE && nu < SHORT
}

/// The paper's numbers of flows, with short and long fades, and few and many packets for each flow.
pub(super) fn groups(study: &mut Study<'_>) -> Result<Vec<Group>, Pending> {
    let mut asked = Vec::new();
    for share in [SHARE, 4 * SHARE] {
        for nu in [LONG, SHORT] {
            for flows in [5, 20, 100] {
                asked.push(Group::request(study, flows, share, nu));
            }
        }
    }
    asked.into_iter().collect()
}
