//! The bytes that concurrent downloads receive, and how they share them.

use crate::network::jain_index;

/// The shares of concurrent downloads, of which the last begins when the measurement of the others
/// ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownloadShares {
    /// The sum that all but the last received in the measurement, in the unit of the totals.
    pub received: f64,
    /// Jain's index of that; 0 if nothing was received.
    pub jain: f64,
    /// The amount that the last received after the measurement, over the mean of the others in the
    /// same time.
    pub late: f64,
}

impl DownloadShares {
    /// The shares from the total of each download at the start of the measurement, at its end, and
    /// at the end of the run.
    ///
    /// # Panics
    /// If there is no download, or a total is missing.
    #[must_use]
    pub fn of([start, end, last]: [&[f64]; 3]) -> Self {
        let (measured, after) = (since(start, end), since(end, last));
        let [shares @ .., _] = &measured[..] else {
            panic!("at least one download");
        };
        let others: f64 = after[..shares.len()].iter().sum();
        let mean = others / shares.len().max(1) as f64;
        Self {
            received: shares.iter().sum(),
            jain: jain_index(shares).unwrap_or(0.0),
            late: after[shares.len()] / mean.max(1.0),
        }
    }
}

fn since(before: &[f64], after: &[f64]) -> Vec<f64> {
    assert_eq!(before.len(), after.len(), "one total for each download");
    let both = before.iter().zip(after);
    both.map(|(before, after)| after - before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_download_counts_only_after_the_measurement() {
        let totals = [[10.0, 20.0, 0.0], [40.0, 50.0, 5.0], [50.0, 80.0, 15.0]];
        let shares = DownloadShares::of(totals.each_ref().map(|totals| &totals[..]));
        assert_eq!(
            shares,
            DownloadShares {
                received: 60.0,
                jain: 1.0,
                late: 0.5
            }
        );
    }
}
