//! Packet pairs on a path under load, and equation 1.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use serde::Serialize;

use super::plan::{calibrate, seeds};
use super::setting::{Setting, Traffic};
use super::sounding::{DATA, PROBE, Path};
use crate::estimates::mean;
use crate::{Findings, Job, JobError, Measurement, Pending, Sample, Sheet, Study};

/// The links between the PPD nodes by which the paper counts (eq. 1), and those of its Fig. 2 as it is drawn.
pub(super) const HOPS: [u32; 2] = [6, 5];

/// Packet pairs on the second path.
#[derive(Clone, Debug, Serialize)]
struct Pairs {
    setting: Setting,
    traffic: Traffic,
    count: u32,
    /// From one pair to the next, in ms.
    every: u32,
    seed: u64,
}

impl Job for Pairs {
    /// What each pair measured that came through, in ms.
    type Output = Vec<f64>;
    const KIND: &'static str = "ppd.pairs.2";

    fn cost(&self) -> f64 {
        (f64::from(self.count * self.every) / 1e3 + 100.0) / 400.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<f64>, JobError> {
        let mut path = Path::new(&self.setting, &self.traffic, self.seed)?;
        let every = Duration::from_millis(self.every.into());
        let mut spans = Vec::new();
        for _ in 0..self.count {
            spans.extend(path.next_pair(every));
            parts.fetch_add(PARTS / u64::from(self.count), Ordering::Relaxed);
        }
        Ok(spans.iter().map(|span| 1e3 * span.as_secs_f64()).collect())
    }
}

/// The mean delta T of each run at a load in ms, and the number of its pairs, of which there is one at least.
pub(super) fn measured(
    study: &mut Study<'_>,
    (hops, mbits): (u32, u64),
    load: f64,
) -> Result<Vec<(Sample, usize)>, Pending> {
    measured_in(study, &Setting::of_links(hops, mbits), mbits, load)
}

/// The same in a setting of links of this rate.
pub(super) fn measured_in(
    study: &mut Study<'_>,
    setting: &Setting,
    mbits: u64,
    load: f64,
) -> Result<Vec<(Sample, usize)>, Pending> {
    let (count, replicas) = study.pick((500, 4), (4000, 4));
    let (traffic, count, replicas) = if load > 0.0 {
        let found = calibrate(study, setting, &[load])?;
        (Some([found[0].idle; 2]), count, replicas)
    } else {
        (None, 10, 1)
    };
    // Pairs take 0.3 % of the slower links at the most: 33 kbit/s of 10 Mbit/s, 3.3 kbit/s of 1.
    let every = if mbits < 10 { 2500 } else { 250 };
    let seeds = seeds(&format!("pairs/{mbits}/{load}"), replicas);
    let jobs = seeds.iter().map(|&seed| Pairs {
        setting: setting.clone(),
        traffic,
        count,
        every,
        seed,
    });
    let spans = study.ask_all(jobs)?;
    let sample = |(seed, spans): (u64, Vec<f64>)| {
        let value = mean(&spans);
        (!spans.is_empty()).then_some((Sample { seed, value }, spans.len()))
    };
    let runs = seeds.iter().copied().zip(spans);
    Ok(runs.filter_map(sample).collect())
}

/// Equation 1 in ms.
fn equation_1(hops: u32, mbits: u64) -> f64 {
    let rate = Rate::from_mbits(mbits);
    let time = |size: u32| rate.transmission_time(Bytes(size.into())).as_secs_f64();
    1e3 * (time(DATA) - time(PROBE)) * f64::from(hops)
}

/// Equation 1, and pairs on idle paths.
pub(super) fn eq1(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let mut rows = Vec::new();
    let mut measurements = Vec::new();
    for mbits in [10, 1] {
        for hops in HOPS {
            let samples = measured(study, (hops, mbits), 0.0);
            rows.push((mbits, hops, samples));
        }
    }
    let mut lines = Vec::new();
    for (mbits, hops, samples) in rows {
        let (sample, _) = samples?[0];
        lines.push(vec![
            mbits.to_string(),
            hops.to_string(),
            format!("{:.3}", equation_1(hops, mbits)),
            format!("{:.3}", sample.value),
        ]);
        if hops == HOPS[0] {
            let quantity = format!("delta_t.{mbits}");
            let claim = "ppd.delta_t.analytic";
            measurements.push(Measurement::of(claim, &quantity, "ms", "idle", &[sample]));
        }
    }
    let columns = ["rate Mbit/s", "links", "equation 1 ms", "measured pair ms"];
    Ok(Findings {
        sheets: vec![Sheet {
            id: "eq1".to_owned(),
            title: "Delta T on idle paths".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: lines,
        }],
        measurements,
        notes: vec![
            "Equation 1 counts six links between the PPD nodes, and Fig. 2 as it is drawn has five. A pair arrives later than \
             equation 1 by the transmission of its probe on one link, since its data packet waits for that."
                .to_owned(),
        ],
        ..Findings::default()
    })
}
