//! Scheduled silence.

use alloc::vec::Vec;

use polypath_core::time::Time;

use super::ErrorModel;
use crate::config::Outage;

#[derive(Clone, Debug)]
pub(crate) struct Outages(Vec<Outage>);

impl Outages {
    pub(crate) fn new(outages: &[Outage]) -> Self {
        Self(outages.to_vec())
    }
}

impl ErrorModel for Outages {
    fn loses(&mut self, at: Time) -> bool {
        self.0
            .iter()
            .any(|o| at >= o.from && o.until.is_none_or(|until| at < until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_and_ends_when_it_says() {
        let mut outages = Outages::new(&[
            Outage {
                from: Time(10),
                until: Some(Time(20)),
            },
            Outage {
                from: Time(30),
                until: None,
            },
        ]);
        let lost: Vec<u64> = (0..40).filter(|&t| outages.loses(Time(t))).collect();
        let expected: Vec<u64> = (10..20).chain(30..40).collect();
        assert_eq!(lost, expected);
    }
}
