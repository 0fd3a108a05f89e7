//! Packet pairs on a path under load, and equation 1.

use polypath_claims::{FigureTable, Findings, Measurement, Pending, Sample, Study};
use polypath_core::units::{Bytes, Rate};

use super::plan::{calibrate, seeds};
use crate::figures::estimates::mean;
use crate::jobs::ppd::delay_probe::{DATA, PROBE};
use crate::jobs::ppd::pairs::Pairs;
use crate::jobs::ppd::setting::Setting;

/// The number of links between the PPD nodes according to the text (eq. 1), and according to Fig. 2
/// as drawn.
pub(super) const HOPS: [u32; 2] = [6, 5];

/// The mean delta T of each run at a load in ms, and the number of its pairs, at least
/// one.
pub(super) fn measured(
    study: &mut Study<'_>,
    hops: u32,
    mbits: u64,
    load: f64,
) -> Result<Vec<(Sample, usize)>, Pending> {
    measured_in(study, &Setting::of_links(hops, mbits), mbits, load)
}

/// Like that, in a setting with links of this rate.
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
    // Pairs use at most 0.3 % of the links: 33 kbit/s of 10 Mbit/s, 3.3 kbit/s of 1 Mbit/s.
    let every = if mbits < 10 { 2500 } else { 250 };
    let seeds = seeds(&format!("pairs/{mbits}/{load}"), replicas);
    let jobs = seeds.iter().map(|&seed| Pairs {
        setting: setting.clone(),
        traffic,
        count,
        every,
        seed,
    });
    let spans = study.request_all(jobs)?;
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
            let samples = measured(study, hops, mbits, 0.0);
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
        tables: vec![FigureTable {
            id: "eq1".to_owned(),
            title: "Delta T on idle paths".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: lines,
        }],
        measurements,
        notes: vec![
            "Equation 1 counts six links between the PPD nodes, and Fig. 2 as drawn has five. A \
             pair arrives later than equation 1 by the transmission time of its probe on one link, \
             since its data packet waits for that."
                .to_owned(),
        ],
        ..Findings::default()
    })
}
