//! The settings in which signatures are evaluated.

use polypath_core::combine::signature::{MarkRule, SignatureConfig};
use polypath_sim::round_model::{RoundModelConfig, SignatureResponse};

use crate::jobs::diversity::setting::{LINKS, LONG, SHARE, SHORT, paper};

/// A setting.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Its name in rules.
    pub(super) id: String,
    /// Its description.
    pub(super) title: String,
    pub(super) config: RoundModelConfig,
    /// Whether the flows react to the signatures.
    pub(super) acts: bool,
    /// Whether all parameters are the paper's.
    pub(super) is_paper: bool,
    /// Whether the plot shows it.
    pub(super) is_shown: bool,
}

impl Setting {
    fn of_paper(flows: u32, nu: f64, acts: bool) -> Self {
        let (loop_, title) = if acts {
            ("closed", "act on it")
        } else {
            ("open", "ignore it")
        };
        Self {
            id: format!("flows{flows}_nu{nu}_{loop_}"),
            title: format!("{flows} flows, nu {nu}/s; they {title}"),
            config: paper(flows, LINKS, SHARE, nu),
            acts,
            is_paper: true,
            is_shown: acts && flows == 20 && nu < SHORT,
        }
    }

    /// The setting with separate links for each flow.
    fn mixed(title: &str, capacity: u32, sets: Vec<u8>, acts: bool) -> Self {
        let flows = u32::try_from(sets.len()).unwrap_or(u32::MAX);
        let title = if acts {
            title.to_owned()
        } else {
            format!("{title}; they go on")
        };
        Self {
            id: String::new(),
            title,
            config: RoundModelConfig {
                capacity,
                sets: Some(sets),
                ..paper(flows, LINKS, SHARE, LONG)
            },
            acts,
            is_paper: false,
            is_shown: false,
        }
    }

    /// The setting with this signature.
    pub(super) fn with(&self, signature: SignatureConfig) -> RoundModelConfig {
        let acts = self.acts;
        RoundModelConfig {
            detection: Some(SignatureResponse {
                signature,
                marks: MarkRule::default(),
                acts,
            }),
            ..self.config.clone()
        }
    }
}

pub(super) fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for acts in [true, false] {
        for nu in [LONG, SHORT] {
            let of = |flows| Setting::of_paper(flows, nu, acts);
            all.extend([5, 20, 100].map(of));
        }
    }
    for acts in [true, false] {
        all.extend(mixed(acts));
    }
    all
}

/// Twenty flows on four links, of which not all flows use all; a link carries 100 packets for each
/// flow that uses it.
fn mixed(acts: bool) -> [Setting; 4] {
    let ring: [u8; 4] = [0b0011, 0b0110, 0b1100, 0b1001];
    let overlap = ring.into_iter().cycle().take(20).collect();
    let with_alone = |copied: u32| {
        let set = move |flow: u32| {
            if flow < copied {
                0b1111
            } else {
                1 << (flow % 4)
            }
        };
        (0..20).map(set).collect::<Vec<u8>>()
    };
    // All flows with copies use every link, and a quarter of the others do.
    let capacity = |copied: u32| (copied + (20 - copied) / 4) * SHARE;
    let of = |title, copied| Setting::mixed(title, capacity(copied), with_alone(copied), acts);
    [
        Setting::mixed(
            "20 flows, each on two neighbours of four links",
            10 * SHARE,
            overlap,
            acts,
        ),
        of("16 flows on four links, 4 on one each", 16),
        of("12 flows on four links, 8 on one each", 12),
        of("4 flows on four links, 16 on one each", 4),
    ]
}
