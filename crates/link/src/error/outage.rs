//! Scheduled outages.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use polypath_core::time::{Duration, Time};

use super::ErrorModel;
use crate::config_error::ConfigError;

/// A scheduled outage: the link loses all packets from one point in time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct Outage {
    /// The begin, since the start of the run.
    pub from: Duration,
    /// The end, since the start of the run; by default it never ends.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub until: Option<Duration>,
}

impl Outage {
    fn overlaps(&self, other: &Self) -> bool {
        let begins_before_end = |a: &Self, b: &Self| b.until.is_none_or(|end| a.from < end);
        begins_before_end(self, other) && begins_before_end(other, self)
    }
}

/// The problems of the outages of a link.
#[must_use]
pub fn outage_problems(outages: &[Outage]) -> Vec<ConfigError> {
    let mut problems = Vec::new();
    for (index, outage) in outages.iter().enumerate() {
        if outage.until.is_some_and(|until| until <= outage.from) {
            let key = |field| format!("outage.{index}.{field}").into();
            problems.push(ConfigError::Inconsistent {
                keys: vec![key("until"), key("from")],
                message: "the outage ends before it begins".into(),
                remedy: "set `until` later than `from`",
            });
        }
        let mut earlier = outages[..index].iter();
        if let Some(other) = earlier.find(|other| outage.overlaps(other)) {
            problems.push(ConfigError::Inconsistent {
                keys: vec![format!("outage.{index}").into()],
                message: format!("this outage overlaps the one from {}", other.from),
                remedy: "merge the two",
            });
        }
    }
    problems
}

/// The scheduled outages of a link.
#[derive(Clone, Debug)]
pub(crate) struct Outages(Vec<Outage>);

impl Outages {
    pub(crate) fn new(outages: &[Outage]) -> Self {
        Self(outages.to_vec())
    }
}

impl ErrorModel for Outages {
    fn loses(&mut self, at: Time) -> bool {
        let at = at.since(Time::ZERO);
        self.0
            .iter()
            .any(|o| at >= o.from && o.until.is_none_or(|until| at < until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_packets_from_its_begin_to_its_end() {
        let mut outages = Outages::new(&[
            Outage {
                from: Duration(10),
                until: Some(Duration(20)),
            },
            Outage {
                from: Duration(30),
                until: None,
            },
        ]);
        let lost: Vec<u64> = (0..40).filter(|&t| outages.loses(Time(t))).collect();
        let expected: Vec<u64> = (10..20).chain(30..40).collect();
        assert_eq!(lost, expected);
    }
}
