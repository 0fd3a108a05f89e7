//! Scheduled outages.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use polypath_core::time::{Duration, Time};

use super::ErrorModel;
use crate::config_error::ConfigError;

/// A scheduled outage: the link loses all packets from one point in time to another, once or
/// periodically.
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
    /// The period with which it repeats, from begin to begin; by default it does not.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub every: Option<Duration>,
}

impl Outage {
    /// Whether two outages of which neither repeats overlap.
    fn overlaps(&self, other: &Self) -> bool {
        let begins_before_end = |a: &Self, b: &Self| b.until.is_none_or(|end| a.from < end);
        let is_single = self.every.is_none() && other.every.is_none();
        is_single && begins_before_end(self, other) && begins_before_end(other, self)
    }

    /// Whether the link is out at a time since the start of the run.
    fn includes(&self, at: Duration) -> bool {
        let period = self.every.map_or(u64::MAX, Duration::as_nanos).max(1);
        let since = Duration((at - self.from).as_nanos() % period);
        at >= self.from && self.until.is_none_or(|until| since < until - self.from)
    }

    /// The problem of a period that does not leave time between two outages.
    fn period_problem(&self, index: usize) -> Option<ConfigError> {
        let key = |field| format!("outage.{index}.{field}").into();
        let every = self.every?;
        let (message, remedy) = match self.until {
            None => ("an outage without an end does not repeat", "set `until`"),
            Some(until) if until - self.from >= every => (
                "the outage is as long as its period",
                "set `every` longer than from `from` to `until`",
            ),
            Some(_) => return None,
        };
        Some(ConfigError::Inconsistent {
            keys: vec![key("every"), key("until")],
            message: message.into(),
            remedy,
        })
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
        problems.extend(outage.period_problem(index));
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
        self.0.iter().any(|outage| outage.includes(at))
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
                every: None,
            },
            Outage {
                from: Duration(30),
                until: None,
                every: None,
            },
        ]);
        let lost: Vec<u64> = (0..40).filter(|&t| outages.loses(Time(t))).collect();
        let expected: Vec<u64> = (10..20).chain(30..40).collect();
        assert_eq!(lost, expected);
    }

    #[test]
    fn repeats_with_its_period() {
        let mut outages = Outages::new(&[Outage {
            from: Duration(2),
            until: Some(Duration(4)),
            every: Some(Duration(10)),
        }]);
        let lost: Vec<u64> = (0..30).filter(|&t| outages.loses(Time(t))).collect();
        assert_eq!(lost, [2, 3, 12, 13, 22, 23]);
    }

    #[test]
    fn a_period_is_longer_than_the_outage() {
        let problems = |until: Option<u64>, every: u64| {
            outage_problems(&[Outage {
                from: Duration(2),
                until: until.map(Duration),
                every: Some(Duration(every)),
            }])
            .len()
        };
        assert_eq!(problems(Some(4), 3), 0);
        assert_eq!(problems(Some(4), 2), 1);
        assert_eq!(problems(Some(4), 0), 1);
        assert_eq!(problems(None, 10), 1);
    }
}
